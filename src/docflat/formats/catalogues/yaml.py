"""YAML messages, as Rails and others have them: the values below a language, where they stand.

Read by PyYAML as events with places, so that aliases are never followed, and no value is made into anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePath

import yaml

from docflat.formats.catalogues.strings_in_place import StringPlace, StringsInPlace
from docflat.formats.safe_reading import DEEPEST, Encoding, read_text
from docflat.formats.segments import Segment
from docflat.support.errors import InputError

ALL = "*"
# ISO 639-1, and those of three letters that programs are often translated into.
_CODES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en "
    "eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv "
    "ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne "
    "ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st "
    "su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu ast ceb csb dsb "
    "fil fur gsw haw hsb kab lld nds pap scn sco szl tzm vec yue"
)
_LANGUAGE = re.compile(rf"(?:{_CODES.replace(' ', '|')})([-_](?:[A-Z]{{2}}|[A-Z][a-z]{{3}}|[0-9]{{3}}|[a-z]{{2}}))*")
_PROPERTIES = re.compile(r"(?:[&!][^\s,\[\]{}]*\s+)*")  # an anchor, a tag
# A symbol of Ruby, or the form of a date: no letters but those of its parts.
_DATA = re.compile(r":[a-z_]+|(?:%[-0^#]?[A-Za-z%]|[^\w%]|[\d_年月日時时分秒년월일시분초])*")
_TEXT = "tag:yaml.org,2002:str"
_RUBY = ("ruby-format",)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER = yaml.SafeLoader("")
# Starts in a way that begins nothing else, and has nothing that ends a plain value.
_PLAIN = re.compile(r"[^\W_](?:[^:#\n,\[\]{}]|:(?!\s|$)|(?<!\s)#)*")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


class YamlStrings(StringsInPlace):
    def __init__(
        self, text: str, encoding: Encoding, places: Sequence[StringPlace], root: tuple[int, int] | None, language: str
    ) -> None:
        """root: where the language stands that all values are below; language: what takes its place."""
        super().__init__(text, encoding, places, write_scalar)
        self.root, self.language = root, language

    def render(self, segments: Sequence[Segment]) -> bytes:
        data = super().render(segments)
        if self.root is None or not self.language or all(a == b for a, b in zip(self.segments, segments, strict=True)):
            return data
        text = data[len(self.encoding.mark) :].decode(self.encoding.name)
        start, end = self.root
        return self.encoding.write(text[:start] + write_scalar(self.language, text[start:end]) + text[end:])


class Yaml:
    """`keys`: those whose values are translated, wherever they are; "*" is all. Without them, all below a language.

    `target_language` is put in the place of that language.
    """

    name = "YAML"

    def __init__(self, keys: Collection[str] = (), target_language: str = "") -> None:
        self.keys, self.target_language = keys, target_language

    def read(self, data: bytes, file: str) -> YamlStrings:
        text, encoding = read_text(data, file)
        try:
            scalars = list(_scalars(text, file))
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or "a sign that YAML cannot hold"
            raise InputError(f"is not YAML: {problem}", file, mark.line + 1 if mark else None) from None
        roots = {path[0] for path, _, _ in scalars if path}
        named = PurePath(file).stem.rpartition(".")[2]
        language = next(iter(roots)) if len(roots) == 1 else None
        below = language is not None and _LANGUAGE.fullmatch(language[0]) is not None
        if not self.keys and not below and not _LANGUAGE.fullmatch(named):
            raise InputError(
                "is YAML, but neither its first key nor its name is a language (en:, x.en.yaml), so nothing says that "
                "it holds messages; --keys names what to translate",
                file,
            )
        wanted = None if not self.keys or ALL in self.keys else set(self.keys)
        places = [place for path, place, is_text in scalars if is_text and _is_wanted(path, wanted)]
        if not places:
            raise InputError("has no text that is to be translated", file)
        root = language[1] if language is not None and below else None
        return YamlStrings(text, encoding, places, root, self.target_language)


_Key = tuple[str, tuple[int, int]]  # what it says, where it stands


def _is_wanted(path: Sequence[_Key], wanted: Collection[str] | None) -> bool:
    return wanted is None or bool(path and path[-1][0] in wanted)


def _scalars(text: str, file: str) -> Iterator[tuple[list[_Key], StringPlace, bool]]:
    """Every value, with the keys it is under, and whether it is a text."""
    path: list[_Key] = []
    open_nodes: list[bool | None] = []  # whether a mapping waits for a key; None: a sequence
    lengths: list[int] = []  # of the path, where each began
    for event in yaml.parse(text, Loader=_LOADER):
        start, end = event.start_mark, event.end_mark
        first, last = start.index if start else 0, end.index if end else 0
        is_key = bool(open_nodes) and open_nodes[-1] is True
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(open_nodes) == DEEPEST:
                raise InputError("is nested too deep", file, text.count("\n", 0, first) + 1)
            open_nodes.append(True if isinstance(event, yaml.MappingStartEvent) else None)
            lengths.append(len(path))
            if is_key:
                path.append(("", (0, 0)))
            continue
        if isinstance(event, yaml.ScalarEvent | yaml.AliasEvent):
            if is_key:
                del path[lengths[-1] :]
                path.append((getattr(event, "value", ""), (first, last)))
            elif isinstance(event, yaml.ScalarEvent):
                match = _PROPERTIES.match(text, first, last)
                first = match.end() if match else first
                yield list(path), StringPlace(first, last, event.value, _RUBY), _is_text(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            open_nodes.pop()
            del path[lengths.pop() :]
            is_key = bool(open_nodes) and open_nodes[-1] is True
        else:
            continue
        if open_nodes and open_nodes[-1] is not None:
            open_nodes[-1] = not open_nodes[-1]


def _is_text(event: yaml.ScalarEvent) -> bool:
    if not event.value.strip() or _DATA.fullmatch(event.value):
        return False
    if event.tag is not None:
        return bool(event.tag == _TEXT)
    return not event.implicit[0] or _is_text_as(event.value)


def _is_text_as(value: str) -> bool:
    """Whether this is a text if nothing is around it: no number, no date, no "yes"."""
    return bool(_RESOLVER.resolve(yaml.ScalarNode, value, (True, False)) == _TEXT)


def write_scalar(value: str, raw: str) -> str:
    """A value in the style of another, if that can hold it."""
    if raw[:1] in ("|", ">"):
        return _write_block(value, raw)
    if raw[:1] == "'" and not re.search(r"[\n\t]", value) and not _UNSEEN.search(value):
        return "'" + value.replace("'", "''") + "'"
    if raw[:1] not in ("'", '"') and _is_plain(value, raw):
        return value
    return _quoted(value)


def _quoted(value: str) -> str:
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def _is_plain(value: str, raw: str) -> bool:
    bare = re.sub(r"[,\[\]{}]", "", value) if re.search(r"[,\[\]{}]", raw) else value
    return bool(
        value == value.strip() and value[:1] == bare[:1] and _PLAIN.fullmatch(bare) and _is_text_as(value)
    ) and not _UNSEEN.search(value)


def _write_block(value: str, raw: str) -> str:
    """Folded text is written as it reads, a line each: it says the same."""
    newline = "\r\n" if "\r\n" in raw else "\n"
    lines = raw.split("\n")
    filled = [number for number, line in enumerate(lines) if number and line.strip()]
    if not filled or re.search(r"[1-9]", lines[0].partition("#")[0]):
        # An indentation that is said is not known here: quoted, a text needs none.
        last = filled[-1] + 1 if filled else len(lines) - 1
        return "\n".join([_quoted(value) + ("\r" if newline == "\r\n" else ""), *lines[last:]])
    indent = re.match(r"[ ]*", lines[filled[0]])
    assert indent is not None
    head, tail = lines[0].replace(">", "|", 1).rstrip("\r"), lines[filled[-1] + 1 :]
    if _UNSEEN.search(value) or value[:1].isspace():  # a block would not say these, or take blanks for its indent
        return "\n".join([_quoted(value) + ("\r" if newline == "\r\n" and tail else ""), *tail])
    said = [f"{indent[0]}{line}" if line else "" for line in value.rstrip("\n").split("\n")]
    return "\n".join([newline.join([head, *said]) + ("\r" if newline == "\r\n" and tail else ""), *tail])
