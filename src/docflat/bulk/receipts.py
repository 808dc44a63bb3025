"""What a shard leaves when it is done: how much it was, how long it took, and what failed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from docflat.bulk.output import store
from docflat.bulk.plan import Plan
from docflat.bulk.readers.documents import Failure
from docflat.bulk.shards import check_types
from docflat.support.errors import InputError
from docflat.support.text_files import check_ordinary

_MOST_BYTES = 256 << 20  # of a receipt: a shard may have failed whole
FAILED, REPORT = "failed.jsonl", "report.json"


@dataclass(frozen=True)
class Receipt:
    shard: str
    documents: int
    work: int
    sentences: int = 0
    tokens: int = 0  # of the translations
    seconds: float = 0.0
    finished: float = 0.0  # seconds since 1970
    host: str = ""
    precision: str = ""
    failures: list[Failure] = field(default_factory=list)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Receipt:
        facts: dict[str, Any] = json.loads(text)
        check_types(facts, int, "documents", "work", "sentences", "tokens")
        check_types(facts, (int, float), "seconds", "finished")
        check_types(facts, str, "shard", "host", "precision")
        for failure in facts["failures"]:
            check_types(failure, str, "reason", "file")
        facts["failures"] = [Failure(**failure) for failure in facts["failures"]]
        return cls(**facts)


def read_receipt(path: Path) -> Receipt:
    check_ordinary(path, _MOST_BYTES)
    try:
        return Receipt.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path) from None
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"is no receipt of docflat bulk: {error}", path) from None


def names_done(plan: Plan) -> set[str]:
    """The shards that have a receipt, by one look at each folder."""
    root = plan.out / "done"
    return {
        os.path.relpath(os.path.join(folder, name), root)[: -len(".json")].replace(os.sep, "/")
        for folder, _, names in os.walk(root)
        for name in names
        if name.endswith(".json")
    }


def read_receipts(plan: Plan) -> Iterator[tuple[Receipt, str]]:
    """Of all shards that are done, in the order of the input, each with the name of its source."""
    done = names_done(plan)
    for shard in plan.read_shards():
        if shard.name in done:
            yield read_receipt(plan.receipt(shard.name)), plan.sources[shard.source].name


@dataclass
class Totals:
    shards: int = 0
    documents: int = 0
    work: int = 0
    sentences: int = 0
    tokens: int = 0
    seconds: float = 0.0  # of all workers
    failed: int = 0

    def add(self, receipt: Receipt) -> None:
        self.shards += 1
        self.documents += receipt.documents
        self.work += receipt.work
        self.sentences += receipt.sentences
        self.tokens += receipt.tokens
        self.seconds += receipt.seconds
        self.failed += len(receipt.failures)


def write_report(plan: Plan) -> Totals:
    """failed.jsonl and report.json, of all that is done by now."""
    totals = Totals()
    by_source = {source.name: Totals() for source in plan.sources}
    hosts: dict[str, int] = {}
    precisions: dict[str, int] = {}
    failures: list[str] = []
    for receipt, source in read_receipts(plan):
        totals.add(receipt)
        by_source[source].add(receipt)
        hosts[receipt.host] = hosts.get(receipt.host, 0) + 1
        precisions[receipt.precision] = precisions.get(receipt.precision, 0) + 1
        failures += _lines(receipt, source)
    report = {
        "planned": {"shards": plan.shards, "documents": plan.documents},
        "done": asdict(totals),
        "sources": {name: asdict(one) for name, one in by_source.items()},
        "shards_by_host": hosts,
        "shards_by_precision": precisions,
        "settings": plan.facts,
    }
    store(plan.out / FAILED, "".join(failures))
    store(plan.out / REPORT, json.dumps(report, indent=1) + "\n")
    return totals


def _lines(receipt: Receipt, source: str) -> Iterable[str]:
    for failure in receipt.failures:
        facts = {"source": source, "place": failure.place, "reason": failure.reason, "shard": receipt.shard}
        if failure.file:
            facts["file"] = failure.file
        yield json.dumps(facts, ensure_ascii=False) + "\n"
