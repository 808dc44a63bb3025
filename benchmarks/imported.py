"""Imported models: time and memory of an import, and their speed beside other engines that run the same files.

    python benchmarks/imported.py firefox                 # beside fxtranslate, Mozilla's engine
    python benchmarks/imported.py marian                  # beside CTranslate2, which converts the same folder
    python benchmarks/imported.py import                  # from the folder to a first translation, and most memory

Weights are random and </s> is never written, so every engine writes as many words as it may; what counts is words a
second, by each engine's own count, in turns, with one thread. The sizes are those of Firefox's larger models, or of
OPUS-MT with layers so few that the files have some 60 MiB. The text is made of the words that the subwords were learned
from.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sentencepiece

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import firefox_files as files  # type: ignore[import-not-found]
from docflat.support.console import print_table

Run = Callable[[list[str]], int]  # the words it wrote


def lexicon(count: int) -> list[str]:
    rng = random.Random(0)
    return ["".join(rng.choices("aeioubdfgklmnprstvz", k=rng.randint(2, 8))) for _ in range(count)]


def vocabulary(size: int) -> bytes:
    model = io.BytesIO()
    words = lexicon(size)
    lines = (" ".join(random.Random(number).choices(words, k=20)) for number in range(20_000))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines, model_writer=model, vocab_size=size, minloglevel=2, bos_id=-1, eos_id=0, unk_id=1,
        hard_vocab_limit=False,
    )  # fmt: skip
    return model.getvalue()


def sentences(count: int, words: int) -> list[str]:
    known = lexicon(4000)
    rng = random.Random(1)
    return [" ".join(rng.choices(known, k=rng.randint(words // 2, 3 * words // 2))) + "." for _ in range(count)]


def write_firefox(folder: Path, size: int) -> bytes:
    """A student of 6 + 2 layers, 512 wide; its vocabulary."""
    spm = vocabulary(size)
    rows = sentencepiece.SentencePieceProcessor(model_proto=spm).get_piece_size()
    files.DIM, files.INNER, files.LAYERS = 512, 2048, {"encoder": 6, "decoder": 2}
    files.vocabularies = lambda separate: [spm]
    tensors = files.random_tensors()
    assert len(tensors["Wemb"]) == rows
    tensors["decoder_ff_logit_out_b"][0, :2] = -1e6  # </s>, <unk>
    sizes = {"dim-emb": 512, "transformer-dim-ffn": 2048, "transformer-heads": 8, "enc-depth": 6, "dec-depth": 2}
    files.write_firefox(folder, tensors, **sizes)
    return spm


def write_marian(folder: Path, size: int, layers: int) -> None:
    import torch
    import transformers

    spm = vocabulary(size)
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
    names = ["</s>", "<unk>", *(processor.id_to_piece(n) for n in range(2, processor.get_piece_size())), "<pad>"]
    numbers = {name: number for number, name in enumerate(names)}
    config = transformers.MarianConfig(
        vocab_size=len(names), decoder_vocab_size=len(names), share_encoder_decoder_embeddings=True,
        decoder_start_token_id=numbers["<pad>"], pad_token_id=numbers["<pad>"], eos_token_id=0, forced_eos_token_id=0,
        d_model=512, encoder_layers=layers, decoder_layers=layers, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, scale_embedding=True,
        activation_function="swish",
    )  # fmt: skip
    model = transformers.MarianMTModel(config)
    with torch.no_grad():
        model.final_logits_bias[0, [0, 1]] = -1e6
    model.save_pretrained(folder)
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(spm)
    (folder / "vocab.json").write_text(json.dumps(numbers))
    about = {"source_lang": "en", "target_lang": "de", "separate_vocabs": False, "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))


def imported(folder: Path, out: Path) -> None:
    from docflat.weights.marian.importing import import_model

    import_model(folder, out)


def docflat(folder: Path, beam: int, batch: int) -> Run:
    from docflat import Translator

    translator = Translator.load(folder, engine="onnx", threads=1)
    subwords = translator.model.subwords

    def run(texts: list[str]) -> int:
        written = translator.translate(texts, beam=beam, batch_size=batch)
        return sum(len(subwords.encode(text, "target")) for text in written)

    return run


def fxtranslate(folder: Path, spm: bytes) -> Run:
    import fxtranslate as theirs

    translator = theirs.Translator(next(folder.glob("model*.bin")).read_bytes(), spm, spm)
    print("fxtranslate's products:", translator.backend())
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm)
    return lambda texts: sum(len(processor.encode(translator.translate(text))) for text in texts)


def ctranslate2(folder: Path, out: Path, beam: int, batch: int) -> Run:
    import ctranslate2 as theirs

    theirs.converters.TransformersConverter(str(folder)).convert(str(out), quantization="int8", force=True)
    translator = theirs.Translator(str(out), inter_threads=1, intra_threads=1, compute_type="int8")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))

    def run(texts: list[str]) -> int:
        pieces = [[*processor.encode(text, out_type=str), "</s>"] for text in texts]
        longest = max(map(len, pieces))
        made = translator.translate_batch(
            pieces, beam_size=beam, max_batch_size=batch, max_decoding_length=2 * longest + 19
        )
        return sum(len(one.hypotheses[0]) for one in made)

    return run


def in_turns(runs: dict[str, Run], texts: list[str], rounds: int) -> None:
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run(texts[:2])
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            words = run(texts)
            speeds[name].append(words / (time.perf_counter() - start))
    first, *others = runs
    rows: list[list[Any]] = [[name, statistics.median(speeds[name])] for name in runs]
    print_table(["engine", "words a second"], rows)
    for other in others:
        ratios = sorted(a / b for a, b in zip(speeds[first], speeds[other], strict=True))
        print(f"{first} / {other}: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")


MEASURED = """
import sys
from docflat.cli import main
try:
    main(sys.argv[1:])
