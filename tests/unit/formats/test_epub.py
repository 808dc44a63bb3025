"""EPUB: what of a book is translated. EbookLib wrote the book, and reads back what we wrote."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import pytest
from office_files import capitals, pack, read, texts, unpack

from docflat.formats import find_format
from docflat.support.errors import InputError

epub = pytest.importorskip("ebooklib.epub")


def book() -> bytes:
    made = epub.EpubBook()
    made.set_identifier("1")
    made.set_title("A long journey")
    made.set_language("en")
    made.add_author("Ann Lee")
    pages = []
    for number, (title, said) in enumerate((("First chapter", "It <em>rained</em> all day."), ("Second one", "Sun."))):
        page = epub.EpubHtml(title=title, file_name=f"page {number}.xhtml", lang="en")
        page.content = f'<html><body><h1>{title}</h1><p>{said}</p><p><img src="a.png" alt="A hill"/></p></body></html>'
        made.add_item(page)
        pages.append(page)
    made.add_item(epub.EpubItem(file_name="a.png", media_type="image/png", content=b"\x89PNG"))
    made.toc = tuple(pages)
    made.spine = ["nav", *reversed(pages)]
    made.add_item(epub.EpubNcx())
    made.add_item(epub.EpubNav())
    out = io.BytesIO()
    epub.write_epub(out, made)
    return out.getvalue()


def test_pages_are_read_in_the_order_of_the_spine_and_contents_say_what_pages_say() -> None:
    found = texts(book(), "x.epub")
    assert found[0] == "A long journey"
    pages = ["Second one", "Second one", "Sun.", "A hill"]  # each has its title in its head too
    assert found[1:] == [*pages, "First chapter", "First chapter", "It rained all day.", "A hill"]
    data = book()
    parsed = read(data, "x.epub")
    assert parsed.render(parsed.segments) == data


def translated(data: bytes) -> bytes:
    parsed = find_format("x.epub", target_language="de").read(data, "x.epub")
    return parsed.render([one if one.skip_reason else capitals(one) for one in parsed.segments])


def test_another_reader_finds_pages_titles_and_contents_translated() -> None:
    data = book()
    out = translated(data)
    written = epub.read_epub(io.BytesIO(out))
    assert written.get_metadata("DC", "title")[0][0] == "A LONG JOURNEY"
    assert written.get_metadata("DC", "language")[0][0] == "de"
    assert written.get_metadata("DC", "creator")[0][0] == "Ann Lee"
    assert [entry.title for entry in written.toc] == ["FIRST CHAPTER", "SECOND ONE"]
    pages = {one.get_name(): one.get_content().decode("latin-1") for one in written.get_items()}
    assert "<p>IT <em>RAINED</em> ALL DAY.</p>" in pages["page 0.xhtml"]
    assert 'alt="A HILL"' in pages["page 1.xhtml"]
    assert "SECOND ONE</a>" in pages["nav.xhtml"]
    own, new = unpack(data), unpack(out)
    assert b'lang="de"' in new["EPUB/page 1.xhtml"]
    assert list(own) == list(new)
    assert own["EPUB/a.png"] == new["EPUB/a.png"]
    with zipfile.ZipFile(io.BytesIO(out)) as archive:
        first = archive.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)


def changed(change: dict[str, str]) -> bytes:
    return pack({**unpack(book()), **change})


def test_elements_that_are_empty_in_xml_end_where_they_are() -> None:
    page = (
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="a.js"/></head>'
        '<body><p>Some <a id="x"/>text</p><p>More</p></body></html>'
    )
    data = changed({"EPUB/page 0.xhtml": page})
    assert {"Some text", "More"} <= set(texts(data, "x.epub"))
    assert 'SOME <a id="x"/>TEXT</p><p>MORE</p>' in unpack(translated(data))["EPUB/page 0.xhtml"].decode()


def test_what_is_protected_or_broken_is_refused() -> None:
    lock = (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
        'xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData><e:EncryptionMethod Algorithm="%s"/>'
        "</e:EncryptedData></encryption>"
    )
    with pytest.raises(InputError, match=r"x\.epub: is under copy protection"):
        read(changed({"META-INF/encryption.xml": lock % "http://www.w3.org/2001/04/xmlenc#aes128-cbc"}), "x.epub")
    masked = changed({"META-INF/encryption.xml": lock % "http://www.idpf.org/2008/embedding"})
    assert len(read(masked, "x.epub").segments) == len(read(book(), "x.epub").segments)
    with pytest.raises(InputError, match="is no EPUB, or is broken"):
        read(pack({"a": "b"}), "x.epub")
    with pytest.raises(InputError, match="names no package"):
        read(changed({"META-INF/container.xml": "<container/>"}), "x.epub")
    bomb = '<!DOCTYPE p [<!ENTITY a "b">]><package xmlns="http://www.idpf.org/2007/opf"/>'
    with pytest.raises(InputError, match="document type declaration"):
        read(changed({"EPUB/content.opf": bomb}), "x.epub")


def test_a_heading_that_is_said_otherwise_later_is_so_in_the_contents() -> None:
    data = book()
    parsed = read(data, "x.epub")
    new = [replace(one, text="Der Regen", spans=()) if one.text == "First chapter" else one for one in parsed.segments]
    out = epub.read_epub(io.BytesIO(parsed.render(new)))
    assert [entry.title for entry in out.toc] == ["Der Regen", "Second one"]
