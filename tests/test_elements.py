"""Orbital elements in files: every format of TLE and OMM, and errors and warnings."""

import gzip
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sgp4 import omm as reference
from sgp4.api import Satrec
from typer.testing import CliRunner

from longpipe import ScenarioError
from longpipe.cli import app
from longpipe.satellites import Constellation, read_elements

# The example is from CelesTrak's documentation of OMM: the same elements in both forms.
TLE = """ISS (ZARYA)
1 25544U 98067A   20045.18587073  .00000950  00000-0  25302-4 0  9990
2 25544  51.6443 242.0161 0004885 264.6060 207.3845 15.49165514212791
"""
FIELDS: dict[str, Any] = {
    "OBJECT_NAME": "ISS (ZARYA)", "OBJECT_ID": "1998-067A", "EPOCH": "2020-02-14T04:27:39.231072",
    "MEAN_MOTION": 15.49165514, "ECCENTRICITY": 0.0004885, "INCLINATION": 51.6443, "RA_OF_ASC_NODE": 242.0161,
    "ARG_OF_PERICENTER": 264.606, "MEAN_ANOMALY": 207.3845, "EPHEMERIS_TYPE": 0, "CLASSIFICATION_TYPE": "U",
    "NORAD_CAT_ID": 25544, "ELEMENT_SET_NO": 999, "REV_AT_EPOCH": 21279, "BSTAR": 2.5302e-05,
    "MEAN_MOTION_DOT": 9.5e-06, "MEAN_MOTION_DDOT": 0,
}  # fmt: skip
# 2020-02-14 06:00, as a Julian date in two parts.
BEGIN = 2458893.5, 0.25


def written(folder: Path, text: str | bytes, name: str = "v.tle") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def place(file: Path, number: int = 0) -> np.ndarray:
    """Returns the position [km] that SGP4 computes for a file's satellite at BEGIN."""
    one = read_elements(file)[number]
    code, found, _ = one.satellite.sgp4(*BEGIN)
    assert code == 0
    return np.array(found)


def kvn(fields: dict[str, Any], **head: str) -> str:
    rows = {"CCSDS_OMM_VERS": "2.0", "CREATION_DATE": "2020-02-14T05:00:00", "CENTER_NAME": "EARTH", **head, **fields}
    return "COMMENT none\n".join(
        f"{name} = {value}{' [deg]' if name == 'INCLINATION' else ''}\n" for name, value in rows.items()
    )


def xml(*several: dict[str, Any]) -> str:
    segments = "".join(
        "<segment><metadata>" + "".join(f"<{n}>{fields[n]}</{n}>" for n in ("OBJECT_NAME", "OBJECT_ID"))
        + "</metadata><data><meanElements>" + "".join(f"<{n}>{v}</{n}>" for n, v in fields.items() if "OBJECT" not in n)
        + "</meanElements></data></segment>"
        for fields in several
    )  # fmt: skip
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<ndm><omm id="CCSDS_OMM_VERS"><body>\n{segments}</body></omm></ndm>'
    )


