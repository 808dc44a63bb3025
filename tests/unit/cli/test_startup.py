"""A process that is one command: it ends at once, and still says and leaves behind all that it should."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docflat.cli import startup

MODEL = Path(__file__).parents[2] / "data" / "model-format-1"
SENTENCES = "The ship left.\nIt was old.\n"
EXPECTED = SENTENCES.splitlines()  # the model writes half characters: in their place the sentences stay
COMMAND = [sys.executable, "-m", "docflat", "translate", "--model", str(MODEL), "--device", "cpu", "--threads", "1"]
COMMAND += ["--mode", "sequential", "--beam", "2", "--precision", "fp32"]
# Unbuffered, nothing would be left to write at the end.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def test_all_is_written_before_the_end(tmp_path: Path) -> None:
    with (tmp_path / "stdout").open("w") as stdout:
        done = subprocess.run(COMMAND, input=SENTENCES, stdout=stdout, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0
    assert (tmp_path / "stdout").read_text(encoding="utf-8").splitlines() == EXPECTED
    (tmp_path / "in").write_text(SENTENCES)
    files = [str(tmp_path / "in"), "-o", str(tmp_path / "out.gz")]
    done = subprocess.run([*COMMAND, *files], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    unpacked = subprocess.run(["gzip", "-dc", str(tmp_path / "out.gz")], capture_output=True, check=True).stdout
    assert unpacked.decode().splitlines() == EXPECTED


def test_an_error_has_its_line_and_its_status(tmp_path: Path) -> None:
    command = [*COMMAND, str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("docflat: error: ")
    assert done.stderr.count("\n") == 1


def test_a_reader_who_has_gone_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        COMMAND, input=SENTENCES, stdout=write, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.fixture
def collector() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.usefixtures("collector")
def test_garbage_is_collected_from_the_loading_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    startup.loaded()  # in a program that has not begun like this, its collector is left alone
    assert gc.get_freeze_count() == 0
    startup.begin()
    assert not gc.isenabled()
    startup.loaded()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 10_000


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("name", ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY", None])
def test_how_threads_wait_is_left_to_who_has_said_it(name: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(variable, "")  # so that it is put back
        monkeypatch.delenv(variable)
    if name is not None:
        monkeypatch.setenv(name, "active")
    startup.begin()
    expected = {"GOMP_SPINCOUNT": "active", None: str(startup.SPINS)}.get(name)
    assert os.environ.get("GOMP_SPINCOUNT") == expected


def run_python(code: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


BEGIN = "from docflat.cli import startup; startup.begin(); import torch, sys; module = sys.modules[startup.DEFERRED]\n"


def test_what_is_deferred_runs_when_asked() -> None:
    """Plain torch says what there is: a shape that its C++ does not know, and a function."""
    shape = "print(*torch._weight_int8pack_mm(*(torch.empty(*s, device='meta', dtype=t) for s, t in "
    shape += "[((3, 4), torch.bfloat16), ((5, 4), torch.int8), ((5,), torch.bfloat16)])).shape)\n"
    plain = run_python(f"import torch\n{shape}")
    assert plain == ["3", "5"]
    asleep = f"{BEGIN}print(hasattr(module, '__all__'), len(vars(module)) < 20)\n"
    assert run_python(asleep) == ["False", "True"]
    assert run_python(f"{BEGIN}module.pooling_output_shape\n{shape}") == plain
    assert run_python(f"{BEGIN}import torch._decomp\n{shape}") == plain
    assert run_python(f"{BEGIN}import torch._dynamo\n{shape}") == plain


@pytest.mark.parametrize("name", ["torch._decomp", "torch._refs", "torch.utils._content_store", "torch.export"])
def test_what_asks_finds_the_tables_of_plain_torch(name: str) -> None:
    """Modules that import each other in a circle, each of them imported first; none is loaded twice."""
    tables = f"import {name}, torch._decomp; print(*map(len, torch._decomp.global_decomposition_table.values()))"
    assert run_python(BEGIN + tables) == run_python(f"import torch; {tables}")


EVERY_SYSTEM = """
import sys, zlib
from pathlib import Path
import torch
from docflat.cli import startup
from docflat.weights.config import ModelConfig
from docflat.weights.folders import save_model
from docflat.data.row_settings import RowSettings
from docflat.model.sizes import ModelSizes
from docflat.data.subwords import Subwords
from docflat.systems import SYSTEMS
from docflat.translation.translator import Translator
text = ["the ship left", "it was old"]
subwords = Subwords.learn(text * 3, vocabulary=300)
sizes = ModelSizes(dim=32, heads=2, feed_forward=64, encoder_layers=2, decoder_layers=2)
for name, system in SYSTEMS.items():
    torch.manual_seed(1)
    config = ModelConfig(name, sizes, {}, system.rows_of(RowSettings()))
    save_model(FOLDER / name, config, config.build(subwords).state_dict(), subwords, "")
    for precision in ("fp32", "int8"):
        found = Translator.load(FOLDER / name, device="cpu", precision=precision).translate(text)
        print(name, precision, zlib.crc32("\\n".join(found).encode()), sep="-")
print(len(vars(sys.modules[startup.DEFERRED])) < 20)
"""


def test_no_system_asks_for_what_is_deferred(tmp_path: Path) -> None:
    """All are loaded and translate, in fp32 and int8, as in a process that defers nothing."""
    script = EVERY_SYSTEM.replace("FOLDER", f"Path({str(tmp_path)!r})")
    deferred, plain = run_python(BEGIN + script), run_python(script)
    assert (deferred.pop(), plain.pop()) == ("True", "False")
    assert deferred == plain
    assert len(set(plain)) == 26
