"""Animations of routes: the page and CZML contain the positions and routes that `longpipe satellites` computes."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from longpipe.cli import app
from longpipe.errors import ScenarioError
from longpipe.pictures.animation import MAX_FRAMES, animation_czml, animation_page
from longpipe.satellites import Constellation, RoundTrips, Station, round_trips, shell, station
from longpipe.satellites.positions import earth_fixed_m


@pytest.fixture(scope="module")
def computed() -> RoundTrips:
    kuiper = Constellation.of_shell(shell("kuiper-630"))
    places = [station("Manila"), station("Dalian"), Station("</script>", 48.86, 2.35)]
    return round_trips(kuiper, places, duration_s=100, step_s=0.25, begin_s=30)


def test_page_contains_positions_routes_and_rtts(computed: RoundTrips) -> None:
    page = animation_page(computed)
    # The name of the station does not end the script.
    assert page.count("</script>") == 1
    assert not re.search(r"""(src|href)=|https?://""", page)
    found = re.search(r"^const data = (.*);$", page, re.MULTILINE)
    assert found is not None
    data = json.loads(found[1])
    assert len(data["times_s"]) == MAX_FRAMES
    units = np.frombuffer(base64.b64decode(data["positions"]), "<i2").reshape(MAX_FRAMES, -1, 2)
    fixed = earth_fixed_m(computed.constellation, 30 + np.array(data["times_s"]))[0]
    longitudes = np.degrees(np.arctan2(fixed[..., 1], fixed[..., 0]))
    assert np.abs(units[..., 0] / data["units"] - longitudes).max() <= 0.5 / 180 + 1e-9
    assert data["pairs"][0]["label"] == "Manila - Dalian"
    assert data["pairs"][0]["routes"][0] == [0, list(computed.route_at(0, 0))]
    row = int(np.searchsorted(computed.times_s, data["times_s"][150], side="right")) - 1
    assert data["pairs"][0]["rtt_ms"][150] == pytest.approx(1e3 * computed.rtt_s[row, 0], abs=1e-3)


def test_czml_has_positions_and_a_line_per_route(computed: RoundTrips) -> None:
    packets = {packet["id"]: packet for packet in json.loads(animation_czml(computed))}
    assert next(iter(packets)) == "document"
    assert packets["document"]["clock"]["currentTime"] == "2000-01-01T00:00:30.000000Z"
    samples = np.array(packets["sat-184"]["position"]["cartesian"]).reshape(-1, 4)
    fixed = earth_fixed_m(computed.constellation, 30 + samples[:, 0])[0][:, 184]
    assert np.abs(samples[:, 1:] - fixed).max() <= 0.05 + 1e-9
    own = [route for _, pair, route in computed.changes if pair == 0]
    lines = [packets[f"route-0-{number}"] for number in range(len(own))]
    for line, route in zip(lines, own, strict=True):
        references = line["polyline"]["positions"]["references"]
        assert references == [
            f"{name}#position" for name in ("station-0", *(f"sat-{one}" for one in route), "station-1")
        ]
        assert all(reference.removesuffix("#position") in packets for reference in references)
    ends = [line["availability"].split("/") for line in lines]
    assert [end for _, end in ends[:-1]] == [begin for begin, _ in ends[1:]]


def test_command_writes_both_formats_and_refuses_others(tmp_path: Path) -> None:
    arguments = ["satellites", "kuiper-630", "Manila", "Dalian", "--duration", "2 s", "--step", "1 s", "--animation"]
    for name in ("route.html", "route.czml"):
        ran = CliRunner().invoke(app, [*arguments, str(tmp_path / name)])
        assert ran.exit_code == 0, ran.output
        assert f"Animation: {tmp_path / name}" in ran.output
        assert (tmp_path / name).stat().st_size > 10_000
    refused = CliRunner().invoke(app, [*arguments, str(tmp_path / "route.gif")])
    assert isinstance(refused.exception, ScenarioError | SystemExit)
