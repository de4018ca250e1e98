"""Adaptive coding: its table, its steps compared with an automaton evaluated at every picosecond, and errors."""

from collections.abc import Mapping
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longpipe import Scenario, pictures, simulate
from longpipe.errors import ScenarioError
from longpipe.pictures.kinds.path import path_series
from longpipe.scenario.coding import Modcod, modcods, rates_of
from longpipe.scenario.variations import Coded

# EN 302 307 table 5a: payload bits of the BCH code in a normal frame of 64 800 bits, by code rate.
CODES = ("1/4", "1/3", "2/5", "1/2", "3/5", "2/3", "3/4", "4/5", "5/6", "8/9", "9/10")
BITS_OF_CODES = (16_008, 21_408, 25_728, 32_208, 38_688, 43_040, 48_408, 51_648, 53_840, 57_472, 58_192)
PAYLOAD = dict(zip(CODES, BITS_OF_CODES, strict=True))
BITS = {"QPSK": 2, "8PSK": 3, "16APSK": 4, "32APSK": 5}
# Es/N0 values [dB] of the table, as published elsewhere.
ANCHORS = {"QPSK 1/4": -2.35, "QPSK 3/4": 4.03, "8PSK 3/4": 7.91, "16APSK 3/4": 10.21, "32APSK 9/10": 16.05}


def over(path: Mapping[str, object], framing: str = "ip") -> Scenario:
    fields: dict[str, Any] = {
        "framing": framing,
        "duration": "20 s",
        "switch": {"buffer": "4000 cells" if framing == "aal5" else "300 packets"},
        "network": {
            "kind": "dumbbell",
            "sources": 1,
            "access_rate": "1 Gbit/s",
            "trunk_rate": "100 Mbit/s",
            "path": {"symbol_rate": "10 Mbaud", **path},
            "return_path": {"kind": "moving"},
        },
        "tcp": {"recovery": "sack", "mss": "1460 B", "receiver_window": "2 MB", "timer": "fine"},
    }
    return Scenario(defaults="1996", **fields)


def test_each_efficiency_is_that_of_a_normal_frame() -> None:
    lines = (resources.files("longpipe.scenario") / "modcods.csv").read_text(encoding="utf-8").splitlines()[1:]
    rows = [line.split(",") for line in lines]
    assert len(rows) == 28
    for name, _, efficiency in rows:
        modulation, rate = name.split()
        # A frame has a header of 90 symbols, a second header of 80 bits within the payload, and no pilots.
        symbols = 64_800 // BITS[modulation] + 90
        assert abs(Fraction(efficiency) - Fraction(PAYLOAD[rate] - 80, symbols)) < Fraction(6, 10**7), name
    assert {name: float(level) for name, level, _ in rows if name in ANCHORS} == ANCHORS


def test_dominated_modcods_are_never_selected() -> None:
    names = {one.name for one in modcods("dvb-s2")}
    assert len(names) == 22
    assert names.isdisjoint({"8PSK 5/6", "8PSK 8/9", "8PSK 9/10", "16APSK 8/9", "16APSK 9/10", "QPSK 8/9"})


def by_picosecond(knots: list[tuple[int, Fraction]], table: list[Modcod], up: Fraction, *, linear: bool) -> list[str]:
    """Returns the steps, computed at every picosecond: down if necessary, up if Es/N0 exceeds the threshold plus
    hysteresis.
    """
    levels = []
    for at in range(knots[-1][0] + 1):
        last = max((i for i, knot in enumerate(knots) if knot[0] <= at), default=None)
        if last is None:
            levels.append(knots[0][1])
            continue
        since, begin = knots[last]
        if linear and last + 1 < len(knots):
            after, end = knots[last + 1]
            levels.append(begin + (end - begin) * Fraction(at - since, after - since))
        else:
            levels.append(begin)

    def best(level: Fraction) -> Modcod | None:
        able = [one for one in table if Fraction(one.least, 10**9) <= level]
        return max(able, key=lambda one: one.efficiency, default=None)

    now, names = best(levels[0]), []
    for level in levels:
        if now is not None and level < Fraction(now.least, 10**9):
            now = best(level)
        faster = best(level - up)
        if faster is not None and (now is None or faster.efficiency > now.efficiency):
            now = faster
        names.append("none" if now is None else now.name)
    return names


