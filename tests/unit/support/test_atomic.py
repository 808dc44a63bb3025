"""Files and folders that are whole or not there: what a name leads to, what is left, whose mode they have."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from docflat.support import atomic
from docflat.support.atomic import whole_file, whole_folder, write_whole
from docflat.support.errors import InputError


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_cleaned", set())


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def left_by_a_kill(code: str, folder: Path) -> list[str]:
    """The names in a folder after a process that was killed while it wrote there."""
    code = f"import os, signal\nfrom pathlib import Path\nfrom docflat.support.atomic import *\n{code}\n"
    kill = "    os.kill(os.getpid(), signal.SIGKILL)"
    ended = subprocess.run([sys.executable, "-c", code + kill], cwd=folder, check=False)
    assert ended.returncode == -signal.SIGKILL
    return sorted(os.listdir(folder))


def test_a_file_has_its_name_when_it_is_whole(tmp_path: Path):
    out = tmp_path / "out"
    out.write_text("before")
    with whole_file(out) as stream:
        stream.write(b"after")
        stream.flush()
        assert out.read_text() == "before"
    assert out.read_text() == "after"
    assert os.listdir(tmp_path) == ["out"]


def test_after_an_error_all_is_as_it_was(tmp_path: Path):
    out = tmp_path / "out"
    out.write_text("before")
    with pytest.raises(TypeError), whole_file(out) as stream:
        stream.write("no bytes")  # type: ignore[arg-type]
    assert out.read_text() == "before"
    assert os.listdir(tmp_path) == ["out"]


def test_links_are_followed_and_stay(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "target"
    (tmp_path / "link").symlink_to("folder/target")
    (tmp_path / "second").symlink_to(tmp_path / "link")
    for text in ("new", "newer"):  # a link may lead to a file that is not there yet
        write_whole(tmp_path / "second", text)
        assert target.read_text() == text
        assert not target.is_symlink()
        assert (tmp_path / "second").readlink() == tmp_path / "link"
    assert os.listdir(tmp_path / "folder") == ["target"]
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(InputError, match="too many symbolic links"):
        write_whole(tmp_path / "round", "x")


def test_a_pipe_is_written_through(tmp_path: Path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(pipe, "through")
    reader.join(10)
    assert read == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices_are_written_through(tmp_path: Path):
    (tmp_path / "null").symlink_to(os.devnull)
    write_whole(tmp_path / "null", "gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(InputError, match=r"^/dev/full: cannot be written: No space left on device$"):
        write_whole(Path("/dev/full"), "x")
    assert os.listdir(tmp_path) == ["null"]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_descriptor_is_written_to_where_it_stands(tmp_path: Path, name: str):
    """Not replaced: what came before in the same file stays, and what comes after goes into it."""
    code = f"from docflat.support.atomic import *; write_whole(__import__('pathlib').Path({name!r}), 'b\\n')"
    with open(tmp_path / "out", "w") as out:
        for text in ("a", "c"):
            print(text, file=out, flush=True)
            if text == "a":
                subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "a\nb\nc\n"
    assert os.listdir(tmp_path) == ["out"]


def test_what_lies_beside_is_not_touched(tmp_path: Path):
    """Names that an attacker or a user may have chosen; an earlier version wrote to the first two."""
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "out.partial").symlink_to(precious)
    (tmp_path / "folder.partial").mkdir()
    (tmp_path / "folder.replaced").mkdir()
    (tmp_path / ".out.0123456789abcdef.partial").write_text("like ours")
    before = sorted(os.listdir(tmp_path))
    write_whole(tmp_path / "out", "text")
    for _ in range(2):
        with whole_folder(tmp_path / "folder", force=True) as folder:
            (folder / "a").write_text("text")
    assert precious.read_text() == "precious"
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "out", "folder"])


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path):
    assert len(left_by_a_kill("with whole_file(Path('out')) as stream:\n    stream.write(b'x')", tmp_path)) == 1
    write_whole(tmp_path / "other", "text")
    assert os.listdir(tmp_path) == ["other"]
    (tmp_path / "other").unlink()
    assert len(left_by_a_kill("with whole_folder(Path('out')) as folder:", tmp_path)) == 1
    with whole_folder(tmp_path / "out"):
        pass
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_comes_back_that_was_to_be_replaced(tmp_path: Path):
    """Killed between the two renames."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("old")
    code = "Path.rename = lambda a, b: (os.rename(a, b), os.kill(os.getpid(), 9))\n"
    assert len(left_by_a_kill(code + "with whole_folder(Path('out'), force=True):\n    pass\nif True:", tmp_path)) == 2
    with pytest.raises(InputError, match="exists already"), whole_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out" / "old").read_text() == "old"


