"""One input of a kind, made by a random source: a seed, changed as text, as a tree, as a zip, as bytes."""

from __future__ import annotations

import io
import re
import struct
import zipfile
from functools import lru_cache
from random import Random

from fuzz.mutations import Node, change_text, change_tree, copy, parse, write
from fuzz.seeds import MAIN, PARTS, TEXTS, TREES

MOST = 60_000  # characters; what is not linear shows before
_CHARSETS = (
    "utf-8",
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-32",
    "iso-8859-1",
    "cp1252",
    "utf-7",
    "shift_jis",
)
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML

KINDS = (*PARTS, *TEXTS)


def make(kind: str, random: Random) -> bytes:
    if kind in PARTS:
        return _bytes(_make_zip(kind, random), random)
    seeds = TEXTS[kind]
    text = random.choice(seeds)
    if kind in TREES and random.random() < 0.75:
        text = _as_tree(text, random)
        if random.random() < 0.8:
            return _encoded(text, random)
    changes = random.choice((0, 1, 1, 2, 3, 6))
    for _ in range(changes):
        text = change_text(text, seeds, random)[:MOST]
    return _bytes(_encoded(text, random), random)


def _as_tree(text: str, random: Random) -> str:
    tree = copy(_parsed(text))
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        change_tree(tree, random, _escape)
    return write(tree)[: 4 * MOST]


@lru_cache
def _parsed(text: str) -> Node:
    return parse(text)


def _escape(text: str) -> str:
    return _ILLEGAL.sub("", text).replace("&", "&amp;").replace("<", "&lt;")


def _make_zip(kind: str, random: Random) -> bytes:
    members = dict(PARTS[kind])
    for _ in range(random.choice((1, 1, 1, 2))):
        name = MAIN[kind] if random.random() < 0.8 else random.choice(list(members))
        members[name] = _as_tree(members[name], random) if name.endswith(("xml", "rels")) else random.choice(("", "x"))
    names = list(members)
    if random.random() < 0.05:
        del members[random.choice(names)]
    if random.random() < 0.05:
        members[random.choice(("../x", "/x", "a\\b", "x" * 300, "\u00e9", "x.xml/", "CON", names[0].upper()))] = "<x/>"
    return pack(members, zipfile.ZIP_DEFLATED if random.random() < 0.1 else zipfile.ZIP_STORED, random)


def pack(members: dict[str, str], packing: int, random: Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        for name, content in members.items():
            data = content.encode("utf-8", "surrogatepass")
            if random.random() < 0.01:
                data = _bytes(content.encode(random.choice(_CHARSETS), "replace"), random)
            archive.writestr(zipfile.ZipInfo(name), data, packing)
    return out.getvalue()


def _encoded(text: str, random: Random) -> bytes:
    if random.random() < 0.95:
        return text.encode("utf-8", "surrogatepass")
    return text.encode(random.choice(_CHARSETS), "replace")


def _bytes(data: bytes, random: Random) -> bytes:
    """Now and then a few bytes are others."""
    if random.random() < 0.93 or not data:
        return data
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        at = random.randrange(len(changed) + 1)
        do = random.randrange(5)
        if do == 0 and at < len(changed):
            changed[at] = random.randrange(256)
        elif do == 1:
            del changed[at : at + random.choice((1, 4, 100))]
        elif do == 2:
            changed[at:at] = random.choice(
                (b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\x80", b"PK\1\2")
            )
        elif do == 3 and at + 4 <= len(changed):
            changed[at : at + 4] = struct.pack("<I", random.choice((0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)))
        else:
            del changed[at:]
    return bytes(changed)
