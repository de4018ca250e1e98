"""Links over satellites from a file: delays compared with Skyfield, inter-satellite links with geometry; errors."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from sgp4.exporter import export_tle
from skyfield.api import EarthSatellite, load, wgs84

from commands import run
from longpipe import Scenario, simulate
from longpipe.errors import ScenarioError
from longpipe.inputs import notes
from longpipe.satellites import Constellation, Shell, round_trips, shell, station
from longpipe.satellites.links import CLEARANCE_M, links_within
from longpipe.satellites.stations import RADIUS_M

BEGIN: Final = datetime(2026, 11, 22, 12, tzinfo=UTC)
LIGHT_M_PER_S: Final = 299_792_458.0
LONDON: Final = "51.5,-0.1"
FRANKFURT: Final = "50.1,8.7"
NEW_YORK: Final = "40.7,-74.0"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a file with TLEs of the 720 satellites of a shell."""
    oneweb = Constellation.of_shell(shell("oneweb"), BEGIN)
    lines = [line for satellite in oneweb.satellites for line in export_tle(satellite)]
    file: Path = tmp_path_factory.mktemp("elements") / "oneweb.tle"
    file.write_text("\n".join(lines) + "\n")
    return file


def over(path: dict[str, Any], duration: str = "30 s") -> Scenario:
    fields: dict[str, Any] = {
        "framing": "ip",
        "duration": duration,
        "switch": {"buffer": "1 BDP"},
        "network": {"kind": "dumbbell", "sources": 1, "trunk_rate": "10 Mbit/s", "path": path},
    }
    return Scenario(defaults="1996", **fields)


def motion(scenario: Scenario) -> dict[str, Any]:
    found: dict[str, Any] = scenario.resolve()["links"][2]["motion"]
    return found


def latest(knots_ps: Any) -> dict[int, int]:  # noqa: ANN401 - a list of pairs
    """Returns the delay by time; if there are two at the same time, it is that of the new route."""
    return dict(np.array(knots_ps).tolist())


def test_a_bent_pipe_has_the_distances_of_skyfield(file: Path) -> None:
    path = {
        "elements": str(file), "from": LONDON, "to": FRANKFURT, "begin": "2026-11-22T12:01", "least_elevation": 40,
        "step": "10 s",
    }  # fmt: skip
    scenario = over(path, "60 s")
    found = latest(motion(scenario)["delay"]["knots_ps"])
    # UT1 equals UTC here.
    scale = load.timescale(builtin=True, delta_t=69.184)
    ends = [wgs84.latlon(*map(float, place.split(","))) for place in (LONDON, FRANKFURT)]
    lines = file.read_text().splitlines()
    satellites = [EarthSatellite(lines[i], lines[i + 1], ts=scale) for i in range(0, len(lines), 2)]
    for at_s in (0, 30, 60):
        instant = scale.from_datetime(BEGIN + timedelta(minutes=1, seconds=at_s))
        lengths = []
        for satellite in satellites:
            seen = [(satellite - end).at(instant).altaz() for end in ends]
            if all(altitude.degrees >= 40 for altitude, _, _ in seen):
                lengths.append(sum(distance.m for _, _, distance in seen))
        assert found[at_s * 10**12] / 1e12 == pytest.approx(min(lengths) / LIGHT_M_PER_S, abs=2e-9)
    assert simulate(scenario).efficiency > 0.5


def test_links_within_a_range_lead_across_an_ocean(file: Path) -> None:
    path = {"elements": str(file), "from": "London", "to": "New York", "least_elevation": 30, "step": "10 s"}
    with pytest.raises(
        ScenarioError, match=r"^network\.path: London - New York: no route over oneweb\.tle at any instant"
    ):
        over(path).resolve()
    found = latest(motion(over({**path, "link_range": 2000}))["delay"]["knots_ps"])
    constellation = Constellation.of_file(file, least_elevation_deg=30, link_range_m=2e6)
    stations = [station("London"), station("New York")]
    trips = round_trips(constellation, stations, duration_s=30, step_s=10)
    assert [found[at * 10**13] / 1e12 for at in range(3)] == pytest.approx(trips.rtt_s[:, 0] / 2, abs=0.6e-9)
    # The route cannot be shorter than the straight line through the Earth between the two cities.
    chord_m = np.linalg.norm(stations[0].earth_fixed_m - stations[1].earth_fixed_m)
    assert 1.1 * chord_m < LIGHT_M_PER_S * min(found.values()) / 1e12 < 1.5 * chord_m


def test_satellites_link_within_the_range_and_above_the_atmosphere() -> None:
    radius_m = RADIUS_M + 1_200_000.0
    # The longest line that passes 80 km above the Earth is a tangent of that sphere.
    longest_m = 2 * np.sqrt(radius_m**2 - (RADIUS_M + CLEARANCE_M) ** 2)
    for length_m, range_m, linked in (
        (longest_m - 10, 1e7, True),
        (longest_m + 10, 1e7, False),
        (2e6, 2e6 + 1, True),
        (2e6, 2e6 - 1, False),
    ):
        half = np.arcsin(length_m / 2 / radius_m)
        one = radius_m * np.array([np.cos(half), np.sin(half), 0])
        places = np.array([[np.nan] * 3, one, one * [1, -1, 1]])
        assert links_within(places, range_m).tolist() == ([[1, 2]] if linked else [])
    # Two satellites at the same place are visible to each other.
    assert links_within(np.array([one, one]), 1.0).tolist() == [[0, 1]]