def test_a_file_that_is_being_written_is_not_taken_for_a_leftover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with whole_file(tmp_path / "a") as stream:
        monkeypatch.setattr(atomic, "_cleaned", set())
        write_whole(tmp_path / "b", "b")
        stream.write(b"a")
    assert (tmp_path / "a").read_text() == "a"


def test_two_runs_into_one_folder(tmp_path: Path):
    with whole_folder(tmp_path / "out"):
        for force in (False, True):
            with pytest.raises(InputError, match="out: another run is writing"), whole_folder(tmp_path / "out", force):
                pass
        with whole_folder(tmp_path / "out.2"):
            pass
    assert sorted(os.listdir(tmp_path)) == ["out", "out.2"]


def test_modes_are_those_of_umask_or_of_what_is_replaced(tmp_path: Path):
    for mask, expected in ((0o022, 0o644), (0o007, 0o660), (0o077, 0o600)):
        with umask(mask):
            write_whole(tmp_path / f"file {mask}", "x")
            with whole_folder(tmp_path / f"folder {mask}") as folder:
                (folder / "weights").touch(mode=0o600)  # as safetensors does
                (folder / "inner").mkdir()
        assert mode(tmp_path / f"file {mask}") == expected
        assert mode(tmp_path / f"folder {mask}" / "weights") == expected
        assert mode(tmp_path / f"folder {mask}" / "inner") == mode(tmp_path / f"folder {mask}") == 0o777 & ~mask
    file, folder = tmp_path / "file 18", tmp_path / "folder 18"
    for path, kept in ((file, 0o604), (folder, 0o705), (folder / "weights", 0o640)):
        path.chmod(kept)
    write_whole(file, "y")
    with whole_folder(folder, force=True) as partial:
        (partial / "weights").touch()
    assert (mode(file), mode(folder), mode(folder / "weights")) == (0o604, 0o705, 0o640)


def test_a_full_disk(tmp_path: Path):
    """A limit of the size of files stands for it."""
    out = tmp_path / "out"
    out.write_text("before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(InputError, match="out: cannot be written: File too large"):
            write_whole(out, "x" * 200_000)
        refused = pytest.raises(InputError, match="folder: cannot be written: File too large")
        with refused, whole_folder(tmp_path / "folder") as folder:
            (folder / "a").write_text("x" * 200_000)
        refused = pytest.raises(InputError, match="weights: cannot be written: File too large")
        with refused, whole_folder(tmp_path / "weights") as folder:
            save_file({"a": np.zeros(100_000)}, folder / "a.safetensors")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert out.read_text() == "before"
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_that_is_something_else_is_not_replaced(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.docx").write_text("precious")
    refused = pytest.raises(InputError, match=r"is not replaced: it holds 'thesis\.docx'")
    with refused, whole_folder(tmp_path / "out", force=True, writes=("*.json",)):
        pass
    assert os.listdir(tmp_path) == ["out"]


def test_names_as_long_as_they_can_be(tmp_path: Path):
    name = "ü" * 127
    write_whole(tmp_path / name, "x")
    with whole_folder(tmp_path / ("d" * 255)):
        pass
    assert sorted(os.listdir(tmp_path)) == ["d" * 255, name]


def test_a_file_that_another_process_finishes_under_the_look_for_leftovers_is_no_fault(tmp_path: Path) -> None:
    partial = atomic.partial_name(tmp_path / "file")
    partial.touch()
    with os.scandir(tmp_path) as entries:
        (entry,) = entries
        assert atomic._is_ours(entry)
    with os.scandir(tmp_path) as entries:
        (entry,) = entries
        partial.rename(tmp_path / "file")
        assert not atomic._is_ours(entry)
