"""What is killed: commands with their inputs, outputs, and what must hold of these whenever they are killed."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import sys
from pathlib import Path

from safetensors import safe_open

DOCFLAT = [sys.executable, "-m", "docflat"]
SENTENCES = (
    "The report is short.",
    "It was written in 2 days by Ann.",
    "She said that the cat is tired.",
    "The ship left the harbour at 3 p.m.",
    "Nobody saw it.",
)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digests(folder: Path, hidden: bool = False) -> dict[str, str]:
    """Of all files below, by their names; hidden ones are nobody's result."""
    return {
        str(path.relative_to(folder)): digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (hidden or not any(part.startswith(".") for part in path.relative_to(folder).parts))
    }


class Verb:
    """A command that writes `out` from `inputs`."""

    name = ""
    changing: tuple[str, ...] = ()  # files of the output that tell of a run: times, numbers of processes

    def __init__(self, folder: Path) -> None:
        self.folder, self.inputs, self.out = folder, folder / "in", folder / "out"
        self.inputs.mkdir()
        self.reference: dict[str, str] = {}

    def command(self) -> list[str]:
        raise NotImplementedError

    def prepare(self) -> None:
        """Write the inputs."""
        self.write()
        self.before = digests(self.inputs, hidden=True)

    def write(self) -> None:
        """The inputs of this verb."""

    def results(self) -> dict[str, str]:
        """What has its name, by the names."""
        if not self.out.exists():
            return {}
        return {name: value for name, value in digests(self.out).items() if not name.endswith(self.changing or ("\0",))}

    def keep_reference(self) -> None:
        self.reference = self.results()
        assert self.reference, "an undisturbed run wrote nothing"

    def reset(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)

    def has_some(self) -> bool:
        return bool(self.results())

    def check(self, ended: bool) -> None:
        assert digests(self.inputs, hidden=True) == self.before, "an input is another"
        results = self.results()
        wrong = [name for name, value in results.items() if self.reference.get(name) != value]
        assert not wrong, f"not as an undisturbed run writes it: {wrong[:5]}"
        if ended:
            missing = self.reference.keys() - results.keys()
            assert not missing, f"not there: {sorted(missing)[:5]}"
            half = [path.name for path in self.folder.rglob("*") if path.name.endswith((".partial", ".replaced"))]
            assert not half, f"left behind: {half[:5]}"


class Prepare(Verb):
    name = "prepare"

    def write(self) -> None:
        chance = random.Random(1)
        words = ["".join(chance.choice("abdegiklmnorst") for _ in range(chance.randint(2, 8))) for _ in range(2000)]
        for side in ("source", "target"):
            documents = (
                "\n".join(" ".join(chance.choices(words, k=8)) for _ in range(5)) for _ in range(2000)
            )  # the same lines on both sides are not needed
            (self.inputs / side).write_text("\n\n".join(documents) + "\n")

    def command(self) -> list[str]:
        sides = ["--source", str(self.inputs / "source"), "--target", str(self.inputs / "target")]
        return [*DOCFLAT, "prepare", *sides, "--out", str(self.out), "--vocabulary", "2000", "--force"]

    def check(self, ended: bool) -> None:
        """The folder is there as a whole or not at all."""
        super().check(ended)
        assert self.results().keys() in (set(), self.reference.keys()), "half a folder has its name"


class Train(Verb):
    name = "train"

    def write(self) -> None:
        sys.path.insert(0, str(Path(__file__).parents[1]))
        from integration.conftest import prepare_documents

        prepare_documents(self.inputs)
        stages = [
            {
                "system": system,
                "max_steps": 15,
                "validate_every": 5,
                "average": 3,
                "batch_tokens": 200,
                "dropout": 0.1,
                "rows": {"max_tokens": 64},
            }
            for system in ("sent2sent", "docflat-c")
        ]
        sizes = {"dim": 16, "heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1}
        recipe = {"data": str(self.inputs / "prepared"), "out": str(self.out), "model": sizes, "stages": stages}
        (self.inputs / "recipe.yaml").write_text(
            json.dumps({**recipe, "device": "cpu", "log_every": 2, "tensorboard": False})
        )

    def command(self) -> list[str]:
        return [*DOCFLAT, "train", str(self.inputs / "recipe.yaml")]

    def results(self) -> dict[str, str]:
        """Weights; logs tell of times."""
        return {name: value for name, value in super().results().items() if name.endswith(".safetensors")}

    def check(self, ended: bool) -> None:
        """Until it ends, weights change under their names: each must be whole, to its last byte."""
        if ended:
            super().check(ended)
            for log in self.out.rglob("log.jsonl"):
                for line in log.read_text().splitlines():
                    json.loads(line)
            return
        assert digests(self.inputs, hidden=True) == self.before, "an input is another"
        for file in self.out.rglob("*.safetensors"):
            if not any(part.startswith(".") for part in file.relative_to(self.out).parts):
                with safe_open(file, "numpy") as weights:  # checks the length against the header
                    assert list(weights.keys())

    def has_some(self) -> bool:
        return any(self.out.rglob("*.safetensors"))


class Translate(Verb):
    name = "translate"

    def write(self) -> None:
        chance = random.Random(2)
        for number in range(3):
            texts = [" ".join(chance.choices(SENTENCES, k=2)) for _ in range(4)]
            (self.inputs / f"{number}.txt").write_text("\n\n".join(texts) + "\n")
            (self.inputs / f"{number}.md").write_text(f"# {texts[0]}\n\n**{texts[1]}**\n")
            (self.inputs / f"{number}.json").write_text(json.dumps({"text": texts}))

    def command(self) -> list[str]:
        return [*DOCFLAT, "translate", str(self.inputs), "-o", str(self.out)]


class Bulk(Verb):
    name = "bulk"

    def write(self) -> None:
        chance = random.Random(3)
        lines = (
            json.dumps({"id": number, "text": chance.choices(SENTENCES, k=3)}) for number in range(16)
        )  # 12 shards or so
        (self.inputs / "documents.jsonl").write_text("\n".join(lines) + "\n")

    def command(self) -> list[str]:
        documents = str(self.inputs / "documents.jsonl")
        return [*DOCFLAT, "bulk", documents, "-o", str(self.out), "--shard-size", "200", "--workers", "2"]

    def results(self) -> dict[str, str]:
        """Receipts and the log tell of times."""
        return {name: value for name, value in super().results().items() if name.startswith("parts/")}


VERBS = {verb.name: verb for verb in (Prepare, Train, Translate, Bulk)}
