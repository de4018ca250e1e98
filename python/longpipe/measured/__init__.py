"""Reads measured files, recorded by captures and measurement tools, as series and counters with units.

`read(file)` recognizes the format by the file's content and returns a `Recording`.
"""

from longpipe.measured.formats import read
from longpipe.measured.recording import Recording, Series, Subject

__all__ = ["Recording", "Series", "Subject", "read"]
