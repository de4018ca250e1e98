"""JUnit XML, in which services for continuous integration show the results of tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from longpipe.errors import plain
from longpipe.system.files import write_text


@dataclass(frozen=True)
class Case:
    """A test: its group and name, the message of its failure (None if it passed), and why it was skipped, if so."""

    group: str
    name: str
    failure: str | None = None
    skipped: str | None = None


def write_junit(file: Path, suite: str, cases: Iterable[Case]) -> None:
    """Writes tests as one suite of a JUnit file. Raises OSError if the file cannot be written."""
    written = list(cases)
    failures = sum(case.failure is not None for case in written)
    skipped = sum(case.skipped is not None for case in written)
    counts = {"tests": str(len(written)), "failures": str(failures), "skipped": str(skipped)}
    root = ET.Element("testsuites")
    of_suite = ET.SubElement(root, "testsuite", {"name": plain(suite), **counts})
    for case in written:
        of_case = ET.SubElement(of_suite, "testcase", {"classname": plain(case.group), "name": plain(case.name)})
        for tag, message in (("failure", case.failure), ("skipped", case.skipped)):
            if message is not None:
                ET.SubElement(of_case, tag, {"message": plain(message)})
    ET.indent(root)
    write_text(file, ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n")
