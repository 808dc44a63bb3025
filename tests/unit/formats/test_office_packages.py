"""Office files that are broken or hostile, and real ones of this machine."""

from __future__ import annotations

import io
import os
import sys
import sysconfig
import tracemalloc
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from office_files import field, odt, pack, paragraph, read, run, texts, translate, unpack, word

from docflat.formats import find_format
from docflat.formats.safe_reading import MOST_UNPACKED
from docflat.formats.segments import Segment
from docflat.support.errors import InputError
from docflat.translation.files import translate_segments
from stubs import Stub

SMALL = {
    "x.docx": word(paragraph(run("Some "), run("bold", "<w:b/>"), run(" words")) + paragraph(run("More"))),
    "x.odt": odt('<text:h>Some</text:h><text:p>words <text:span text:style-name="T1">in bold</text:span></text:p>'),
}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        (
            "x.docx",
            word(
                paragraph(run("Sum"))
                + f"<w:tbl><w:tr><w:tc>{paragraph(run('12,'), run('500', '<w:b/>'))}</w:tc></w:tr></w:tbl>"
                + paragraph(field("PAGE", run("1,200")))
            ),
        ),
        ("x.odt", odt('<text:p>Sum</text:p><text:p>12,<text:span text:style-name="T1">500</text:span></text:p>')),
    ],
)
def test_cells_of_nothing_but_a_number_stay(name: str, data: bytes) -> None:
    stub = Stub(str.lower)
    stub.languages = ("en", "de")
    parsed = read(data, name)
    out = parsed.render(translate_segments(parsed.segments, stub)[0])
    assert [one.text for one in read(out, name).segments] == ["sum", "12,500"]
    if name == "x.docx":  # the number of a page is Word's
        assert b"1,200" in unpack(out)["word/document.xml"]
    before, after = ([one.spans for one in read(each, name).segments if "500" in one.text] for each in (data, out))
    assert [[(span.start, span.end) for span in spans] for spans in (*before, *after)] == [[(3, 6)], [(3, 6)]]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("data", [b"", b"PK", b"just text", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)])
def test_not_a_zip(name: str, data: bytes) -> None:
    with pytest.raises(InputError, match=f"{name}: is (broken|encrypted)"):
        read(data, name)


@pytest.mark.parametrize("name", SMALL)
def test_missing_and_broken_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docflat.formats.positioned_xml.MOST_ELEMENTS", 1000)
    parts: dict[str, Any] = unpack(SMALL[name])
    main = "word/document.xml" if name == "x.docx" else "content.xml"
    for content_, message in (
        (b"", "is not XML"),
        (b"<a><b></a>", "is not XML"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "document type declaration"),
        ('<?xml version="1.0"?><!DOCTYPE a><a/>'.encode("utf-16"), "document type declaration"),
        (b'<?xml version="1.0" encoding="zlib"?><a/>', "is XML in zlib, which is not read"),
        (b"<a>" * 300 + b"</a>" * 300, "elements in each other"),
        (b"<a>" + b"<b/>" * 1000 + b"</a>", "elements in one part"),
    ):
        with pytest.raises(InputError, match=rf"{name} \({main}\): .*{message}"):
            read(pack({**parts, main: content_}), name)
    with pytest.raises(InputError, match="or is broken: it has no"):
        read(pack({key: value for key, value in parts.items() if key != main}), name)


@pytest.mark.parametrize(("member", "size"), [("word/more.xml", 2 << 20), ("word/media/image1.png", MOST_UNPACKED)])
def test_zip_bomb(member: str, size: int) -> None:
    parts: dict[str, Any] = unpack(SMALL["x.docx"])
    with pytest.raises(InputError, match="unpacks to more than"):
        read(pack({**parts, member: bytes(size)}), "x.docx")


def test_a_picture_may_be_packed_to_nothing() -> None:
    parts: dict[str, Any] = unpack(SMALL["x.docx"])
    assert texts(pack({**parts, "word/media/image1.emf": bytes(8 << 20)}), "x.docx") == ["Some bold words", "More"]


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_members_in_packings_without_a_bound_are_refused_before_they_are_unpacked(packing: int) -> None:
    out = io.BytesIO(SMALL["x.docx"])
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("word/media/image1.png", bytes(MOST_UNPACKED), compress_type=packing)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"image1\.png is packed by method 1[24], as no office program does"):
            read(out.getvalue(), "x.docx")
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("code", ['HYPERLINK "https://example.org"', "PAGE", "REF a"])
@pytest.mark.parametrize("deep", [3, 400, 1500])
def test_fields_in_each_other(code: str, deep: int) -> None:
    inside = run("words")
    for _ in range(deep):
        inside = field(code, run("a ") + inside)
    data = word(paragraph(run("Some "), inside))
    parsed = read(data, "x.docx")
    assert parsed.render(parsed.segments) == data
    out = unpack(translate(data, "x.docx"))["word/document.xml"]
    assert out.count(b"fldCharType=") == 3 * deep
    assert b"SOME" in out


