"""Catalogues of programs: .properties, .strings, .arb, .resx and Android's strings.xml."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docflat.formats import find_format
from docflat.formats.segments import Segment, Span
from docflat.support.errors import InputError

PROPERTIES = r"""# A comment: stays = as it is
greeting = Good morning
long = A text that \
       goes on here
path: C:\\Temp
empty =
lines=First line\nSecond line
caf\u00e9 = Caf\u00e9 open
  indented\ key   A value after blanks
message=Hello {0}, it''s late
"""

STRINGS = r"""/* A comment "with quotes" = x; */
"greeting" = "Good morning";
// another
"quoted" = "He said \"no\".\nThen he left.";
key.without.quotes = "Open %@";
"alone";
"""

ARB = """{
  "@@locale": "en",
  "title": "Good morning",
  "@title": {"description": "A title", "placeholders": {"title": {"example": "Do not touch"}}},
  "count": "{n, plural, one{one day} other{{n} days}}"
}
"""

RESX = """<?xml version="1.0" encoding="utf-8"?>
<root>
  <!-- <data name="no"><value>A comment</value></data> -->
  <resheader name="version"><value>2.0</value></resheader>
  <data name="Greeting" xml:space="preserve"><value>Good &amp; morning</value><comment>To the user</comment></data>
  <data name="Icon" type="System.Drawing.Bitmap"><value>Icon file</value></data>
  <data name="&gt;&gt;button.Name"><value>button one</value></data>
  <data name="Empty"><value></value></data>
</root>
"""

ANDROID = r"""<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- A comment -->
    <string name="greeting">Don\'t   leave
        now</string>
    <string name="app" translatable="false">The App</string>
    <string name="ref">@string/greeting</string>
    <string name="rich">Press <b>OK</b> to send <xliff:g id="n" example="3">%1$d</xliff:g> files.</string>
    <string name="html">Press &lt;b>OK&lt;/b>.\nOr &#8230;</string>
    <plurals name="days"><item quantity="one">one day</item><item quantity="other">%d days</item></plurals>
    <string-array name="a"><item>First</item></string-array>
    <color name="c">red white</color>
