"""What context changed, as lines."""

from __future__ import annotations

from docflat.translation.side_by_side import ShownDocument, ShownSentence, change_lines, side_by_side


def shown(*rows: ShownSentence, name: str = "a.txt") -> ShownDocument:
    return ShownDocument(name, rows)


def test_changes_are_in_brackets() -> None:
    rows = (
        ShownSentence("It fits.", "Er passt.", "Es passt."),
        ShownSentence("Yes.", "Ja.", "Ja."),
        ShownSentence("x", "x", None),
    )
    assert list(change_lines([shown(*rows)])) == [
        "context changed 1 of 2 sentences:",
        "",
        "a.txt, sentence 1: It fits.",
        "  without context: [Es] passt.",
        "  with context:    [Er] passt.",
    ]


def test_words_that_context_takes_away_are_a_change() -> None:
    document = shown(ShownSentence("It is good.", "Es ist gut.", "Es ist wirklich gut."))
    assert list(change_lines([document]))[3:] == [
        "  without context: Es ist [wirklich] gut.",
        "  with context:    Es ist gut.",
    ]
    assert "In 1 of them context changed" in side_by_side([document])


def test_documents_of_one_file_are_told_apart() -> None:
    row = ShownSentence("It.", "Er.", "Es.")
    lines = list(change_lines([shown(row), shown(row), shown(row, name="b.txt")]))
    assert [line.strip() for line in lines if "sentence 1" in line] == [
        "a.txt, document 1, sentence 1: It.",
        "a.txt, document 2, sentence 1: It.",
        "b.txt, sentence 1: It.",
    ]


def test_the_page_has_a_title_and_its_details_stand_in_its_text() -> None:
    """Hints that only pointing shows are not there for keyboards, fingers and paper."""
    page = side_by_side([shown(ShownSentence("It.", "Er.", "Es."), name="a<b.txt")])
    assert "<h1>a&lt;b.txt</h1>" in page
    assert '<mark tabindex="0">Er<small> [without context: Es]</small></mark>' in page
    assert "title=" not in page
    assert "@media print, (hover: none) { mark small { display: inline; } }" in page
