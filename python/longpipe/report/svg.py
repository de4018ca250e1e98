"""Inline SVG figures whose colors follow the light or dark theme."""

import colorsys
import re
from dataclasses import dataclass, field
from typing import Final

from markupsafe import Markup

from longpipe.errors import ScenarioError

# Background of figures in the dark theme, and the minimum contrast (WCAG 2.1, 1.4.11: 3 to 1).
DARK_CARD: Final = "#1b1f26"
MIN_CONTRAST: Final = 3.2
# Saturation below which a color counts as grey.
GREY: Final = 0.12
# Maximum lightness of greys in the dark theme.
LIGHTEST: Final = 0.93

_COLOR: Final = re.compile(r"(?<=[:\s])#[0-9a-fA-F]{6}\b")
# Ids and references in an SVG file. Ids of font glyphs are equal in every figure; other ids must be made unique.
_NAME: Final = re.compile(r'\b(id="|xlink:href="#|url\(#)([^")]+)')
_TITLE: Final = re.compile(r"<dc:title>(.*?)</dc:title>", re.DOTALL)
_WORDS: Final = re.compile(r"<dc:description>(.*?)</dc:description>", re.DOTALL)


@dataclass
class Palette:
    """Colors of all figures of a page; black is the text color."""

    colors: set[str] = field(default_factory=lambda: {"#000000"})

    def variable(self, color: str) -> str:
        """Returns the CSS variable of a color."""
        self.colors.add(color.lower())
        return f"var(--c{color[1:].lower()})"

    def css(self, *, dark: bool) -> str:
        """Returns the CSS declarations of all variables."""
        return "".join(f"--c{c[1:]}:{in_the_dark(c) if dark else c};" for c in sorted(self.colors))


@dataclass(frozen=True)
class Drawing:
    """A figure of a page: title, text alternative and SVG."""

    title: str
    alt: str
    svg: Markup


def inline(text: str, name: str, palette: Palette) -> Drawing:
    """Converts an SVG file of matplotlib for embedding; `name` makes its ids unique.

    The file's metadata contain its title and its text alternative. Raises ScenarioError, which names the figure, if the
    file is no such SVG.
    """
    start = re.search(r"<svg\b[^>]*?\bviewBox=\"([\d.\s-]+)\"[^>]*>", text)
    title, words = _TITLE.search(text), _WORDS.search(text)
    if start is None or title is None or words is None:
        raise ScenarioError(f"{name}: not a figure of this version; needs one drawn by longpipe")
    body = text[start.end() : text.rindex("</svg>")]
    for pattern in (r"<metadata>.*?</metadata>", r"<style.*?</style>", r"<!--.*?-->"):
        body = re.sub(pattern, "", body, flags=re.DOTALL)
    body = _NAME.sub(lambda match: f"{match[1]}{name}-{match[2]}", body).replace("xlink:href=", "href=")
    body = _COLOR.sub(lambda match: palette.variable(match[0]), body)
    # Reduces the precision of glyph coordinates, because the full precision is not visible.
    body = re.sub(r"(\d\.\d{3})\d+", r"\1", body)
    body = re.sub(r"\s*\n\s*", "\n", body)
    width = float(start[1].split()[2])
    names = (f"{name}-title", f"{name}-words")
    head = f'<svg viewBox="{start[1]}" style="--width:{width:.0f}px" role="img" aria-labelledby="{" ".join(names)}">'
    # Keep escaped text escaped.
    about = f'<title id="{names[0]}">{title[1]}</title><desc id="{names[1]}">{words[1]}</desc>'
    svg = Markup(f"{head}{about}{body}</svg>")  # noqa: S704
    return Drawing(Markup(title[1]).unescape(), Markup(words[1]).unescape(), svg)  # noqa: S704


def in_the_dark(color: str) -> str:
    """Maps a color to the dark theme: inverts greys, lightens others to the minimum contrast."""
    red, green, blue = _parts(color)
    lightness = colorsys.rgb_to_hls(red, green, blue)[1]
    if max(red, green, blue) - min(red, green, blue) < GREY:
        card = colorsys.rgb_to_hls(*_parts(DARK_CARD))[1]
        if lightness == 1.0:
            return DARK_CARD
        return _hex(*(3 * (LIGHTEST - (LIGHTEST - card) * lightness,)))
    dark, white = color, 0.0
    while contrast(dark, DARK_CARD) < MIN_CONTRAST:
        white += 0.02
        dark = _hex(*(part + white * (1 - part) for part in (red, green, blue)))
    return dark


def contrast(first: str, second: str) -> float:
    """Returns the contrast ratio of two colors, 1 to 21 (WCAG 2.1)."""
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _parts(color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(color: str) -> tuple[float, float, float]:
    return (int(color[1:3], 16) / 255, int(color[3:5], 16) / 255, int(color[5:7], 16) / 255)


def _hex(red: float, green: float, blue: float) -> str:
    return "#" + "".join(f"{round(255 * min(1.0, part)):02x}" for part in (red, green, blue))