LEVELS = st.one_of(st.integers(-600, 2000), st.sampled_from([one.least // 10**7 for one in modcods("dvb-s2")])).map(
    lambda hundredths: hundredths / 100
)


@given(
    st.lists(st.tuples(st.integers(0, 90), LEVELS), min_size=1, max_size=6, unique_by=lambda knot: knot[0]),
    st.integers(0, 200),
    st.booleans(),
)
def test_steps_equal_those_of_a_reference_automaton(
    drawn: list[tuple[int, float]], hysteresis: int, linear: bool
) -> None:
    knots = sorted([*drawn, (100, 3.0)])
    path = Coded(
        symbol_rate="10 Mbaud",
        esn0=tuple((f"{at} ps", level) for at, level in knots),
        hysteresis=hysteresis / 100,
        between="linear" if linear else "hold",
    )
    exact = [(at, Fraction(str(level))) for at, level in knots]
    expected = by_picosecond(exact, modcods("dvb-s2"), Fraction(hysteresis, 100), linear=linear)
    steps = rates_of("path", path)
    assert [step[0] for step in steps] == sorted({step[0] for step in steps})
    found = [[name for at, _, name in steps if at <= instant][-1] for instant in range(101)]
    assert found == expected


def test_a_fade_is_a_rate_in_steps_for_packets_and_for_cells() -> None:
    path = {"esn0": [["0 s", 12.0], ["8 s", 12.0], ["10 s", 1.0], ["12 s", 12.0]], "margin": 0.5}
    packets, cells = over(path), over(path, "aal5")
    motion = packets.resolve()["links"][2]["motion"]
    assert motion == cells.resolve()["links"][2]["motion"]
    steps = motion["service"]["steps"]
    # 16APSK 4/5 needs 11.03 dB plus 0.5 dB, and carries 3.165623 bits per symbol.
    assert steps[0] == [0, 31_656_230]
    assert min(rate for _, rate in steps) == int(10**7 * Fraction("0.789412"))
    # From 12 dB, Es/N0 falls linearly by 5.5 dB per second. The step down is at the first picosecond below the
    # threshold, which is 0.97 dB lower minus the margin of 0.5 dB.
    assert steps[1][0] == 8 * 10**12 + (Fraction("0.47") / Fraction("5.5") * 10**12).__floor__() + 1
    for scenario in (packets, cells):
        result = simulate(scenario, seed=1)
        assert 0.5 < result.efficiency < 1.0
        column = "packets_lost_outage" if scenario.framing == "ip" else "cells_lost_outage"
        assert result.ports[column].sum() == 0


def test_outage_below_lowest_threshold_ends_above_hysteresis() -> None:
    knots = (("0 s", 5.0), ("2 s", -3.0), ("4 s", -2.2), ("6 s", -2.05))
    steps = rates_of("path", Coded(symbol_rate="1 Mbaud", esn0=knots, between="hold"))
    assert [(at // 10**12, name) for at, _, name in steps] == [(0, "QPSK 4/5"), (2, "none"), (6, "QPSK 1/4")]
    assert [rate for _, rate, _ in steps] == [1_587_196, 0, 490_243]


def test_series_and_tables_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "fade.csv").write_text("time,esn0\n0,9\n5,3 dB\n10 s,9\n", encoding="utf-8")
    (tmp_path / "mine.csv").write_text("modcod,esn0,efficiency\nfast,8,2\nslow,0.5,0.25\n", encoding="utf-8")
    path = {"file": str(tmp_path / "fade.csv"), "modcods": str(tmp_path / "mine.csv"), "hysteresis": 1.0}
    steps = over(path).resolve()["links"][2]["motion"]["service"]["steps"]
    assert [rate for _, rate in steps] == [20_000_000, 2_500_000, 20_000_000]
    assert steps[2][0] == 10 * 10**12


@pytest.mark.parametrize(
    ("fade", "table", "said"),
    [
        ("time,esn0\n0,9\n0,8\n", None, "fade.csv:3: time 0 ps after 0 ps; needs increasing times"),
        ("time,esn0\n0,x\n", None, "fade.csv:2: esn0 'x'; needs a number"),
        ("time,esn0\n0,1e3\n", None, "fade.csv:2: esn0 1e3; needs -100 to 100 dB"),
        ("time,snr\n0,9\n", None, "fade.csv:1: column 'snr'; accepts time, esn0"),
        ("time,esn0\n0,9,9\n", None, "fade.csv:2: 3 cells; needs 2: time, esn0"),
        ("time,esn0\n", None, "fade.csv: 0 rows; needs 1 to 1000000"),
        ("time,esn0\n0,-9\n", None, "network.path.esn0: at most -9 dB; needs the lowest threshold, QPSK 1/4"),
        (None, None, "fade.csv: cannot be read, no such file or directory; needs a CSV file with time and esn0"),
        ("time,esn0\n0,9\n", "modcod,esn0,efficiency\na,1,0\n", "mine.csv:2: efficiency 0; needs up to 20 bits"),
        ("time,esn0\n0,9\n", "modcod,esn0,efficiency\n", "mine.csv: 0 rows; needs 1 to 1000"),
        ("time,esn0\n0,9\n", "modcod,esn0,efficiency\n,,\n", "mine.csv: 0 rows; needs 1 to 1000"),
        ("time,esn0\n,\n ,\n;,", None, "fade.csv:4: time ';'; needs a number of seconds"),
        ("time,esn0\n,\n ,\nx", None, "fade.csv:4: 1 cells; needs 2: time, esn0"),
        ("time,esn0\n0,9\n", "modcod,esn0,efficiency\n,,\n,1,\n", "mine.csv:3: efficiency ; needs up to 20 bits"),
        (" , \n,,\n", None, "fade.csv: no column headers; needs a CSV file with time and esn0"),
        ("time,esn0\n0,9\n", "modcod,esn0,efficiency\n" + "a,1,1\n" * 1001, "mine.csv: 1001 rows; needs 1 to 1000"),
        (
            "time,esn0\n0,9\n",
            "modcod,esn0\na,1\n",
            "mine.csv:1: modcod, esn0; needs a header with modcod and esn0 and efficiency",
        ),
    ],
)
def test_error_names_file_and_line(tmp_path: Path, fade: str | None, table: str | None, said: str) -> None:
    path = {"file": str(tmp_path / "fade.csv")}
    if fade is not None:
        (tmp_path / "fade.csv").write_text(fade, encoding="utf-8")
    if table is not None:
        (tmp_path / "mine.csv").write_text(table, encoding="utf-8")
        path["modcods"] = str(tmp_path / "mine.csv")
    with pytest.raises(ScenarioError) as error:
        over(path).resolve()
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_exactly_one_of_knots_and_file_is_required() -> None:
    both: Mapping[str, object] = {"file": "a.csv", "esn0": [["0 s", 3.0]]}
    for path, said in (({}, "none, and no file"), (both, "and a file")):
        with pytest.raises(ScenarioError, match=rf"^network.path.esn0: {said}; needs one of them$"):
            over(path).resolve()


def test_a_picture_of_a_coded_link_has_its_es_n0(tmp_path: Path) -> None:
    scenario = over({"esn0": [["0 s", 12.0], ["10 s", 2.0], ["20 s", 12.0]]})
    table = path_series(scenario)["switch1->switch2"]
    assert table["esn0_db"].iloc[[0, -1]].tolist() == [12.0, 12.0]
    assert abs(table.set_index("time_s")["esn0_db"].loc[10.0] - 2.0) < 1e-9
    figure = pictures.path(scenario)
    assert [axes.get_ylabel() for axes in figure.axes][:3] == ["Es/N0 [dB]", "rate [Mbit/s]", "delay [ms]"]
    figure.savefig(tmp_path / "path.svg")
