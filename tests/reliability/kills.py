"""kill -9 at random moments of prepare, train, translate, bulk and serve, and what is left afterwards.

    python tests/reliability/kills.py --log kills.log

After each kill: inputs are as they were, and what has its name is whole, to the byte what an undisturbed run writes.
Every third kill or so the command is run again to its end: then all of it is what an undisturbed run writes, and
nothing half-written is left. Every second kill is of the main process alone: its workers must end by themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from serving import attack_service
from verbs import VERBS, Verb

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


class Broken(Exception):
    """A kill lost or spoilt something."""


def processes_of(session: int) -> list[int]:
    """Those that a command started, and that still live."""
    alive = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] not in "ZX":
                alive.append(int(folder.name))
    return alive


def start(verb: Verb) -> subprocess.Popen[bytes]:
    with (verb.folder / "stderr").open("wb") as stderr:
        return subprocess.Popen(
            verb.command(), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=stderr, start_new_session=True
        )


def wait_until(holds: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def kill(process: subprocess.Popen[bytes], whole_group: bool) -> None:
    """Kill it, or it alone; then nobody of it may be left."""
    session = process.pid
    if whole_group:
        os.killpg(session, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    if not wait_until(lambda: not processes_of(session), 60):
        left = processes_of(session)
        for number in left:
            os.kill(number, signal.SIGKILL)
        raise Broken(f"{len(left)} processes outlived the one that was killed")


def run_to_its_end(verb: Verb) -> float:
    started = time.monotonic()
    process = start(verb)
    if process.wait(600):
        raise Broken(f"status {process.returncode}: {(verb.folder / 'stderr').read_text()[-2000:]}")
    return time.monotonic() - started


def attack(verb: Verb, kills: int, chance: random.Random, tell: Callable[[str], object]) -> Counter[str]:
    """So many kills of a command. The count of what happened."""
    verb.prepare()
    usual = run_to_its_end(verb)
    verb.keep_reference()
    verb.reset()
    count = Counter[str]()
    while count["kills"] < kills:
        process = start(verb)
        moment = chance.uniform(0, 1.1 * usual)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            whole_group = chance.random() < 0.5
            kill(process, whole_group)
            count["kills"] += 1
            count["kills of the main process alone"] += not whole_group
            verb.check(ended=False)
            count["kills with part of the output there"] += verb.has_some()
            tell(f"{verb.name}: kill {count['kills']} after {moment:.2f} of {usual:.2f} s")
            if chance.random() > 0.35:
                continue
            run_to_its_end(verb)
        if process.returncode not in (0, -signal.SIGKILL):
            raise Broken(f"status {process.returncode}: {(verb.folder / 'stderr').read_text()[-2000:]}")
        verb.check(ended=True)
        count["ends"] += 1
        verb.reset()
    run_to_its_end(verb)
    verb.check(ended=True)
    count["ends"] += 1
    return count


def attack_one(
    name: str, folder: Path, kills: int, chance: random.Random, tell: Callable[[str], object]
) -> Counter[str]:
    if name != "serve":
        return attack(VERBS[name](folder), kills, chance, tell)
    return attack_service(
        folder, kills, chance, tell, lambda session: wait_until(lambda: not processes_of(session), 60)
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = "serve=80,prepare=80,translate=60,bulk=50,train=30"
    parser.add_argument("--kills", default=usual, metavar="VERB=N,...", help="(default: %(default)s)")
    parser.add_argument("--seed", type=int, default=27)
    parser.add_argument("--log", type=Path, help="a line for every kill")
    arguments = parser.parse_args()
    results = {}
    for name, kills in (one.split("=") for one in arguments.kills.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            log = arguments.log

            def tell(line: str, log: Path | None = log) -> None:
                if log is not None:
                    with log.open("a") as file:
                        file.write(f"{time.strftime('%H:%M:%S')} {line}\n")

            started = time.monotonic()
            chance = random.Random(f"{arguments.seed} {name}")
            try:
                count = attack_one(name, Path(folder), int(kills), chance, tell)
            except (Broken, AssertionError) as error:
                tell(f"{name}: BROKEN: {error}")
                results[name] = {"broken": str(error)}
            else:
                results[name] = {**count, "seconds": round(time.monotonic() - started)}
            line = f"{name}: {json.dumps(results[name])}"
            tell(line)
            print(line, flush=True)
    return int(any("broken" in result for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
