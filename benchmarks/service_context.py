"""Is a list of texts in one request better than one request a text? Through DeepL's own client, on a running server.

    docflat serve --port 5001 &
    python benchmarks/service_context.py --url http://127.0.0.1:5001 --contrapro contrapro.jsonl.xz --examples 1000 \\
        --verdicts verdicts.jsonl
    python benchmarks/service_context.py --url http://127.0.0.1:5001 --source strings.en --reference strings.de

Related texts: of examples of ContraPro, drawn at random, the sentence and those before it are a list; the pronoun in
the translation of the sentence is right, wrong, or there is none to judge. Against it: the sentence by itself. With
--verdicts each is kept as it comes, and a run that is started again goes on where the last one stopped; --minutes ends
a run, and the table is of what there is so far.

Unrelated texts: lines of two files drawn at random, so that no two have to do with each other, in lists of 50, as a
program sends the strings of its interface. As one document; with `unrelated`; and one by one. chrF and BLEU against the
reference, and the paired test of each against one by one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import deepl
import deepl.http_client

from docflat.evaluation.contrastive.examples import ContrastiveExample, read_contrastive
from docflat.evaluation.contrastive.scoring import judge
from docflat.support.console import print_rows
from docflat.support.text_files import lines_of

Client = deepl.DeepLClient
LIST = 50  # texts of a request, the most that DeepL takes
CLIENTS = 8
SEED = 1
AS_LIST, ALONE = "as a list", "one by one"


def ask(client: Client, texts: Sequence[str], **options: object) -> list[str]:
    results = client.translate_text(list(texts), source_lang="EN", target_lang="DE", **options)  # type: ignore[arg-type]
    return [result.text for result in results] if isinstance(results, list) else [results.text]


def related(client: Client, examples: Sequence[ContrastiveExample], kept: Path | None, minutes: float) -> None:
    """Both ways of an example right after each other, so that a run that ends early has the same examples of both."""
    known = {}
    if kept is not None and kept.exists():
        known = {row["number"]: row for row in map(json.loads, kept.read_text("utf-8").splitlines())}
    end = time.monotonic() + 60 * minutes

    def judge_both(number: int) -> dict[str, object] | None:
        if time.monotonic() > end:
            return None
        example = examples[number]
        as_list = ask(client, [*example.source_context, example.source])[-1]
        alone = ask(client, [example.source])[0]
        return {"number": number, AS_LIST: judge(example, as_list), ALONE: judge(example, alone)}

    left = [number for number in range(len(examples)) if number not in known]
    with ThreadPoolExecutor(CLIENTS) as pool, open(kept or os.devnull, "a", encoding="utf-8") as out:
        for row in pool.map(judge_both, left):
            if row is not None:
                known[row["number"]] = row
                out.write(json.dumps(row) + "\n")
                out.flush()
    rows = []
    for name in (AS_LIST, ALONE):
        verdicts = Counter(row[name] for row in known.values())
        judged = verdicts["right"] + verdicts["wrong"]
        rows.append({"texts": name, "examples": len(known), **verdicts, "right of judged": verdicts["right"] / judged})
    better = sum(row[AS_LIST] == "right" != row[ALONE] for row in known.values())
    worse = sum(row[ALONE] == "right" != row[AS_LIST] for row in known.values())
    print_rows(rows, title=f"right only as a list: {better}; right only one by one: {worse}")


def unrelated(client: Client, lines: Sequence[str], references: Sequence[str]) -> None:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.significance import PairedTest

    def lists(**options: object) -> Callable[[], list[str]]:
        parts = [lines[start : start + LIST] for start in range(0, len(lines), LIST)]
        return lambda: [text for part in parts for text in ask(client, part, **options)]

    ways: dict[str, Callable[[], list[str]]] = {
        "one by one": lambda: [text for line in lines for text in ask(client, [line])],
        "as a list": lists(),
        "as a list, unrelated": lists(extra_body_parameters={"unrelated": True}),
    }
    systems: list[tuple[str, Sequence[str]]] = [(name, do()) for name, do in ways.items()]
    test = PairedTest(systems, {"BLEU": BLEU(), "chrF": CHRF()}, [list(references)], test_type="ar")
    _, scores = test()
    alone = systems[0][1]
    rows = []
    for place, (name, texts) in enumerate(systems):
        row: dict[str, object] = {"texts": name, "lines": len(lines)}
        row["as one by one"] = sum(a == b for a, b in zip(alone, texts, strict=True)) / len(lines)
        for metric in scores.keys() - {"System"}:
            result = scores[metric][place]
            assert not isinstance(result, str)
            row |= {metric: result.score, f"p of {metric}": result.p_value}
        rows.append(row)
    print_rows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:5000")
    parser.add_argument("--contrapro", type=Path)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--verdicts", type=Path, help="where those of ContraPro are kept")
    parser.add_argument("--minutes", type=float, default=1e6, help="after which no further example is begun")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--lines", type=int, default=500)
    arguments = parser.parse_args()
    deepl.http_client.min_connection_timeout = 600.0  # speed is not asked here, and the machine may be busy
    client = deepl.DeepLClient("none", server_url=arguments.url)
    draw = random.Random(SEED)
    if arguments.contrapro:
        examples = read_contrastive(arguments.contrapro)
        drawn_examples = draw.sample(examples, min(arguments.examples, len(examples)))
        related(client, drawn_examples, arguments.verdicts, arguments.minutes)
    if arguments.source:
        pairs = list(zip(*(lines_of(path, path) for path in (arguments.source, arguments.reference)), strict=True))
        pairs = [(line, reference) for line, reference in pairs if line.strip() and reference.strip()]
        drawn = draw.sample(pairs, min(arguments.lines, len(pairs)))
        unrelated(client, [line for line, _ in drawn], [reference for _, reference in drawn])


if __name__ == "__main__":
    main()
