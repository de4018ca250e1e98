"""Positions, routes and round trips over constellations, compared with other programs."""

import csv
import gzip
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sgp4.exporter import export_tle
from skyfield.api import EarthSatellite, load
from skyfield.framelib import itrs

from longpipe.errors import ScenarioError
from longpipe.pictures.satellites import round_trips_over_time
from longpipe.satellites import (
    SHELLS,
    Constellation,
    RoundTrips,
    Shell,
    Station,
    cities,
    earth_fixed_m,
    read_elements,
    round_trips,
    shell,
    station,
)
from longpipe.satellites.links import sighted
from longpipe.satellites.round_trips import instants
from longpipe.satellites.routes import Router
from longpipe.satellites.shells import EARTH_RADIUS_M, parse_shell
from longpipe.satellites.stations import RADIUS_M
from longpipe.satellites.visibility import Sight
from thorough import examples

DATA = Path(__file__).parent / "data" / "satellites"
# Maximum distance [m] from the limit of visibility at which programs may disagree.
AT_THE_LIMIT_M = 30.0
# Number of 100 ms steps from one compared instant to the next.
ONE_IN = examples(5, 1)
# The element set of AIAA 2006-6753, which other programs also use for tests.
VANGUARD = (
    "VANGUARD 1\n"
    "1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753\n"
    "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667\n"
)


@pytest.fixture(scope="module")
def kuiper() -> RoundTrips:
    stations = [station(name) for name in ("Manila", "Saint Petersburg", "Dalian")]
    return round_trips(Constellation.of_shell(shell("kuiper-630")), stations, duration_s=200, step_s=0.1 * ONE_IN)


@pytest.fixture(scope="module")
def at_the_limit(kuiper: RoundTrips) -> np.ndarray:
    """Returns, for each time, whether any satellite is at the limit of a station's visibility."""
    places = np.array([one.earth_fixed_m for one in kuiper.stations])
    reach = kuiper.constellation.max_ground_link_m
    assert reach is not None
    fixed, _ = earth_fixed_m(kuiper.constellation, kuiper.times_s)
    near = [np.abs(np.linalg.norm(fixed - place, axis=2) - reach).min(axis=1) < AT_THE_LIMIT_M for place in places]
    found: np.ndarray = np.any(near, axis=0)
    return found


def test_round_trips_are_those_of_hypatia_within_a_microsecond(kuiper: RoundTrips, at_the_limit: np.ndarray) -> None:
    with gzip.open(DATA / "kuiper_630_rtt_ns.csv.gz", "rt") as file:
        published = pd.read_csv(file)[::ONE_IN]
    assert (published["time_ns"].to_numpy() == np.round(1e9 * kuiper.times_s)).all()
    judged = 0
    for pair in range(3):
        theirs = published[kuiper.label(pair)].fillna(np.inf).to_numpy()
        ours = 1e9 * kuiper.rtt_s[:, pair]
        same = (theirs == ours) | (np.abs(np.where(np.isfinite(ours), ours, 0) - theirs) < 1000)
        assert (same | at_the_limit).all()
        judged += int(same.sum())
    assert judged >= 3 * len(published) - 4
    manila_dalian = published[kuiper.label(1)].to_numpy()
    assert np.abs(1e9 * kuiper.rtt_s[:, 1] - manila_dalian).max() < 1000


def test_routes_equal_those_of_hypatia_except_at_the_maximum_range(
    kuiper: RoundTrips, at_the_limit: np.ndarray
) -> None:
    with (DATA / "kuiper_630_paths.csv").open() as file:
        rows = list(csv.DictReader(file))
    for pair in range(3):
        own = [row for row in rows if row["pair"] == kuiper.label(pair)]
        since = [int(row["from_time_ns"]) / 1e9 for row in own]
        for index, time in enumerate(kuiper.times_s):
            theirs = own[np.searchsorted(since, time + 1e-6, side="right") - 1]["satellites"]
            ours = "-".join(map(str, kuiper.route_at(pair, float(time))))
            assert ours == theirs or at_the_limit[index], (kuiper.label(pair), time)


