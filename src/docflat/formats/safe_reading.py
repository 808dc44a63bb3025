"""Reading files that may be broken or hostile: what is too large, too deep or not what it says is an InputError."""

from __future__ import annotations

import codecs
import re
import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from docflat.support.errors import InputError

MOST_BYTES = 64 << 20  # of a file
MOST_UNPACKED = 128 << 20  # of what a zip unpacks to: decks are full of pictures, which do not get smaller in it
MOST_TEXT = 8 << 20  # of plain text and markup: twice the Bible, and each short line of it may be a segment
MOST_MEMBERS = 10_000  # of a zip
MOST_RATIO = 200  # of unpacked to packed in what is parsed; XML of real documents packs to a tenth or so
SMALL = 1 << 20  # below this a ratio is harmless
PARSED = (".xml", ".rels", ".vml", ".rdf")  # members with other endings are only copied, whatever their ratio
# Office programs write these two. The decompressors of the others take no bound: 5 KB of bz2 became 6 GiB in memory.
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# They hold ASCII as it is, so that a file can be read line by line.
_CHARSETS = re.compile(
    r"ascii|utf-8|iso8859-\d+|koi8-\w|cp\d+|mac-\w+|gb\w+|euc_\w+|big5\w*|shift_jis\w*|johab|tis-620"
)
DEEPEST = 200  # elements or values in each other
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16, whose mark it starts with
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_SAMPLE = 4096  # bytes that show an encoding
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # old office files, and the wrapper of encrypted new ones


def read_file(path: Path) -> bytes:
    try:
        with open(path, "rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path) from None
    if not data:
        raise InputError("is empty", path)
    if len(data) > MOST_BYTES:
        raise InputError(f"is larger than {MOST_BYTES >> 20} MiB, the most of one file", path)
    return data


@dataclass(frozen=True)
class Encoding:
    """How a text was written, byte order mark and all."""

    name: str
    mark: bytes = b""

    def write(self, text: str) -> bytes:
        return self.mark + text.encode(self.name)


def find_mark(data: bytes) -> Encoding | None:
    """The encoding that a byte order mark at the start leaves no doubt of."""
    mark = next((mark for mark in _MARKS if data.startswith(mark)), None)
    if mark == codecs.BOM_UTF32_LE and not _may_be_utf_32(data[:_SAMPLE]):
        mark = codecs.BOM_UTF16_LE  # with a character 0 after it
    return None if mark is None else Encoding(_MARKS[mark], mark)


def _may_be_utf_32(data: bytes) -> bool:
    """Whether each four bytes are a character, the lowest first."""
    return not any(data[3::4]) and max(data[6::4], default=0) <= 0x10


def find_codec(charset: str) -> str:
    """The codec of a charset that a file names; empty: none that is both known and of text alone.

    Python's codecs are more than charsets: those of idna, punycode or escapes read text as something else, or never
    end on a hostile one.
    """
    try:
        name = codecs.lookup(charset).name
    except (LookupError, UnicodeError, ValueError):  # a name with a zero byte is a ValueError
        return ""
    return name if _CHARSETS.fullmatch(name) else ""


def read_text(data: bytes, file: str) -> tuple[str, Encoding]:
    """A text without its byte order mark: UTF-8, unless that says otherwise."""
    check_text(data, file)
    encoding = find_mark(data) or Encoding("utf-8")
    try:
        return data[len(encoding.mark) :].decode(encoding.name), encoding
    except UnicodeDecodeError as error:
        if encoding.name != "utf-8":
            raise InputError(f"not {encoding.name[:-3].upper()}, as its first bytes say", file) from None
        line = data.count(b"\n", 0, len(encoding.mark) + error.start) + 1
        raise InputError("not UTF-8; save it as UTF-8", file, line) from None


def check_text(data: bytes, file: str, most: int = MOST_TEXT) -> None:
    if len(data) > most:
        raise InputError(f"is larger than {most >> 20} MiB, the most of one text", file)


def read_zip(data: bytes, file: str) -> dict[str, bytes]:
    """The members of a zip by name, in its order; folders left out."""
    if data.startswith(_OLE):
        raise InputError("is encrypted, or an office file of before 2007; save it anew, without a password", file)
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if member.filename and not member.is_dir()]
            if len(members) > MOST_MEMBERS:
                raise InputError(f"has {len(members)} parts; {MOST_MEMBERS} are the most", file)
            contents: dict[str, bytes] = {}
            left = MOST_UNPACKED
            for member in members:
                if member.flag_bits & 1:
                    raise InputError("is encrypted; save it anew, without a password", file)
                if member.compress_type not in _PACKINGS:
                    kind = member.compress_type
                    raise InputError(f"{member.filename} is packed by method {kind}, as no office program does", file)
                if member.filename in contents:
                    raise InputError(f"has two parts named {member.filename!r}", file)
                contents[member.filename] = _unpack(archive, member, left, file)
                left -= len(contents[member.filename])
            return contents
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        ValueError,
        OSError,
    ) as error:
        # One of the messages shows whatever bytes stand where a name should.
        why = "the names of its parts differ" if str(error).startswith("File name in directory") else error
        raise InputError(f"is broken: {why}", file) from None


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, left: int, file: str) -> bytes:
    """What a member says of its size may be a lie: only what comes out counts."""
    parsed = member.filename.lower().endswith(PARSED)
    allowed = min(left, max(SMALL, MOST_RATIO * member.compress_size)) if parsed else left
    with archive.open(member) as stream:
        data = stream.read(allowed + 1)
    if len(data) > left:
        raise InputError(f"unpacks to more than {MOST_UNPACKED >> 20} MiB, the most of one file", file)
    if len(data) > allowed:
        raise InputError(f"{member.filename} unpacks to more than {MOST_RATIO} times its size: a zip bomb?", file)
    return data
