"""PDF files for tests: text in the fonts that every reader has, placed line by line."""

from __future__ import annotations

import zlib

HEIGHT, WIDTH = 792, 612
FONTS = {"F": "Helvetica", "B": "Helvetica-Bold", "I": "Helvetica-Oblique"}

Line = tuple[float, float, float, str]  # x, y from below, size, text; "B:" before it: in bold letters


def pdf(*pages: list[Line], pictures: bool = False) -> bytes:
    """A PDF of these lines; pictures: a grey picture covers every page."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", ""]
    fonts = "".join(f"/{key} {number} 0 R" for number, key in enumerate(FONTS, 3))
    objects += [f"<</Type/Font/Subtype/Type1/BaseFont/{name}/Encoding/WinAnsiEncoding>>" for name in FONTS.values()]
    picture = len(objects) + 1
    grey = "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>"
    objects.append(f"{grey}\nstream\n0\nendstream")
    kids = []
    for lines in pages:
        shown = f"q {WIDTH} 0 0 {HEIGHT} 0 0 cm /P Do Q\n" if pictures else ""
        content = shown + "".join(map(_shown, lines))
        packed = zlib.compress(content.encode("cp1252")).decode("latin-1")
        objects.append(f"<</Length {len(packed)}/Filter/FlateDecode>>\nstream\n{packed}\nendstream")
        resources = f"<</Font<<{fonts}>>/XObject<</P {picture} 0 R>>>>"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {WIDTH} {HEIGHT}]/Resources{resources}"
            f"/Contents {len(objects)} 0 R>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>"
    out = b"%PDF-1.4\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer<</Size {len(objects) + 1}/Root 1 0 R>>\n"
    return out + end.encode() + f"startxref\n{len(out)}\n%%EOF\n".encode()


def _shown(line: Line) -> str:
    x, y, size, text = line
    font, _, said = text.partition(":") if text[1:2] == ":" else ("F", "", text)
    escaped = said.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return f"BT /{font} {size} Tf {x} {y} Td ({escaped}) Tj ET\n"


def block(x: float, y: float, *texts: str, size: float = 10, step: float = 12) -> list[Line]:
    """Lines one below the other."""
    return [(x, y - number * step, size, text) for number, text in enumerate(texts)]