def test_delay_from_paris_to_luanda_is_that_of_hypatia() -> None:
    starlink = Constellation.of_shell(shell("starlink-550"))
    stations = [station("Paris"), station("Luanda")]
    for time_s, round_trip_ms in ((46.8, 117.26), (139.9, 85.53)):
        found = round_trips(starlink, stations, duration_s=140, step_s=time_s)
        assert found.times_s[1] == time_s
        assert 1e3 * found.rtt_s[1, 0] == pytest.approx(round_trip_ms, abs=0.01)


def test_positions_are_those_of_skyfield_within_a_centimetre() -> None:
    kuiper = Constellation.of_shell(shell("kuiper-630"))
    # UT1 equals UTC here, which is 64.184 s before TT in 2000.
    scale = load.timescale(builtin=True, delta_t=64.184)
    random = np.random.default_rng(1)
    times_s = np.sort(random.uniform(0, 3 * 86_400, 20)).round(3)
    fixed, errors = earth_fixed_m(kuiper, times_s)
    assert not errors.any()
    instants = scale.utc(2000, 1, 1, 0, 0, times_s)
    worst = 0.0
    for number in random.choice(len(kuiper.names), 50, replace=False):
        theirs = EarthSatellite.from_satrec(kuiper.satellites[number], scale).at(instants).frame_xyz(itrs).m
        worst = max(worst, float(np.abs(fixed[:, number].T - theirs).max()))
    assert worst < 0.01


def test_ground_stations_do_not_forward() -> None:
    # Without inter-satellite links, only satellites visible to both stations carry traffic.
    oneweb = Constellation.of_shell(shell("oneweb"))
    near, middle, far = station("London"), station("Frankfurt"), station("Istanbul")
    found = round_trips(oneweb, [near, middle, far], [(0, 1), (1, 0)], duration_s=10, step_s=1)
    assert set(found.hops.ravel()) == {2}
    assert found.rtt_s[:, 0] == pytest.approx(found.rtt_s[:, 1])
    with pytest.raises(ScenarioError, match=r"^London - Istanbul: no route over oneweb at any instant"):
        round_trips(oneweb, [near, middle, far], [(0, 2)], duration_s=10, step_s=1)


@given(per_orbit=st.integers(2, 40), altitude_km=st.floats(300, 3000), at_s=st.floats(0, 6000))
@settings(max_examples=30, deadline=None)
def test_links_of_a_ring_stay_above_the_atmosphere(per_orbit: int, altitude_km: float, at_s: float) -> None:
    """The chord between neighbors on a circle of radius r has the distance r cos(180 degrees / n) from its center."""
    lowest_km = (EARTH_RADIUS_M / 1e3 + altitude_km) * np.cos(np.pi / per_orbit) - RADIUS_M / 1e3
    # SGP4's radius differs from that of Kepler's third law by the Earth's oblateness.
    assume(abs(lowest_km - 80) > 20)
    ring = Constellation.of_shell(Shell("ring", 1, per_orbit, altitude_km, 0, 0))
    fixed, _ = earth_fixed_m(ring, np.array([at_s]))
    clear = lowest_km > 80
    assert sighted(fixed[0], ring.links).all() == clear
    assert bool(ring.doubts) == (not clear)
    # The stations are below two neighbors, so the link between these is the only possible route.
    below = fixed[0, :2] / np.linalg.norm(fixed[0, :2], axis=1)[:, None]
    places = [
        Station(f"{i}", 0, float(np.degrees(np.arctan2(y, x))), least_elevation_deg=89)
        for i, (x, y, _) in enumerate(below)
    ]
    lengths, _ = Router(ring, places).shortest(fixed[0], np.array([0]))
    assert np.isfinite(lengths[0, 1]) == clear