@pytest.mark.parametrize(
    "content",
    [
        json.dumps([FIELDS]),
        json.dumps({name: str(value) for name, value in FIELDS.items()}),
        ",".join(FIELDS) + "\r\n" + ",".join(map(str, FIELDS.values())) + "\r\n\r\n",
        ",".join(FIELDS).lower() + "\n" + ",".join(map(str, FIELDS.values())) + "\n",
        kvn(FIELDS),
        "COMMENT from a page\n" + kvn(FIELDS),
        "".join(f"{name}={value}\r\n" for name, value in FIELDS.items()),
        xml(FIELDS),
        gzip.compress(xml(FIELDS).encode()),
        "\ufeff" + json.dumps([FIELDS]),
        json.dumps([{**FIELDS, "EPOCH": "2020-02-14T04:27:39.231072Z"}]),
        json.dumps([{**FIELDS, "EPOCH": "2020-045T04:27:39.231072"}]),
        json.dumps([{**FIELDS, "NORAD_CAT_ID": 799501000}]),
        json.dumps([{n: v for n, v in FIELDS.items() if n not in ("EPHEMERIS_TYPE", "CLASSIFICATION_TYPE", "OBJECT_ID", "ELEMENT_SET_NO", "REV_AT_EPOCH")}]),
    ],
    ids=["json", "text", "csv", "lower-case csv", "kvn", "comment", "no version", "xml", "gzip", "mark", "z", "ordinal", "nine digits", "least"],
)  # fmt: skip
def test_every_omm_format_equals_the_sgp4_reader(tmp_path: Path, content: str | bytes) -> None:
    satellite = Satrec()
    reference.initialize(satellite, {name: str(value) for name, value in FIELDS.items()})
    _, wanted, _ = satellite.sgp4(*BEGIN)
    assert place(written(tmp_path, content)).tolist() == pytest.approx(list(wanted), abs=1e-9)
    assert read_elements(tmp_path / "v.tle")[0].name == "ISS (ZARYA)"


def test_epoch_without_fraction_is_accepted(tmp_path: Path) -> None:
    (one,) = read_elements(written(tmp_path, json.dumps([{**FIELDS, "EPOCH": "2026-11-25T12:00:00"}])))
    assert one.epoch == datetime(2026, 11, 25, 12, tzinfo=UTC)
    assert one.satellite.jdsatepoch + one.satellite.jdsatepochF == pytest.approx(2461370.0, abs=1e-9)


@pytest.mark.parametrize(
    "content",
    [
        TLE,
        "1 22\n" + TLE,
        "72 22\r\n" + TLE.replace("\n", "\r\n") + "\r\n",
        TLE.replace("ISS (ZARYA)", "0 \N{LATIN CAPITAL LETTER E WITH ACUTE}TOILE").encode("latin-1"),
        TLE.replace("9990\n", "999\n").replace("212791", "21279"),
        TLE.replace("\n2 ", "\n\N{NO-BREAK SPACE}2 ").replace("U 98", "U\N{NO-BREAK SPACE}98"),
        TLE.replace("98067A   ", "98067A\N{EM SPACE}\N{THIN SPACE} "),
        gzip.compress(TLE.encode()),
        "# from a page\n\n" + TLE.partition("\n")[2],
    ],
    ids=[
        "three lines",
        "one orbit",
        "hypatia",
        "latin-1",
        "no checksum",
        "no-break spaces",
        "other spaces",
        "gzip",
        "two lines",
    ],
)
def test_every_tle_format_gives_the_same_satellite(tmp_path: Path, content: str | bytes) -> None:
    lines = TLE.split("\n")
    satellite = Satrec.twoline2rv(lines[1], lines[2])
    _, wanted, _ = satellite.sgp4(*BEGIN)
    assert place(written(tmp_path, content)).tolist() == pytest.approx(list(wanted), abs=1e-9)