def test_encrypted_open_document() -> None:
    entry = '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry>'
    with pytest.raises(InputError, match=r"x\.odt: is encrypted; save it anew, without a password"):
        read(odt("", manifest=entry), "x.odt")
    with pytest.raises(InputError, match="is not an OpenDocument text: it says it is 'application"):
        read(odt("", mimetype="application/vnd.oasis.opendocument.spreadsheet"), "x.odt")


def test_a_file_of_another_program() -> None:
    with pytest.raises(InputError, match=r"x\.pptx: is no PowerPoint file: its main part, word/document\.xml"):
        read(SMALL["x.docx"], "x.pptx")
    with pytest.raises(InputError, match=r"it has no content\.xml"):
        read(SMALL["x.docx"], "x.odt")


def test_empty_documents() -> None:
    assert read(word(""), "x.docx").segments == []
    assert read(odt("<text:p/>"), "x.odt").segments == []


def test_utf16() -> None:
    parts: dict[str, Any] = unpack(SMALL["x.docx"])
    xml = parts["word/document.xml"].decode().replace("UTF-8", "UTF-16").replace("Some", "Höhe")
    data = pack({**parts, "word/document.xml": xml.encode("utf-16")})
    assert texts(data, "x.docx") == ["Höhe bold words", "More"]
    out = unpack(translate(data, "x.docx"))["word/document.xml"].decode("utf-16")
    for text in ("Höhe", "bold", "words", "More"):
        xml = xml.replace(text, text.upper())
    assert out == xml


def harmless(data: bytes, name: str) -> None:
    """It is read, changed and written, or refused in one line; anything else is a bug."""
    try:
        parsed = read(data, name)
    except InputError as error:
        message = str(error)
    else:
        message = name
        read(parsed.render([Segment(one.text[::-1], one.spans[1:]) for one in parsed.segments]), name)
    assert message.startswith(name)
    assert "\n" not in message


@pytest.mark.parametrize("name", SMALL)
@settings(max_examples=300, deadline=None)
@given(changes=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4), st.integers(0, 8)), min_size=1, max_size=4))
def test_changed_bytes_of_the_zip(name: str, changes: Iterable[tuple[float, bytes, int]]) -> None:
    harmless(mutate(SMALL[name], changes), name)


@pytest.mark.parametrize("name", SMALL)
@settings(max_examples=300, deadline=None)
@given(
    part=st.integers(0, 20),
    changes=st.lists(
        st.tuples(
            st.floats(0, 1),
            st.binary(max_size=3)
            | st.sampled_from([b"<w:p>", b"</w:r>", b'"', b"<w:t>", b"/>", b"<text:span>", b"&#0;"]),
            st.integers(0, 30),
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_changed_bytes_of_a_part(name: str, part: int, changes: Iterable[tuple[float, bytes, int]]) -> None:
    parts: dict[str, Any] = unpack(SMALL[name])
    which = list(parts)[part % len(parts)]
    harmless(pack({**parts, which: mutate(parts[which], changes)}), name)


def mutate(data: bytes, changes: Iterable[tuple[float, bytes, int]]) -> bytes:
    for share, new, length in changes:
        place = int(share * len(data))
        data = data[:place] + new + data[place + length :]
    return data


# Real files of this machine

REAL = sorted(
    Path(folder, name)
    for top in {sysconfig.get_paths()["purelib"], f"{sys.base_prefix}/lib", "/usr/share"}
    for folder, _, names in os.walk(top)
    for name in names
    if name.endswith((".docx", ".pptx", ".odt"))
)


@pytest.mark.skipif(not REAL, reason="no office files on this machine")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_files(path: Path) -> None:
    data = path.read_bytes()
    parsed = find_format(path).read(data, str(path))
    assert parsed.render(parsed.segments) == data
    new, old = unpack(parsed.render([replace(one, text=f"{one.text} X") for one in parsed.segments])), unpack(data)
    assert list(new) == list(old)
    translated = sum(not one.skip_reason for one in parsed.segments)
    assert sum(new[name].count(b"X") - old[name].count(b"X") for name in new) >= translated