@pytest.mark.parametrize("source", ["shell", "folder"])
def test_links_through_the_earth_are_left_out_with_a_warning(source: str, tmp_path: Path) -> None:
    """Two satellites of one orbit are on opposite sides of the Earth, and six at 550 km are linked 371 km below it."""
    for per_orbit in (2, 6):
        own = Constellation.of_shell(Shell("own", 1, per_orbit, 550, 0, 0))
        if source == "folder":
            lines = [line for satellite in own.satellites for line in export_tle(satellite)]
            (tmp_path / "tles.txt").write_text("\n".join(lines) + "\n")
            (tmp_path / "isls.txt").write_text("".join(f"{a} {b}\n" for a, b in own.links))
            own = Constellation.of_file(str(tmp_path))
        count = len(own.links)
        warning = (
            "links between satellites that pass less than 80 km above the Earth's surface at the start: "
            f"{count} of {count}; a link is left out while it does"
        )
        assert warning in own.doubts
        places = [Station("a", 0, 0, least_elevation_deg=0), Station("b", 0, 360 / per_orbit, least_elevation_deg=0)]
        with pytest.raises(ScenarioError, match=r"^a - b: no route .* at any instant; .*less than 80 km above"):
            round_trips(own, places, duration_s=7000, step_s=50)


def test_stations_see_no_satellite_below_the_horizon() -> None:
    """Hypatia's range of Telesat, 5845 km over a flat Earth, reaches 15 degrees below the horizon of a sphere."""
    telesat = Constellation.of_shell(shell("telesat-1015"))
    fixed, _ = earth_fixed_m(telesat, np.array([0.0]))
    place = station("Zurich")
    away = fixed[0] - place.earth_fixed_m
    distances = np.linalg.norm(away, axis=1)
    seen = np.isfinite(Sight.of(telesat, [place]).distances_m(fixed[0])[0])
    assert seen.any()
    assert list(seen) == list((distances <= 5.85e6) & (away @ place.up >= 0))


def test_a_time_without_a_zone_is_in_utc() -> None:
    naive, aware = (
        Constellation.of_shell(shell("iridium"), datetime(2026, 11, 22, 12, tzinfo=zone)) for zone in (None, UTC)
    )
    assert naive.epoch == aware.epoch


def test_repeated_satellites_and_elements_of_years_cause_warnings(tmp_path: Path) -> None:
    own = Constellation.of_shell(Shell("own", 1, 2, 550, 50, 0), datetime(2020, 1, 1, tzinfo=UTC))
    lines = [line for i in (0, 1, 0) for line in export_tle(own.satellites[i])]
    (tmp_path / "own.tle").write_text("\n".join(lines) + "\n")
    doubts = Constellation.of_file(tmp_path / "own.tle", epoch=datetime(2029, 1, 1)).doubts
    assert doubts[1] == (
        "satellites that occur more than once: 1 (00001: 2 times); each occurrence counts as a satellite of its own"
    )
    assert "up to 3288 days" in doubts[0]
    assert "; a satellite may be anywhere along its orbit; needs elements of that time" in doubts[0]
    doubts = Constellation.of_file(tmp_path / "own.tle", epoch=datetime(2020, 2, 1)).doubts
    assert "; positions may be off by tens of km or more; needs elements of that time" in doubts[0]


def test_elevation_of_a_station_takes_precedence_over_the_reach() -> None:
    kuiper = Constellation.of_shell(shell("kuiper-630"))
    high = [Station(one.name, one.latitude_deg, one.longitude_deg, 0, 35) for one in map(station, ("Rome", "Athens"))]
    found = round_trips(kuiper, high, duration_s=20, step_s=1)
    fixed, _ = earth_fixed_m(kuiper, found.times_s)
    for index, time in enumerate(found.times_s):
        route = found.route_at(0, float(time))
        for one, satellite in zip(high, (route[0], route[-1]), strict=True):
            away = fixed[index, satellite] - one.earth_fixed_m
            assert away @ one.up >= np.sin(np.radians(35)) * np.linalg.norm(away)


