"""`docflat import` and `docflat models`: from others' files to a translation, and what is refused."""

from __future__ import annotations

import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from docflat import Translator
from docflat.cli import main
from docflat.weights.marian import hub
from firefox_files import random_tensors, write_firefox, write_lex
from marian_files import ENGLISH, write_huggingface, write_native

Break = Callable[[Path], object]


@pytest.fixture
def marian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOCFLAT_MODELS", str(tmp_path / "models"))
    write_huggingface(tmp_path / "opus-mt-en-de")
    return tmp_path / "opus-mt-en-de"


def docflat(*arguments: object) -> int:
    """The exit status."""
    with pytest.raises(SystemExit) as exit_:
        main([str(argument) for argument in arguments])
    status: object = exit_.value.code
    assert isinstance(status, int)
    return status


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert docflat(*arguments) == 2
    return capsys.readouterr().err


def test_an_imported_model_is_there_by_its_name(marian: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert docflat("import", marian) == 0
    capsys.readouterr()
    assert docflat("models", "--json") == 0
    names = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert (names["opus-mt-en-de"]["from"], names["opus-mt-en-de"]["to"]) == ("English", "German")
    assert names["en-de"]["origin"] == "shipped"
    translator = Translator.load("opus-mt-en-de", device="cpu")
    assert (translator.languages, translator.precision) == (("en", "de"), "int8")
    assert len(translator.translate(ENGLISH[:4])) == 4
    card = (marian.parent / "models" / "opus-mt-en-de" / "README.md").read_text()
    assert "Licence: its folder does not say" in card


def test_int8_and_fp32_mostly_say_the_same(marian: Path, tmp_path: Path) -> None:
    """Logits are close: of greedy translations, scored by both, sums differ by little."""
    for precision in ("int8", "fp32"):
        assert docflat("import", marian, "-o", tmp_path / precision, "--precision", precision) == 0
    a, b = (Translator.load(tmp_path / name, device="cpu", precision=name) for name in ("int8", "fp32"))
    translations = b.translate(ENGLISH[:4], beam=1)
    for one, other in zip(a.score(ENGLISH[:4], translations), b.score(ENGLISH[:4], translations), strict=True):
        assert one == pytest.approx(other, rel=0.05)


def test_an_existing_folder_stays_without_force(marian: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert docflat("import", marian) == 0
    assert "--force" in refused(capsys, "import", marian)
    assert docflat("import", marian, "--force", "--languages", "eng", "fra") == 0
    assert Translator.load("opus-mt-en-de", device="cpu").languages == ("en", "fr")


class Harm:
    """Unpickled, it would write a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, ...]:
        return Path.write_text, (self.file, "harm")


def edit(name: str, **changes: object) -> Break:
    def change(folder: Path) -> None:
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**content, **changes}))

    return change


def shorten(name: str) -> Break:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-100])


def with_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Harm(folder / "harm")))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "neither config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "config.json: not JSON"),
        (lambda folder: (folder / "vocab.json").unlink(), "vocab.json: cannot be read"),
        (lambda folder: (folder / "source.spm").write_bytes(b"nothing"), "source.spm: not a SentencePiece model"),
        (lambda folder: (folder / "target.spm").unlink(), "target.spm: cannot be read"),
        (edit("config.json", d_model=32), "model.safetensors: "),
        (edit("config.json", encoder_layers=3), "the weights lack model.encoder.layers.2"),
        (edit("config.json", decoder_layers=1), "which this architecture does not"),
        (edit("config.json", activation_function="gelu"), "config.json: activation_function: 'gelu'"),
        (edit("config.json", normalize_before=True), "config.json: normalize_before"),
        (edit("config.json", d_model="x"), "config.json: d_model: expected a whole number"),
        (edit("vocab.json", extra=10_000), "vocab.json: it has"),
        (shorten("model.safetensors"), "model.safetensors: cannot read the weights"),
        (lambda folder: (folder / "model.safetensors").unlink(), "neither model.safetensors nor pytorch_model.bin"),
        (with_pickle, "pytorch_model.bin: not weights alone"),
    ],
)
def test_what_is_no_model_is_refused_and_nothing_is_written(
    marian: Path, capsys: pytest.CaptureFixture[str], spoil: Break, message: str
) -> None:
    spoil(marian)
    assert message in refused(capsys, "import", marian)
    assert not (marian / "harm").exists()
    assert not list((marian.parent / "models").glob("*")) if (marian.parent / "models").exists() else True


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"transformer-preprocess": "n"}, "transformer-preprocess: 'n'"),
        ({"transformer-decoder-autoreg": "average-attention"}, "transformer-decoder-autoreg"),
        ({"dim-emb": 0}, "dim-emb: expected"),
        ({}, "Wemb has the shape"),
        ({"type": "s2s"}, "type: 's2s'"),
    ],
)
def test_a_native_model_of_another_architecture_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, object], message: str
) -> None:
    model = write_huggingface(tmp_path / "model")
    write_native(tmp_path / "native", model, **settings)
    assert message in refused(capsys, "import", tmp_path / "native", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "source.spm", "model.safetensors"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_file_that_never_ends_is_refused(
    name: str, kind: str, marian: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (marian / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(marian / name)
    else:
        (marian / name).symlink_to("/dev/zero")
    assert "is no ordinary file" in refused(capsys, "import", marian, "-o", tmp_path / "out")


def test_a_npz_that_unpacks_to_much_more_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bomb").mkdir()
    np.savez_compressed(tmp_path / "bomb" / "model.npz", Wemb=np.zeros(1 << 20))
    (tmp_path / "bomb" / "vocab.spm").write_bytes(b"x")
    assert "zip bomb" in refused(capsys, "import", tmp_path / "bomb", "-o", tmp_path / "out")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(
    value: float, marian: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from safetensors.numpy import load_file, save_file

    file = next(marian.glob("*.safetensors"))
    tensors = load_file(file)
    name = next(name for name, array in tensors.items() if array.ndim == 2)
    tensors[name][0, 0] = value
    save_file(tensors, file)
    refused(capsys, "import", marian, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_truncated_npz_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_native(tmp_path / "native", write_huggingface(tmp_path / "model"))
    shorten("model.npz")(tmp_path / "native")
    assert "model.npz: cannot read the weights" in refused(capsys, "import", tmp_path / "native", "-o", tmp_path / "o")
    np.savez(tmp_path / "native" / "model.npz", a=np.array([{}], dtype=object))
    assert "model.npz: cannot read the weights" in refused(capsys, "import", tmp_path / "native", "-o", tmp_path / "o")


def test_a_name_on_the_hub_without_a_network_says_what_to_fetch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    error = refused(capsys, "import", "Helsinki-NLP/opus-mt-no-such", "-o", "nowhere")
    assert "cannot download Helsinki-NLP/opus-mt-no-such" in error
    assert "source" in error or "*.spm" in error


def test_hub_names_are_no_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert hub.is_hub_name("Helsinki-NLP/opus-mt-en-fr")
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert not hub.is_hub_name("a/b")
    assert not hub.is_hub_name("a/b/c")


def edit_binary(name: str, **changes: object) -> Break:
    """Write the file of a Firefox model again with another array, or without it (None)."""

    def apply(folder: Path) -> None:
        tensors = {**random_tensors(), **changes}
        shutil.rmtree(folder)
        write_firefox(folder, {key: array for key, array in tensors.items() if array is not None}, name == "int8")

    return apply


def patch(place: int, new: bytes) -> Break:
    def apply(folder: Path) -> None:
        file = next(folder.glob("model*.bin"))
        data = bytearray(file.read_bytes())
        data[place : place + len(new)] = new
        file.write_bytes(bytes(data))

    return apply


def packed(folder: Path) -> None:
    file = next(folder.glob("model*.bin"))
    file.rename(file.with_name(file.name + ".gz"))


def with_lex(lists: list[list[int]], first: int, keep: int | None = None) -> Break:
    def apply(folder: Path) -> None:
        write_lex(folder, lists, first)
        file = folder / "lex.50.50.ende.s2t.bin"
        file.write_bytes(file.read_bytes()[:keep])

    return apply


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (shorten("model.ende.intgemm.alphas.bin"), "model.ende.intgemm.alphas.bin: it ends before"),
        (patch(0, b"\x02"), "no binary file of Marian"),
        (patch(24, b"\x01\x61"), "is of the type 0x6101, packed for one kind of processor"),
        (patch(32, b"\xff" * 4), "dimensions"),
        (edit_binary("int8", decoder_l1_rnn_bf=None), "the weights lack decoder_l1_rnn_bf"),
        (
            edit_binary("int8", decoder_l1_rnn_W=np.ones((32, 31), np.float32)),
            "decoder_l1_rnn_W has the shape (32, 31)",
        ),
        (edit_binary("int8", more=np.ones((2, 2), np.float32)), "the weights have more"),
        (
            edit_binary("float", decoder_l2_rnn_Wf=np.full((32, 32), np.nan, np.float32)),
            "decoder_l2_rnn_Wf has a number",
        ),
        (packed, "unpack model.ende.intgemm.alphas.bin.gz first"),
        (lambda folder: (folder / "vocab.ende.spm").unlink(), "there is no *.spm"),
        (with_lex([[1]] * 3, 2), "this shortlist is of other vocabularies"),
        (with_lex([[1]] * 3, 2, keep=50), "it has 50 bytes"),
        (with_lex([[1]] * 3, 2, keep=5), "too short"),
    ],
)
def test_a_damaged_model_of_firefox_is_refused_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Break, message: str
) -> None:
    write_firefox(tmp_path / "theirs", random_tensors())
    spoil(tmp_path / "theirs")
    assert message in refused(capsys, "import", tmp_path / "theirs", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("settings", "message"), [({"dec-cell": "gru"}, "dec-cell: 'gru'"), ({"enc-depth": 3}, "lack")]
)
def test_a_model_of_firefox_with_another_decoder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, object], message: str
) -> None:
    write_firefox(tmp_path / "theirs", random_tensors(), **settings)
    assert message in refused(capsys, "import", tmp_path / "theirs", "-o", tmp_path / "out")