def test_the_command_has_the_links_of_a_path(file: Path) -> None:
    limits = ("--elevation", "30", "--link-range", "2000")
    done = run("satellites", file, LONDON, NEW_YORK, *limits, "--duration", "20", "--step", "10")
    assert done.returncode == 0, done.stderr
    path = {"elements": str(file), "from": LONDON, "to": NEW_YORK, "least_elevation": 30, "link_range": 2000}
    found = latest(motion(over({**path, "step": "10 s"}))["delay"]["knots_ps"])
    shortest = 2 * min(found[0], found[10**13]) / 1e9
    assert f": {shortest:.2f} to " in done.stdout
    done = run("satellites", "oneweb", LONDON, NEW_YORK, "--link-range", "2000")
    assert done.returncode == 2
    assert done.stderr == "error: --link-range: needs a file of TLEs or OMMs; shells define their links\n"


def test_a_changed_file_is_read_again(file: Path, tmp_path: Path) -> None:
    lines = file.read_text().splitlines()
    own = tmp_path / "own.tle"
    path = {"elements": str(own), "from": LONDON, "to": FRANKFURT, "least_elevation": 30, "step": "10 s"}

    def delays(of: list[str]) -> Any:  # noqa: ANN401 - a list of pairs
        own.write_text("\n".join(of) + "\n")
        return motion(over(path, "10 s"))["delay"]["knots_ps"]

    # One of two halves with equally many satellites lacks those of the route.
    halves = [[line for i, line in enumerate(lines) if i % 4 // 2 == half] for half in range(2)]
    assert delays(halves[0]) != delays(halves[1])


def test_old_elements_are_a_warning_of_the_run(file: Path) -> None:
    path = {"elements": str(file), "from": LONDON, "to": FRANKFURT, "begin": "2027-03-01T00:00", "step": "10 s"}
    warnings = simulate(over(path, "10 s")).warnings
    [old] = [line for line in warnings if "more than 14 days" in line]
    assert old.startswith(f"{file}: 720 of 720 satellites")


def test_setting_satellite_causes_an_outage_until_the_end(tmp_path: Path) -> None:
    """A satellite at 550 km is above 25 degrees for a few minutes of each revolution."""
    own = Constellation.of_shell(Shell("own", 1, 1, 550, 50, 0), BEGIN)
    (tmp_path / "own.tle").write_text("\n".join(export_tle(own.satellites[0])) + "\n")
    subpoint = station("0,0")
    seen = round_trips(own, [subpoint, station("1,1")], duration_s=86_400, step_s=10).changes
    rise = next(time_s for time_s, _, route in seen[1:] if route)
    path = {"elements": str(tmp_path / "own.tle"), "from": "0,0", "to": "1,1", "step": "10 s"}
    scenario = over({**path, "begin": BEGIN + timedelta(seconds=rise - 60)}, "900 s")
    intervals = motion(scenario)["outages"]["intervals_ps"]
    assert intervals[0] == [0, 60 * 10**12]
    set_ps = intervals[1][0]
    warnings = simulate(scenario).warnings
    assert warnings[-1] == (
        f"switch1->switch2, switch2->switch1: an outage lasts from {set_ps / 10**12:g} s to the end of the run"
    )
    assert not any("held from then on" in line for line in warnings)


def test_start_in_another_time_zone_is_reported_in_utc(file: Path) -> None:
    path = {"elements": str(file), "from": LONDON, "to": FRANKFURT, "step": "10 s"}
    delays = [
        motion(over({**path, "begin": begin}, "10 s"))["delay"]["knots_ps"]
        for begin in ("2026-11-22T12:01", "2026-11-22T14:01+02:00")
    ]
    assert delays[0] == delays[1]
    found = notes.latest(str(file))
    assert found is not None
    assert "the run begins at 2026-11-22T12:01:00 UTC" in found.read


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"begin": "noon"}, "network.path.begin: 'noon'; needs a date and time, as in 2026-11-22T12:00"),
        ({"begin": "0001-01-01T00:00+01:00"}, "network.path.begin: '0001-01-01T00:00+01:00'; needs a date and time"),
        ({"least_elevation": 90}, "network.path.least_elevation: 90; needs"),
        ({"link_range": 0}, "network.path.link_range: 0; needs more than 0"),
        ({"step": "1 us"}, "network.path.step: 30000000 steps of 1 us; needs at most 1000000"),
        ({"elements": "missing.tle"}, "missing.tle: "),
        ({"from": "Nowhere"}, "station: 'Nowhere' is not a known city"),
    ],
)
def test_invalid_paths_are_rejected_in_one_line(file: Path, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        over({"elements": str(file), "from": LONDON, "to": FRANKFURT, **fields}).resolve()
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)