finally:  # of this program alone: what getrusage says counts what it was started from
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1], file=sys.stderr)
"""


def measure_import(folder: Path, out: Path) -> None:
    """Both commands as a user gives them; memory is the most of each process."""
    size = sum(file.stat().st_size for file in folder.iterdir())
    source, total, most = out.parent / "a.txt", 0.0, 0
    source.write_text("badu gika.\n")
    for command in (
        ["import", str(folder), "-o", str(out)],
        ["translate", str(source), "--model", str(out), "-o", str(source.with_name("b.txt"))],
    ):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", MEASURED, *command, "-q"], stderr=subprocess.PIPE, text=True)
        seconds, memory = time.perf_counter() - start, int(done.stderr.split()[-1]) * 1024
        assert done.returncode == 0, done.stderr
        total, most = total + seconds, max(most, memory)
        print(f"{command[0]}: {seconds:.2f} s, {memory / 2**20:.0f} MiB")
    print(f"folder {size / 2**20:.0f} MiB: {total:.2f} s, memory {most / size:.2f} x the folder")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("firefox", "marian", "import"))
    parser.add_argument("--vocabulary", type=int, default=32_000)
    parser.add_argument("--layers", type=int, default=0, help="of a Marian model (default: 6; import: as 60 MiB hold)")
    parser.add_argument("--sentences", type=int, default=32)
    parser.add_argument("--words", type=int, default=12, help="of a sentence, about")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--beam", type=int, default=1, help="of Marian models")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    texts = sentences(options.sentences, options.words)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.what == "firefox":
            spm = write_firefox(folder / "theirs", options.vocabulary)
            imported(folder / "theirs", folder / "ours")
            runs = {
                "docflat": docflat(folder / "ours", 1, options.batch),
                "fxtranslate": fxtranslate(folder / "theirs", spm),
            }
            in_turns(runs, texts, options.rounds)
        elif options.what == "marian":
            write_marian(folder / "theirs", options.vocabulary, options.layers or 6)
            imported(folder / "theirs", folder / "ours")
            theirs = ctranslate2(folder / "theirs", folder / "ct2", options.beam, options.batch)
            in_turns(
                {"docflat": docflat(folder / "ours", options.beam, options.batch), "ctranslate2": theirs},
                texts,
                options.rounds,
            )
        else:
            write_marian(
                folder / "theirs", 8000 if options.vocabulary == 32_000 else options.vocabulary, options.layers or 2
            )
            measure_import(folder / "theirs", folder / "ours")


if __name__ == "__main__":
    main()
