"""Recognition of formats: the first format whose `recognises` accepts the content reads it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Final

from longpipe.errors import ScenarioError, shown
from longpipe.measured import (
    atlas,
    capture,
    flent,
    iperf3,
    irtt,
    mahimahi,
    ndt7,
    pantheon,
    pensieve,
    ping,
    qlog,
    ss,
    starlink,
    tc,
)
from longpipe.measured.content import Content
from longpipe.measured.recording import Recording
from longpipe.measured.runs import joined

# Each module has NAME, recognises(content) and read(content). Modules of JSON whose results are single values also have
# is_whole(value). The order matters if several modules accept a content.
FORMATS: Final[tuple[ModuleType, ...]] = (
    capture, iperf3, irtt, flent, ndt7, qlog, tc, atlas, ping, ss, starlink, mahimahi, pantheon, pensieve,
)  # fmt: skip


def read(file: str | Path) -> Recording:
    """Reads a measured file of any format. Raises a one-line ScenarioError if the format is unknown."""
    content = Content.of(file)
    for one in FORMATS:
        if one.recognises(content):
            found = _read(one, content)
            return replace(found, notes=(*content.defects, *found.notes))
    names = ", ".join(one.NAME for one in FORMATS)
    raise ScenarioError(
        f"{file}: begins with {shown(content.begins[:40])}, which no known tool writes; needs one of {names}"
    )


def _read(one: ModuleType, content: Content) -> Recording:
    """Returns the recording of a content; a file with several whole results in JSON has several runs."""
    is_whole = getattr(one, "is_whole", None)
    if is_whole is not None and content.is_json:
        whole = [placed for placed in content.json_values if is_whole(placed[1])]
        if len(whole) > 1:
            return joined([(content.line_of(placed[0]), one.read(content.of_values([placed]))) for placed in whole])
    found: Recording = one.read(content)
    return found
