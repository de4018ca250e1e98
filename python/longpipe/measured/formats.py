"""Recognition of formats: the first format whose `recognizes` accepts the content reads it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.inputs.capture_magic import is_capture
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
    starnet,
    tc,
    wetlinks,
)
from longpipe.measured.content import Content, few
from longpipe.measured.looks import looks_like
from longpipe.measured.recording import Recording
from longpipe.measured.runs import joined

# Each module has NAME, recognizes(content) and read(content). Modules of JSON whose results are single values also have
# is_whole(value). The order matters if several modules accept a content.
FORMATS: Final[tuple[ModuleType, ...]] = (
    capture, iperf3, irtt, flent, ndt7, qlog, tc, atlas, dish, iperf2, ping_text, ping, ss, starlink, starnet,
    mahimahi, wetlinks, pantheon, pensieve,
)  # fmt: skip


# Number of lines from which on an incomplete last line is skipped.
_MIN_LINES: Final = 3
# Line that an error names behind the file.
_LINE: Final = re.compile(r":(\d+): ")


def read(file: str | Path) -> Recording:
    """Reads a measured file of any format. Raises a one-line ScenarioError if the format is unknown."""
    content = Content.of(file)
    is_text = not is_capture(content.data)
    if (recording := _recognized(content)) is not None:
        return recording
    inside = content.with_json_inside() if is_text else None
    if inside is not None and (recording := _recognized(inside)) is not None:
        return recording
    without = content.without_times() if is_text else None
    if without is not None and (recording := _recognized(without)) is not None:
        return recording
    names = ", ".join(reader.NAME for reader in FORMATS)
    raise ScenarioError(f"{file}: {looks_like(content)}; needs one of {names}")


def _recognized(content: Content) -> Recording | None:
    """Returns the recording by the first format that recognizes the content; None if there is none."""
    for reader in FORMATS:
        if reader.recognizes(content):
            recording = _read(reader, content)
            return replace(recording, notes=(*content.defects, *recording.notes))
    return None


def _read(reader: ModuleType, content: Content) -> Recording:
    """Returns the recording of a content; a file with several whole results in JSON has several runs."""
    is_whole = getattr(reader, "is_whole", None)
    if is_whole is not None and content.is_json:
        whole = [placed for placed in content.json_values if is_whole(placed[1])]
        if len(whole) > 1:
            return joined([(content.line_of(placed[0]), reader.read(content.of_values([placed]))) for placed in whole])
    part, skipped = content, list[tuple[int, str]]()
    first: ScenarioError | None = None
    while True:
        try:
            recording: Recording = reader.read(part)
        except ScenarioError as error:
            first = first or error
            number = _damaged_line(content, part, error, len(skipped))
            if number is None:
                raise first from None
            skipped.append((number, str(error).partition(f":{number}: ")[2]))
            part = part.without_line(number)
            continue
        return replace(recording, notes=(*recording.notes, *(_skipped(content, *line) for line in skipped)))


def _damaged_line(content: Content, part: Content, error: ScenarioError, skipped: int) -> int | None:
    """Returns the line of a text that caused an error if the text is read without it, otherwise None.

    It is the last line if this line does not end, or one of a few in a long text, of which `skipped` are known already.
    """
    if content.is_json or is_capture(content.data):
        return None
    named = _LINE.match(str(error).removeprefix(content.file))
    lines = part.lines
    if named is None or len(lines) < _MIN_LINES:
        return None
    number = int(named[1])
    if number == content.lines[-1][0] and not content.ends_whole:
        return number
    is_own = lines[0][0] <= number <= lines[-1][0]
    return number if is_own and skipped < few(len(content.lines)) else None


def _skipped(content: Content, number: int, reason: str) -> str:
    if number == content.lines[-1][0] and not content.ends_whole:
        return f"the last line, {number}, is incomplete and skipped"
    return f"line {number} is damaged and skipped ({reason})"
