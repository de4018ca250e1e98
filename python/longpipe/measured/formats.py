"""Recognition of formats: the first format whose `recognises` accepts the content reads it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.measured import (
    atlas,
    capture,
    dish,
    flent,
    iperf2,
    iperf3,
    irtt,
    mahimahi,
    ndt7,
    pantheon,
    pensieve,
    ping,
    ping_text,
    qlog,
    ss,
    starlink,
    tc,
)
from longpipe.measured.content import Content
from longpipe.measured.looks import looks_like
from longpipe.measured.pcap import is_capture
from longpipe.measured.recording import Recording
from longpipe.measured.runs import joined

# Each module has NAME, recognises(content) and read(content). Modules of JSON whose results are single values also have
# is_whole(value). The order matters if several modules accept a content.
FORMATS: Final[tuple[ModuleType, ...]] = (
    capture, iperf3, irtt, flent, ndt7, qlog, tc, atlas, dish, iperf2, ping_text, ping, ss, starlink, mahimahi,
    pantheon, pensieve,
)  # fmt: skip


# Number of lines from which on an incomplete last line is skipped.
_LEAST_LINES: Final = 3


def read(file: str | Path) -> Recording:
    """Reads a measured file of any format. Raises a one-line ScenarioError if the format is unknown."""
    content = Content.of(file)
    is_text = not is_capture(content.data)
    if (found := _recognised(content)) is not None:
        return found
    inside = content.with_json_inside() if is_text else None
    if inside is not None and (found := _recognised(inside)) is not None:
        return found
    without = content.without_times() if is_text else None
    if without is not None and (found := _recognised(without)) is not None:
        return found
    names = ", ".join(one.NAME for one in FORMATS)
    raise ScenarioError(f"{file}: {looks_like(content)}; needs one of {names}")


def _recognised(content: Content) -> Recording | None:
    """Returns the recording by the first format that recognises the content; None if there is none."""
    for one in FORMATS:
        if one.recognises(content):
            found = _read(one, content)
            return replace(found, notes=(*content.defects, *found.notes))
    return None


def _read(one: ModuleType, content: Content) -> Recording:
    """Returns the recording of a content; a file with several whole results in JSON has several runs."""
    is_whole = getattr(one, "is_whole", None)
    if is_whole is not None and content.is_json:
        whole = [placed for placed in content.json_values if is_whole(placed[1])]
        if len(whole) > 1:
            return joined([(content.line_of(placed[0]), one.read(content.of_values([placed]))) for placed in whole])
    try:
        found: Recording = one.read(content)
    except ScenarioError as error:
        if (shorter := _without_cut_line(content, error)) is None:
            raise
        try:
            found = one.read(shorter)
        except ScenarioError:
            raise error from None
        return replace(found, notes=(*found.notes, f"the last line, {shorter.cut_line}, is incomplete and skipped"))
    return found


def _without_cut_line(content: Content, error: ScenarioError) -> Content | None:
    """Returns a text without its last line if this line caused an error and does not end, otherwise None."""
    if content.is_json or is_capture(content.data) or content.text.endswith(("\n", "\r")):
        return None
    number = content.lines[-1][0]
    if len(content.lines) < _LEAST_LINES or not str(error).startswith(f"{content.file}:{number}:"):
        return None
    part = content.of_lines(content.lines[:-1])
    part.begins, part.cut_line = content.begins, number
    return part