def changed(old: str, new: str) -> str:
    """Returns the TLE with a field changed and valid checksums."""
    rows = TLE.replace(old, new).rstrip("\n").split("\n")
    sums = [str(sum(int(c) if c in "0123456789" else c == "-" for c in row[:68]) % 10) for row in rows]
    return "\n".join([rows[0], *(row[:68] + check for row, check in zip(rows[1:], sums[1:], strict=True))]) + "\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (changed("242.0161", "242\N{NO-BREAK SPACE}0161"), ":3: right ascension '242 0161' in columns 18 to 25; needs 0 to 360 degrees"),
        (changed("51.6443", "91.644x"), ":3: inclination ' 91.644x' in columns 9 to 16; needs 0 to 180 degrees"),
        (changed("51.6443 242", "51.6443 742"), ":3: right ascension '742.0161' in columns 18 to 25; needs 0 to 360 degrees"),
        (changed("20045.18587073", "20945.18587073"), ":2: day of the epoch '945.18587073' in columns 21 to 32; needs a day of the year"),
        (changed("15.49165514", "19.99165514"), ":3: an orbit that has decayed at the epoch, according to SGP4; needs elements of a satellite in orbit"),
        (changed("25302-4 0", "25302-4 4"), ":2: ephemeris type '4' in columns 63 to 63; needs elements for SGP4, 0 to 3"),
        (json.dumps([{**FIELDS, "EPHEMERIS_TYPE": 4}]), ": satellite 1: EPHEMERIS_TYPE '4'; accepts 0, 1, 2, 3"),
        (json.dumps([{n: v for n, v in FIELDS.items() if n != "BSTAR"}]), ": satellite 1 has no BSTAR; needs all fields of an OMM"),
        ("NAME 1\nNAME 2\n", ":2: 'NAME 2' after the name 'NAME 1'; needs line 1 of a TLE"),
        (TLE + "NAME\n", ":4: ends after 'NAME'; needs TLEs of two or three lines, or OMMs as CSV, XML, JSON or KVN"),
        (json.dumps([FIELDS, {**FIELDS, "EPOCH": "soon"}]), ": satellite 2: EPOCH 'soon'; needs a time, as in '2026-11-25T12:00:00.5'"),
        (json.dumps([{**FIELDS, "EPOCH": "2020-02-30T00:00:00"}]), ": satellite 1: EPOCH '2020-02-30T00:00:00'; needs a time, as in '2026-11-25T12:00:00.5'"),
        (json.dumps([{**FIELDS, "ECCENTRICITY": 1.5}]), ": satellite 1: ECCENTRICITY 1.5; needs a number of 0 to 1"),
        (json.dumps([{**FIELDS, "MEAN_MOTION": "1e99999999"}]), ": satellite 1: MEAN_MOTION '1e99999999'; needs a number of 0.001 to 20"),
        (json.dumps([{**FIELDS, "TIME_SYSTEM": "TAI"}]), ": satellite 1: TIME_SYSTEM 'TAI'; accepts UTC"),
        (json.dumps([{**FIELDS, "MEAN_ELEMENT_THEORY": "SGP4-XP"}]), ": satellite 1: MEAN_ELEMENT_THEORY 'SGP4-XP'; accepts SGP4, SGP/SGP4, SGP"),
        (json.dumps([7]), ": satellite 1: 7; needs an OMM"),
        ("[" * 50_000, ":1: not JSON, depth limit exceeded at character 1026; needs OMMs as CSV, XML, JSON or KVN"),
        (xml(FIELDS)[:-9], ":3: not XML, unclosed token; needs OMMs as CSV, XML, JSON or KVN"),
        ("<a>" * 50_000, ":1: 33 nested elements; needs OMMs as CSV, XML, JSON or KVN"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a/>', ":1: an entity declaration; needs OMMs as CSV, XML, JSON or KVN"),
        ("<html><body>No data</body></html>", ":1: an HTML page, as servers return instead of data; needs OMMs as CSV, XML, JSON or KVN"),
        (",".join(FIELDS) + "\n1,2\n", ":2: 2 cells; needs 17: OBJECT_NAME, OBJECT_ID, EPOCH, MEAN_MOTION, ECCENTRICITY, INCLINATION, RA_OF_ASC_NODE, ARG_OF_PERICENTER and 9 more"),
        (TLE.replace("98067A", "98067\N{CYRILLIC CAPITAL LETTER A}"), ":2: '\N{CYRILLIC CAPITAL LETTER A}' in column 15; needs letters and digits of ASCII"),
        (kvn(FIELDS) + kvn(FIELDS).partition("\n")[2], ":49: EPOCH repeated, after line 1; needs CCSDS_OMM_VERS before each satellite"),
        ("CCSDS_OMM_VERS = 2.0\nEPOCH\n", ":2: 'EPOCH'; needs KEYWORD = VALUE"),
    ],
)  # fmt: skip
def test_error_names_line_or_satellite_and_field(tmp_path: Path, content: str, said: str) -> None:
    file = written(tmp_path, content)
    with pytest.raises(ScenarioError) as caught:
        read_elements(file)
    assert str(caught.value) == f"{file}{said}"


