"""What limited each flow of a run, and the change of one field that would raise its goodput."""

from longpipe.analysis.limits.causes import Limit
from longpipe.analysis.limits.remedy import Remedy
from longpipe.analysis.limits.verdicts import MEANINGS, FlowLimit, limits, remedies
from longpipe.analysis.limits.words import idle_lines, limit_lines, notes, without_further_paths

__all__ = [
    "MEANINGS",
    "FlowLimit",
    "Limit",
    "Remedy",
    "idle_lines",
    "limit_lines",
    "limits",
    "notes",
    "remedies",
    "without_further_paths",
]
