"""What limited each flow of a run, and the change of one field that would raise its goodput."""

from longpipe.verdicts.limits.causes import Limit
from longpipe.verdicts.limits.remedy import Remedy
from longpipe.verdicts.limits.verdicts import MEANINGS, FlowLimit, limits, remedies
from longpipe.verdicts.limits.words import idle_lines, limit_lines, notes, remedy_lines, without_further_paths

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
    "remedy_lines",
    "without_further_paths",
]
