"""Reproducible figure files: equal figures give equal bytes."""

from io import BytesIO
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.figure import Figure

from longpipe.errors import plain
from longpipe.pictures.figure import unescaped
from longpipe.system.files import write_bytes

FORMATS: Final = ("png", "svg")


def save(figure: Figure, path: Path) -> list[Path]:
    """Writes a figure as PNG and as SVG; `path` has no suffix. The same figure gives the same bytes.

    Both files contain the title and, as a text alternative, the result of `describe`.
    """
    written = [path.with_name(f"{path.name}.{kind}") for kind in FORMATS]
    for file in written:
        _write(figure, file, file.suffix[1:], path.name)
    return written


def save_as(figure: Figure, path: Path) -> None:
    """Writes a figure in the format of the suffix: svg, pdf or png. The same figure gives the same bytes."""
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    buffer = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "longpipe"}):
        figure.savefig(buffer, format=path.suffix[1:], dpi=200, metadata=undated.get(path.suffix, {}))
    write_bytes(path, buffer.getvalue())


def to_svg(figure: Figure, name: str) -> str:
    """Returns the SVG text that `save` writes."""
    buffer = BytesIO()
    _write(figure, buffer, "svg", name)
    return buffer.getvalue().decode()


def describe(figure: Figure) -> str:
    """Returns a text alternative of a figure: its title, panels, axes and legend."""
    axes = [panel for panel in figure.axes if panel.get_visible()]
    panels = [name for panel in axes if (name := _words(panel.get_title(loc="left") or panel.get_title()))]
    legends = [*figure.legends, *(legend for panel in axes if (legend := panel.get_legend()))]
    keys = [text.get_text() for legend in legends for text in (legend.get_title(), *legend.get_texts())]
    parts = {
        "Panels": panels,
        "Across": [panel.get_xlabel() for panel in axes],
        "Up": [panel.get_ylabel() for panel in axes],
        "Legend": keys,
    }
    named = {part: [word for word in dict.fromkeys(map(_words, words)) if word] for part, words in parts.items()}
    return ". ".join(
        [
            *([title] if (title := _words(figure.get_suptitle())) else []),
            *(f"{part}: {'; '.join(words)}" for part, words in named.items() if words),
        ]
    )


def _write(figure: Figure, file: Path | BytesIO, kind: str, name: str) -> None:
    about = {"Title": _words(figure.get_suptitle()) or name, "Description": describe(figure)}
    with mpl.rc_context({"svg.hashsalt": "longpipe"}):
        figure.savefig(file, format=kind, dpi=150, metadata={**about, "Date": None} if kind == "svg" else about)


def _words(text: str) -> str:
    return plain(unescaped(" ".join(text.split())))
