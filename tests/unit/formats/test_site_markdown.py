"""Markdown of site generators: what they add to it is not read as text, and its titles are."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
import yaml
from test_plain_text import read, shouted, texts

from docflat.formats.segments import Segment
from docflat.translation.files import translate_segments
from stubs import Stub


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("import Tabs from '@theme/Tabs';\nimport {\n  A,\n\n  B,\n} from './x';\n\nText.", ["Text."]),
        ("export const meta = {\n  title: 'A'\n}\n\nText.", ["Text."]),
        ("import data from the menu, then\nexport default.", ["import data from the menu, then\nexport default."]),
        ('Text.\n{{< figure src="a.png" title="A \'big\' cat" >}}\nMore.', ["Text.", "A 'big' cat", "More."]),
        ("{{% notice note %}}\nInside.\n{{% /notice %}}", ["Inside."]),
        ("{{< highlight go >}}\nfunc main() {}\n{{< /highlight >}}\n\nText.", ["Text."]),
        ('{{<\n  video id="x"\n  title="A film"\n>}}\n\nText.', ["A film", "Text."]),
        ("{% include a.html %}\n{% raw %}\nText.\n{% endraw %}", ["Text."]),
        ("{% highlight ruby %}\nputs 1\n{% endhighlight %}\nText.", ["Text."]),
        ("See {{< ref a >}} now.", ["See {{< ref a >}} now."]),
        ("```mermaid\ngraph TD; A[Start]-->B\n```\n\n::: mermaid\ngraph\n:::\n", []),
        ('<div class="mermaid">\ngraph TD\n</div>\n', []),
        ('!!! note "A `fine` title"\n    Inside.', ["A fine title", "Inside."]),
        ('!!! note ""\n    Inside.', ["Inside."]),
        ('=== "Tab *one*"\n\n    Inside.', ["Tab one", "Inside."]),
        ("```{note}\nInside *a* note.\n```", ["Inside a note."]),
        ("````{tab-set}\n```{tab-item} My tab\n:sync: a\n\nInside.\n```\n````", ["My tab", "Inside."]),
        ("```{figure} a.png\n---\nname: x\n---\nA caption.\n```", ["A caption."]),
        ("```{python} x\nprint()\n```", []),
        (":::{admonition} My title\n:class: tip\nInside.\n:::", ["My title", "Inside."]),
        (":::tip[My title]\nInside.\n:::", ["My title", "Inside."]),
        ("::: details My title\nInside.\n:::", ["My title", "Inside."]),
        ('::: {.callout-note title="My title"}\nInside.\n:::', ["My title", "Inside."]),
        ("/// note | My title\n    type: x\n\nInside.\n///", ["My title", "Inside."]),
        ("Use CSS.\n\n*[CSS]: Style Sheets\n*[W3C]: World Wide Web", ["Use CSS.", "Style Sheets", "World Wide Web"]),
        ("Text.\n{: .lead}\n\n[TOC]\n\n(label)=\n## Head", ["Text.", "Head"]),
        ('<Tabs>\n<TabItem value="a" label="My tab">\nInside *it*.\n</TabItem>\n</Tabs>', ["My tab", "Inside it."]),
        ("<Card\n  title=\"A card\"\n  go={() => ({a: 1})}\n>\n\nInside.\n</Card>", ["A card", "Inside."]),
        ("Text {/* a comment */} here.", ["Text here."]),
        ("Text [^1].\n\n  [^1]:\n    A note.\n\n    More.\n", ["Text .", "A note.", "More."]),
        ("Press ++ctrl+c++ now.", ["Press ++ctrl+c++ now."]),
    ],
)  # fmt: skip
def test_texts_of_pages(page: str, expected: list[str]):
    assert texts("x.mdx", page) == expected


ALL = """import A from './a';

{{< figure src="a.png" caption="A cat" >}}

## Some heading {#head .x}

Words [of a link](x){: target="_blank" rel=nofollow} and ![a cat](u){ width=300 } and `code`{.py} here.

A <b style={{color: 'red'}}>red</b> word.

!!! tip "A title"
    Inside.

:::note[Some title]
Inside.
:::

<Card title="A card" go={() => 1}>
Inside.
</Card>

*[HTML]: Some words
"""


@pytest.mark.parametrize("change", [str.upper, lambda sentence: " ".join(sentence.split()[::-1]), lambda sentence: "X"])
def test_what_is_no_text_is_there_after_any_translation(change):
    parsed = read("x.mdx", ALL)
    assert parsed.render(parsed.segments) == ALL.encode()
    page = parsed.render(translate_segments(parsed.segments, Stub(change))[0]).decode()
    lines = page.splitlines()
    for number, line in enumerate(ALL.splitlines()):
        if line.startswith(("import", "{{", "<", ":::", "!!!", "*[")):
            assert lines[number].partition('"')[0].partition("[")[0] == line.partition('"')[0].partition("[")[0]
    assert next(line for line in lines if line.startswith("##")).endswith("{#head .x}")
    for part in (
        '](x){: target="_blank" rel=nofollow}', "](u){ width=300 }", "`code`{.py}", "<b style={{color: 'red'}}>",
        "</b>", 'src="a.png" caption="', "go={() => 1}>",
    ):  # fmt: skip
        assert part in page


def test_quotes_in_titles_are_written_as_each_of_them_reads_them():
    page = '{{< figure title="One" >}}\n\n<Card title="Two" />\n\n!!! note "Three"\n    x\n'
    parsed = read("x.md", page)
    new = 'He said "so" & <more>'
    written = parsed.render([Segment(new) for _ in parsed.segments[:3]] + list(parsed.segments[3:])).decode()
    hugo, _, card, _, admonition, *_ = written.splitlines()
    assert json.loads(hugo[hugo.index('"') : hugo.rindex('"') + 1]) == new  # strings of Go, as of JSON
    seen: list[str | None] = []
    parser = HTMLParser()
    parser.handle_startendtag = lambda tag, attributes: seen.append(dict(attributes)["title"])  # type: ignore[method-assign]
    parser.feed(card)
    assert seen == [new]
    assert texts("x.md", admonition) == [new]


def test_code_in_titles_of_the_front_matter_stays():
    page = '---\ntitle: "Use `make` now"\ndescription: What `make` does\n---\n\nText.\n'
    found = shouted("x.md", page)
    front = yaml.safe_load(found.split("---")[1])
    assert front == {"title": "USE `make` NOW", "description": "WHAT `make` DOES"}