</resources>
"""

FILES = {
    "a.properties": PROPERTIES,
    "a.strings": STRINGS,
    "a.arb": ARB,
    "a.resx": RESX,
    "strings.xml": ANDROID,
}
TEXTS = {
    "a.properties": [
        "Good morning", "A text that goes on here", "C:\\Temp", "First line", "Second line", "Café open",
        "A value after blanks", "Hello {0}, it''s late",
    ],
    "a.strings": ["Good morning", 'He said "no".', "Then he left.", "Open %@"],
    "a.arb": ["Good morning", "{n, plural, one{one day} other{{n} days}}"],
    "a.resx": ["Good & morning"],
    "strings.xml": [
        "Don't leave now", "Press OK to send %1$d files.", "Press OK.", "Or …", "one day", "%d days", "First",
    ],
}  # fmt: skip


def changed(segment: Segment) -> Segment:
    """With a word before it, which moves every span."""
    if segment.skip_reason:
        return segment
    word = "Ä\"'\\é "
    n = len(word)
    return Segment(word + segment.text, tuple(Span(s.start + n, s.end + n, s.tag, s.opaque) for s in segment.spans))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_own_segments_give_back_the_file(name: str, encoding: str) -> None:
    text = FILES[name].replace('encoding="utf-8"', f'encoding="{encoding}"') if encoding == "utf-16" else FILES[name]
    data = text.encode(encoding)
    parsed = find_format(name).read(data, name)
    assert parsed.render(parsed.segments) == data
    assert [segment.text for segment in parsed.segments if not segment.skip_reason] == TEXTS[name]


def rendered(name: str) -> str:
    parsed = find_format(name).read(FILES[name].encode(), name)
    return parsed.render([changed(segment) for segment in parsed.segments]).decode()


def test_changed_properties_are_read_back_by_their_grammar() -> None:
    lines = rendered("a.properties").splitlines()
    assert lines[0] == "# A comment: stays = as it is"
    assert lines[1] == "greeting = \\u00c4\"'\\\\\\u00e9 Good morning"  # letters stay escapes where they were
    again = find_format("a.properties").read("\n".join(lines).encode(), "a.properties")
    assert [one.text for one in again.segments] == ["Ä\"'\\é " + text for text in TEXTS["a.properties"]]


def test_letters_of_a_properties_file_in_utf8_stay_letters() -> None:
    data = "a = Café open\n".encode()
    parsed = find_format("a.properties").read(data, "a.properties")
    assert parsed.render([Segment("Das Café ist zu")]).decode() == "a = Das Café ist zu\n"
    old = find_format("a.properties").read("a = Café\n".encode("iso-8859-1"), "a.properties")
    assert old.render([Segment("Größe")]) == "a = Größe\n".encode("iso-8859-1")


def test_letters_that_iso_8859_1_lacks_are_escaped() -> None:
    old = find_format("a.properties").read("a = Café\n".encode("iso-8859-1"), "a.properties")
    assert old.render([Segment("Größe – 5 €")]) == b"a = Gr\xf6\xdfe \\u2013 5 \\u20ac\n"


@pytest.mark.parametrize(
    ("name", "start", "end"),
    [
        ("a.properties", "a=", ""),
        ("a.strings", '"a" = "', '";'),
        ("strings.xml", "<resources><string>", "</string></resources>"),
    ],
)
def test_a_letter_escaped_in_two_halves_is_one_and_a_half_is_none(name: str, start: str, end: str) -> None:
    escape = "\\U" if name == "a.strings" else "\\u"
    texts = [f"{start}Good {escape}d83d{escape}de00{end}", f"{start}Bad {escape}d83d word{end}"]
    whole = find_format(name).read(texts[0].encode(), name)
    assert [one.text for one in whole.segments] == ["Good \U0001f600"]
    try:
        half = find_format(name).read(texts[1].encode(), name)
    except InputError:
        return  # there is nothing else in the file
    assert all(one.skip_reason for one in half.segments)


def test_changed_strings_are_quoted() -> None:
    text = rendered("a.strings")
    assert '"greeting" = "Ä\\"\'\\\\é Good morning";' in text
    again = find_format("a.strings").read(text.encode(), "a.strings")
    assert [one.text for one in again.segments] == ["Ä\"'\\é " + text for text in TEXTS["a.strings"]]


def test_changed_arb_keeps_what_tells_of_messages() -> None:
    content = json.loads(rendered("a.arb"))
    assert content["@@locale"] == "en"
    assert content["@title"]["placeholders"]["title"]["example"] == "Do not touch"
    assert content["title"] == "Ä\"'\\é Good morning"


def test_changed_resx_is_read_by_another_reader() -> None:
    root = ElementTree.fromstring(rendered("a.resx"))
    values = {entry.get("name"): entry.findtext("value") for entry in root.iter("data")}
    assert values["Greeting"] == "Ä\"'\\é Good & morning"
    assert values["Icon"] == "Icon file"
    assert values[">>button.Name"] == "button one"
    assert root.findtext("data/comment") == "To the user"


def test_changed_android_strings_keep_their_elements_and_escapes() -> None:
    text = rendered("strings.xml")
    root = ElementTree.fromstring(text.encode())
    strings = {entry.get("name"): entry for entry in root.iter("string")}
    assert strings["greeting"].text == "Ä\\\"\\'\\\\é Don\\'t leave now"
    assert strings["app"].text == "The App"
    assert strings["ref"].text == "@string/greeting"
    assert [child.tag.rpartition("}")[2] for child in strings["rich"]] == ["b", "g"]
    assert strings["rich"][1].text == "%1$d"
    assert strings["html"].text == "Ä\\\"\\'\\\\é Press <b>OK</b>.\\nÄ\\\"\\'\\\\é Or …"
    assert root.findtext("color") == "red white"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.properties", "# only comments\n", "no line of a key and a value"),
        ("a.strings", '"a" = "b"', 'expected ";"'),
        ("a.strings", '"a" "b";', 'expected "key" = "value";'),
        ("a.strings", '"a" = "b";\n"c" = "d', "found '\"'"),
        ("a.arb", "[]", "expected a JSON object of messages"),
        ("a.arb", '{"@a": "b"}', "has no message"),
        ("a.resx", "<a/>", "its first element is no <root>"),
        ("a.resx", "<root><data></root>", "is not XML"),
        ("strings.xml", "<project><name>x</name></project>", "is XML, but no Android resources"),
        ("strings.xml", "<resources/>", "has no <string>"),
        ("strings.xml", '<!DOCTYPE a [<!ENTITY b "c">]><resources/>', "document type declaration"),
    ],
)
def test_what_is_broken_is_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        find_format(name).read(text.encode(), name)


@pytest.mark.parametrize("name", ["a.ppsx", "a.potx", "a.ott", "a.xhtml"])
def test_aliases_have_the_format_of_their_kin(name: str) -> None:
    kin = {".ppsx": ".pptx", ".potx": ".pptx", ".ott": ".odt", ".xhtml": ".html"}[Path(name).suffix]
    assert type(find_format(name)) is type(find_format(f"a{kin}"))