def test_grid_has_two_links_per_satellite_except_at_the_seam() -> None:
    assert len(SHELLS["kuiper-630"].links()) == 2 * 34 * 34
    assert len(SHELLS["starlink-550"].links()) == 2 * 72 * 22
    assert len(SHELLS["iridium"].links()) == 66 + 5 * 11
    assert SHELLS["oneweb"].links() == []
    # In Walker's 12:12/3/1, the neighbor after a full circle around the Earth has the next higher number.
    links = Shell("own", 3, 4, 600, 50, 1).links()
    assert (1, 8) in links
    assert (0, 8) not in links
    assert all(a < b for a, b in links)


def test_a_walker_shell_is_evenly_phased() -> None:
    own = Shell("own", 3, 4, 600, 50, 1)
    assert own.anomaly_deg(1, 0) - own.anomaly_deg(0, 0) == 30
    assert own.anomaly_deg(1, 1) - own.anomaly_deg(1, 0) == 90
    assert parse_shell("3x4:600:50:1").links() == own.links()
    # By Kepler's third law, the period at 550 km is 95.6 minutes, as published.
    assert 1440 / Shell("own", 3, 4, 550, 50).mean_motion == pytest.approx(95.6, abs=0.1)


def test_elements_are_read_from_tle_and_omm(tmp_path: Path) -> None:
    (tmp_path / "v.tle").write_text(VANGUARD)
    (three,) = read_elements(tmp_path / "v.tle")
    (tmp_path / "v.tle").write_text(VANGUARD.partition("\n")[2])
    (two,) = read_elements(tmp_path / "v.tle")
    assert (three.name, two.name) == ("VANGUARD 1", "00005")
    fields = {
        "OBJECT_NAME": "VANGUARD 1", "OBJECT_ID": "1958-002B", "EPOCH": "2000-06-27T18:50:19.733568",
        "MEAN_MOTION": "10.82419157", "ECCENTRICITY": "0.1859667", "INCLINATION": "34.2682",
        "RA_OF_ASC_NODE": "348.7242", "ARG_OF_PERICENTER": "331.7664", "MEAN_ANOMALY": "19.3264",
        "EPHEMERIS_TYPE": "0", "CLASSIFICATION_TYPE": "U", "NORAD_CAT_ID": "5", "ELEMENT_SET_NO": "475",
        "REV_AT_EPOCH": "41366", "BSTAR": "0.28098e-4", "MEAN_MOTION_DOT": "0.00000023", "MEAN_MOTION_DDOT": "0",
    }  # fmt: skip
    (tmp_path / "v.csv").write_text(",".join(fields) + "\n" + ",".join(fields.values()) + "\n")
    pd.DataFrame([fields]).to_json(tmp_path / "v.json", orient="records")
    begin = datetime(2000, 6, 28, tzinfo=UTC)
    (tmp_path / "v.tle").write_text(VANGUARD)
    places = [
        earth_fixed_m(Constellation.of_file(tmp_path / name, epoch=begin), np.array([0.0, 60.0]))[0]
        for name in ("v.tle", "v.csv", "v.json")
    ]
    # The epoch of a TLE is given to eight decimal places of a day.
    assert np.abs(places[0] - places[1]).max() < 10
    assert (places[1] == places[2]).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (VANGUARD.replace("4753\n", "4754\n"), "v.tle:2: checksum '4'; needs 3, the sum of the line"),
        (VANGUARD.replace("2 00005", "2 00006"), "v.tle:3: checksum '7'; needs 8, the sum of the line"),
        (VANGUARD[: VANGUARD.index("2 00005")], "v.tle:2: ends after the first line of a satellite; needs its second"),
        (VANGUARD.replace("2 00005  34", "2 0005  34"), "v.tle:3: catalog number '0005 ' in columns 3 to 7; needs five digits"),
        ("\n", "v.tle: no satellites; needs TLEs of two or three lines, or OMMs as CSV, XML, JSON or KVN"),
        ("[{}]", "v.tle: satellite 1 has no EPOCH; needs all fields of an OMM"),
        ("[", "v.tle:1: not JSON, unexpected end of data at character 2; needs OMMs as CSV, XML, JSON or KVN"),
    ],
)  # fmt: skip
def test_elements_that_are_wrong_are_named_by_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "v.tle").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        read_elements(tmp_path / "v.tle")
    assert str(caught.value).removeprefix(f"{tmp_path}/") == said


