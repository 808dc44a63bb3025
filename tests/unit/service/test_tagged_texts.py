"""Texts with XML tags: what ElementTree reads of them is the same afterwards, but for the words."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docflat.service.tagged_texts import TagRules, read_tagged
from docflat.support.errors import InputError

WORDS = st.text("ab <>&\"' \n.", max_size=8)
NAMES = st.sampled_from(["a", "b", "code", "ns.x", "p-q"])


def element(name: str, text: str, children: list[tuple[ElementTree.Element, str]]) -> ElementTree.Element:
    made = ElementTree.Element(name, {"id": "<1>"} if len(text) % 2 else {})
    made.text = text
    for child, tail in children:
        child.tail = tail
        made.append(child)
    return made


LEAVES = st.builds(element, NAMES, WORDS, st.just([]))
TREES = st.recursive(
    LEAVES, lambda inner: st.builds(element, NAMES, WORDS, st.lists(st.tuples(inner, WORDS), max_size=3)), max_leaves=8
)


def shape(text: str) -> list[tuple[str, dict[str, str], str, str]]:
    root = ElementTree.fromstring(f"<all>{text}</all>")
    return [(each.tag, each.attrib, each.text or "", each.tail or "") for each in root.iter()]


@settings(max_examples=200, deadline=None)
@given(TREES, st.booleans(), st.sets(NAMES), st.sets(NAMES))
def test_every_tag_comes_back_in_its_place(
    tree: ElementTree.Element, outline: bool, splitting: set[str], ignored: set[str]
) -> None:
    text = ElementTree.tostring(tree, encoding="unicode")
    parsed = read_tagged(text, TagRules(splitting, (), ignored, outline))
    assert shape(parsed.render(parsed.segments)) == shape(text)
    upper = [replace(segment, text=segment.text.upper()) for segment in parsed.segments]
    changed = shape(parsed.render(upper))
    assert [(tag, attributes) for tag, attributes, _, _ in changed] == [(a, b) for a, b, _, _ in shape(text)]
    assert [(text.lower(), tail.lower()) for _, _, text, tail in changed] == [(c, d) for _, _, c, d in shape(text)]


@pytest.mark.parametrize(
    ("text", "rules", "segments"),
    [
        ("One <b>two</b> three", {}, ["One two three"]),
        ("<t>One</t> <p>Two <i>x</i></p>", {}, ["One", "Two x"]),
        ("<t>One</t> <p>Two</p>", {"outline": False}, ["One Two"]),
        ("<t>One</t> <p>Two</p>", {"non_splitting": ["t", "p"]}, ["One Two"]),
        ("One<br/>two", {"splitting": ["br"]}, ["One", "two"]),
        ("<!-- no --><?pi no?>a &lt; <![CDATA[<b>]]>", {}, ["a < <b>"]),
        ("<x> </x>", {}, []),
    ],
)
def test_what_is_a_segment(text: str, rules: dict[str, object], segments: list[str]) -> None:
    parsed = read_tagged(text, TagRules(**rules))  # type: ignore[arg-type]
    assert [segment.text for segment in parsed.segments] == segments


def test_what_is_ignored_is_opaque() -> None:
    (segment,) = read_tagged("Press <code>the <b>key</b></code> now", TagRules(ignored=["code"])).segments
    opaque = [segment.text[span.start : span.end] for span in segment.spans if span.opaque]
    assert opaque == ["the key"]


@pytest.mark.parametrize(
    "text", ["<b>", "a & b", "</b>", "<a></b>", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "<a b=1/>"]
)
def test_what_is_not_well_formed_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not XML"):
        read_tagged(text, TagRules())