def test_elements_of_other_years_cause_a_warning(tmp_path: Path) -> None:
    file = written(tmp_path, TLE)
    assert Constellation.of_file(file).doubts == ()
    (line,) = Constellation.of_file(file, epoch=datetime(2020, 3, 14, tzinfo=UTC)).doubts
    assert line.startswith(
        "1 of 1 satellites have elements that are more than 14 days from 2020-03-14, up to 29 days (ISS (ZARYA): 2020-02-14);"
    )


# A satellite in a low orbit with strong drag: according to SGP4, it decays within weeks.
FALLING = {**FIELDS, "OBJECT_NAME": "FALLING", "NORAD_CAT_ID": 90001, "MEAN_MOTION": 16.3, "BSTAR": 0.01}


def test_satellites_that_have_decayed_are_named(tmp_path: Path) -> None:
    file = written(tmp_path, json.dumps([FIELDS, FALLING]), "v.json")
    begin = datetime(2020, 2, 27, tzinfo=UTC)
    found = Constellation.of_file(file, epoch=begin)
    assert len(found.doubts) == 1
    assert found.doubts[0].startswith("1 of 2 satellites left out: ")
    assert found.doubts[0].endswith(", according to SGP4 (FALLING)")
    alone = written(tmp_path, json.dumps([FALLING]), "alone.json")
    with pytest.raises(ScenarioError, match=r"alone\.json: at 2020-02-27T00:00: 1 of 1 satellites left out: "):
        Constellation.of_file(alone, epoch=begin)
    assert math.isfinite(place(file)[0])


def test_the_command_warns_of_old_elements(tmp_path: Path) -> None:
    file = written(tmp_path, TLE)
    words = [
        "satellites",
        str(file),
        "51.6,0",
        "51,1",
        "--duration",
        "86400",
        "--step",
        "60",
        "--begin",
        "2026-02-14",
        "--elevation",
        "0",
    ]
    done = CliRunner().invoke(app, words)
    assert "satellites have elements that are more than 14 days" in done.output


def test_a_folder_of_hypatia_has_satellites_and_links_between_them(tmp_path: Path) -> None:
    second = TLE.replace("25544", "25545").replace("ISS (ZARYA)", "second")
    # The sum of the digits of 25545 is larger by one, so the checksum is wrong.
    lines = [
        line[:-1] + str((int(line[-1]) + 1) % 10) if line[:2] in ("1 ", "2 ") else line for line in second.splitlines()
    ]
    written(tmp_path, "1 2\n" + TLE + "\n".join(lines) + "\n", "tles.txt")
    assert len(Constellation.of_file(tmp_path).links) == 0
    written(tmp_path, "0 1\n", "isls.txt")
    found = Constellation.of_file(tmp_path)
    assert (found.names, found.links.tolist()) == (["ISS (ZARYA)", "second"], [[0, 1]])


@pytest.mark.parametrize(
    ("links", "said"),
    [
        (None, ": a folder without tles.txt; needs a file of TLEs or OMMs, or a folder of Hypatia"),
        ("0 2\n", "/isls.txt:1: '2'; needs the number of a satellite, 0 to 0"),
        ("\n0 x\n", "/isls.txt:2: 'x'; needs the number of a satellite, 0 to 0"),
    ],
)
def test_another_folder_is_rejected_in_one_line(tmp_path: Path, links: str | None, said: str) -> None:
    if links is not None:
        written(tmp_path, TLE, "tles.txt")
        written(tmp_path, links, "isls.txt")
    with pytest.raises(ScenarioError) as refused:
        Constellation.of_file(tmp_path)
    assert str(refused.value) == f"{tmp_path}{said}"