def test_unknown_city_suggests_the_nearest_names() -> None:
    assert len(cities()) > 400
    assert station("sao paulo") == station("São Paulo") == cities()["Sao Paulo"]
    assert station("Home=47.37, 8.54") == Station("Home", 47.37, 8.54)
    with pytest.raises(ScenarioError, match=r"^station: 'Londn' is not a known city; nearest are London, "):
        station("Londn")
    with pytest.raises(ScenarioError, match="latitude of 91 degrees; needs -90 to 90"):
        station("91,0")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("starlink", "shell: 'starlink'; did you mean 'starlink-550'? accepts starlink-550, kuiper-630, telesat-1015, oneweb, iridium, or ORBITSxSATELLITES:KM:DEGREES:PHASING"),
        ("72x22:550:53", "shell: '72x22:550:53'; needs ORBITSxSATELLITES:ALTITUDE_KM:INCLINATION_DEG:PHASING, as in 72x22:550:53:half"),
        ("0x22:550:53:half", "shell: 0 orbits; needs 1 to 500"),
        ("3x4:100:53:half", "shell: altitude of 100 km; needs 160 to 40000 km"),
        ("3x4:600:53:7", "shell: phasing 7; needs half, or 0 to 2"),
    ],
)  # fmt: skip
def test_invalid_shells_are_rejected(text: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_shell(text)
    assert str(caught.value) == said


def test_instants_are_exact_tenths() -> None:
    assert list(instants(0.5, 0.1)) == [0.0, 0.1, 0.2, 0.3, 0.4]
    with pytest.raises(ScenarioError, match="needs both above 0"):
        instants(1, 0)


def test_tables_have_a_row_for_each_instant_and_change(kuiper: RoundTrips) -> None:
    table = kuiper.table()
    assert list(table) == ["time_s", "from", "to", "rtt_ns", "links"]
    assert len(table) == 6000 // ONE_IN
    assert list(table["to"][:3]) == ["Saint Petersburg", "Dalian", "Dalian"]
    assert table["rtt_ns"].isna().sum() == (~np.isfinite(kuiper.rtt_s)).sum() == (table["links"] == 0).sum()
    routes = kuiper.routes()
    assert routes[routes["from"] == "Manila"].iloc[0]["satellites"].startswith("184-")


def test_a_change_of_the_route_is_drawn_as_a_jump(kuiper: RoundTrips) -> None:
    above = round_trips_over_time(kuiper).axes[0]
    assert any(at > 0 for at, *_ in kuiper.changes)
    for pair, line in enumerate(above.lines):
        times, rtt_ms = np.array(line.get_data())
        changes = [at for at, own, _ in kuiper.changes if own == pair and at > 0]
        at = np.flatnonzero(np.diff(times) == 0)
        assert times[at].tolist() == changes
        assert np.array_equal(rtt_ms[at], rtt_ms[at - 1], equal_nan=True)
        known_s = np.where(np.isfinite(kuiper.rtt_s[:, pair]), kuiper.rtt_s[:, pair], np.nan)
        assert np.array_equal(np.delete(rtt_ms, at), 1e3 * known_s, equal_nan=True)


def test_links_of_a_route_are_counted_along_whole_numbers(kuiper: RoundTrips) -> None:
    same = replace(kuiper, hops=np.full_like(kuiper.hops, 5))
    ticks = round_trips_over_time(same).axes[1].get_yticks()
    assert (ticks == np.round(ticks)).all()
