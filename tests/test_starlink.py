"""The path of kind starlink: its draws, its resolved form, its queue, and its errors."""

import json
import time
from bisect import bisect_right
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest

from longpipe import Scenario, simulate
from longpipe.cautions.cautions import cautions
from longpipe.errors import ScenarioError
from longpipe.live.utc import at_present, wait_until
from longpipe.scenario.starlink import Starlink
from longpipe.scenario.starlink_draws import (
    PROBABILITIES,
    PS,
    Drawn,
    at_hour,
    between_quantiles,
    exponential,
    parameter_rows,
    parameter_sets,
)  # fmt: skip
from longpipe.scenario.summary import summary_lines
from longpipe.units import RATE, TIME
from longpipe_evidence.validate import starlink as judged
from longpipe_evidence.validate.starlink_distances import distances

MEASURED = Path(__file__).parent / "data" / "starlink" / "measured.csv"
MS = PS // 1000
SHORT = judged.Effort(batches=2, tests=40, runs=2)


def drawn(duration: str = "120 s", **fields: object) -> Drawn:
    return Drawn("path", Starlink.model_validate(fields), TIME.parse(duration))


def over(**path: object) -> Scenario:
    return Scenario.example("starlink").with_(**{"network.path": {"kind": "starlink", **path}, "duration": "30 s"})


def links(scenario: Scenario) -> list[dict[str, Any]]:
    """Returns both directions of the trunk."""
    found: list[dict[str, Any]] = scenario.resolve()["links"][2:4]
    return found


def test_equal_fields_give_equal_series() -> None:
    one, other = drawn(seed=7), drawn(seed=7)
    assert (one.rates(), one.delays(), one.losses()) == (other.rates(), other.delays(), other.losses())
    assert drawn(seed=8).rates() != one.rates()
    assert over(seed=7).digest() == over(seed=7).digest() != over(seed=8).digest()


@pytest.mark.parametrize("direction", ["down", "up"])
def test_later_run_has_equal_values_at_equal_times(direction: str) -> None:
    whole = drawn(begin="2023-10-01T12:00:03", direction=direction)
    later = drawn("60 s", begin="2023-10-01T12:01:03", direction=direction)
    shift = 60 * PS
    for name in ("rates", "losses", "delays"):
        rows = [[at - shift, value] for at, value in getattr(whole, name)() if shift <= at]
        found = [[at, value] for at, value in getattr(later, name)() if at > PS // 10]
        assert found == [row for row in rows if PS // 10 < row[0] < 60 * PS][: len(found)]


def test_slots_begin_at_12_27_42_and_57_seconds() -> None:
    found = drawn(begin="2023-10-01T12:00:00", edge_delay="0 s", change=1.0)
    grant = found.grant_ps
    begins = [at for at, _ in found.delays() if at > 0 and (at - 12 * PS) % (15 * PS) < grant]
    assert [at // PS for at in begins] == [12, 27, 42, 57, 72, 87, 102, 117]
    assert all(at % PS == 0 for at, _ in found.rates())


def test_slot_rates_follow_their_quantiles() -> None:
    flat = {"noise": 0.0, "first_second": 1.0, "last_second": 1.0, "daily": [], "change": 1.0}
    rates = [rate for at, rate in drawn("30000 s", **flat).rates() if at // PS % 15 == 12]
    quantiles = [RATE.parse(text) for text in parameter_sets()[2023]["down_rate"]]
    assert len(rates) == 2000
    for probability, quantile in zip(PROBABILITIES[1:-1], quantiles[1:-1], strict=True):
        share = bisect_right(sorted(rates), quantile) / len(rates)
        assert share == pytest.approx(probability, abs=4 * (probability * (1 - probability) / len(rates)) ** 0.5)


def test_satellites_are_kept_with_the_complement_of_the_probability() -> None:
    flat = {"noise": 0.0, "first_second": 1.0, "last_second": 1.0, "daily": [], "change": 0.66}
    levels = [rate for at, rate in drawn("30000 s", **flat).rates() if at // PS % 15 == 12]
    kept = np.mean(np.diff(levels) == 0)
    assert kept == pytest.approx(0.34, abs=0.04)


def test_exponential_draws_have_the_exponential_distribution() -> None:
    draws = Random(1)
    times = np.array([exponential(draws, 10**6) for _ in range(20_000)]) / 1e6
    assert times.mean() == pytest.approx(1, abs=0.03)
    assert (times > 2).mean() == pytest.approx(np.exp(-2), abs=0.01)


def test_quantiles_and_hours_are_interpolated_linearly() -> None:
    values = [0.0, 5.0, 25.0, 50.0, 75.0, 95.0, 100.0]
    assert between_quantiles(values, 0.4) == pytest.approx(40)
    hours = [(5.0, 1.2), (19.0, 0.8)]
    assert at_hour(hours, 12) == pytest.approx(1.0)
    assert at_hour(hours, 0) == pytest.approx(1.0)
    assert at_hour([], 3) == 1


def test_overlapping_bursts_of_losses_count_once() -> None:
    fields = {"edge_burst": 0.0, "outage_every": "2400 h", "burst_loss": 0.75, "isolated_loss": 0.01}
    steps = drawn("30000 s", burst_every="2 s", burst=["10 ms", "30 ms"], **fields).losses()
    times, shares = (np.array(column, dtype=float) for column in steps.columns)
    assert set(shares) == {0.01, 0.75}
    in_bursts = np.sum(np.diff(times)[shares[:-1] == 0.75]) / times[-1]
    # Bursts that overlap count once.
    assert in_bursts == pytest.approx(0.01, rel=0.05)


def test_return_direction_is_the_uplink_of_the_same_satellites() -> None:
    down, up = links(over(seed=3))
    median = {name: np.median([rate for _, rate in link["motion"]["service"]["steps"]]) for name, link in
              (("down", down), ("up", up))}  # fmt: skip
    assert median["down"] > 50e6 > median["up"]
    assert up["motion"]["delay"]["grant_ps"] == 13_333_333_333
    fixed = over(seed=3).with_(**{"network.return_path": {"kind": "moving"}})
    assert links(fixed)[1]["motion"] == {"order": "fifo"}


def test_each_direction_is_compared_with_its_own_rates() -> None:
    assert cautions(over()) == []
    (line,) = cautions(over().with_(**{"network.return_rate": "200 Mbit/s"}))
    assert line.startswith(
        "network.return_rate: 200 Mbit/s only determines sizes in BDP and auto; network.path has rates"
    )


def test_a_selected_queue_replaces_that_of_the_path() -> None:
    assert [link["policy"] for link in links(over(up_queue="90 ms"))] == [
        {"kind": "head-drop", "limit_ps": 75 * MS}, {"kind": "head-drop", "limit_ps": 90 * MS},
    ]  # fmt: skip
    assert {link["policy"]["kind"] for link in links(over().with_(**{"switch.policy": "codel"}))} == {"codel"}


def test_output_header_states_the_queue_of_the_path() -> None:
    assert any("; head-drop after 75 ms or 90 ms at 16 MB" in line for line in summary_lines(over(up_queue="90 ms")))
    assert any("; codel at 16 MB" in line for line in summary_lines(over().with_(**{"switch.policy": "codel"})))


def test_no_packet_waits_longer_than_the_limit() -> None:
    scenario = over(down_rate=["20 Mbit/s"] * 7, down_queue="50 ms", noise=0.0).with_(
        **{"duration": "20 s", "traces.delay": True}
    )
    ports = simulate(scenario.with_(traffic={"kind": "cbr", "rate": "40 Mbit/s", "payload": "1200 B"}), seed=1).ports
    port = ports.set_index("port").loc["switch1->switch2"]
    assert port["packets_lost_aqm"] > 0
    assert 0.04 < port["queueing_delay_p99_s"] <= 0.051


def test_saturating_datagrams_receive_the_rate_of_the_path() -> None:
    scenario = over(outage_every="2400 h", edge_burst=0.0, burst_every="2400 h", isolated_loss=0.0)
    result = simulate(scenario.with_(traffic={"kind": "cbr", "rate": "450 Mbit/s", "payload": "1472 B"}), seed=1)
    steps = links(scenario)[0]["motion"]["service"]["steps"]
    mean_bps = np.mean([rate for _, rate in steps[:30]])
    assert result.total_bps == pytest.approx(mean_bps * 1472 / 1500, rel=0.01)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"begin": "noon"}, r"network\.path\.begin: 'noon'; needs a date and time, as in 2026-11-22T12:00"),
        ({"down_rate": ["2 Mbit/s", *["1 Mbit/s"] * 6]}, r"network\.path\.down_rate: 2 Mbit/s and then 1 Mbit/s"),
        ({"down_rate": ["2 Mbit/s"] * 6}, "down_rate"),
        ({"daily": [[5, 1.0], [4, 1.0]]}, r"network\.path\.daily: hours that do not increase"),
        ({"burst": ["2 s", "1 s"]}, r"network\.path\.burst: 2 s and then 1 s"),
        ({"edge_after": "20 s"}, r"network\.path\.edge_after: 20 s; needs at most 15 s with edge_before"),
        ({"year": 2024}, "year"),
        ({"change": 0}, "change"),
        (
            {"year": 2022, "site": "enschede"},
            r"^network\.path\.site: 'enschede'; needs year = 2023, or belgium with year = 2022$",
        ),
        ({"year": 2025, "site": "belgium"}, r"needs year = 2022, or no site with year = 2025$"),
        ({"site": "london"}, "site"),
    ],
)
def test_invalid_fields_are_rejected_by_name(fields: dict[str, object], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        over(**fields).resolve()


def test_losses_of_the_link_are_rejected() -> None:
    with pytest.raises(ScenarioError, match="its path also has losses"):
        over().with_(**{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.1}}).resolve()


def test_cells_have_the_queue_of_the_switch() -> None:
    cells = over().with_(framing="aal5", **{"duration": "2 s", "switch.policy": "epd", "switch.buffer": "40000 cells"})
    assert [link["policy"]["kind"] for link in links(cells)] == ["epd", "epd"]
    assert simulate(cells, seed=1).total_bps > 1e6


def test_each_parameter_has_a_value_for_each_year_and_a_source() -> None:
    given = {"kind", "year", "site", "seed", "begin", "utc_offset", "direction"}
    rows = parameter_rows()
    assert {row["field"] for row in rows} == set(Starlink.model_fields) - given
    assert all(row["source"] for row in rows)
    for values in parameter_sets().values():
        assert Drawn("path", Starlink(**values), TIME.parse("60 s")).rates()


def test_site_has_the_measured_medians_in_relation_to_another_site() -> None:
    """WetLinks has medians of 215 and 240 Mbit/s down, 14.9 and 16.2 Mbit/s up, and round trips of 30.5 and 33.6 ms."""
    assert over(site="osnabrueck").digest() == over().digest() != over(site="enschede").digest()
    pairs = list(zip(judged.drawn_tests(1, 40, "osnabrueck"), judged.drawn_tests(1, 40, "enschede"), strict=True))
    for name, ratio in (("down", 240 / 215), ("up", 16.2 / 14.9)):
        ratios = [getattr(other, name).mean() / getattr(one, name).mean() for one, other in pairs]
        assert np.mean(ratios) == pytest.approx(ratio, abs=0.01)
    # Waits for grants depend on the round trip.
    assert np.mean([other.rtt_ms - one.rtt_ms for one, other in pairs]) == pytest.approx(3.1, abs=0.3)


def test_rate_drops_begin_and_end_within_seconds() -> None:
    mbps = np.array([5.0, 12, 9, 9, 9, 11, 20, 3, 10, 4])
    assert judged.durations_of_falls(mbps) == [3, 1]
    assert judged.durations_of_falls(np.array([5.0, 12, 20])) == []


def test_path_is_closer_to_measurements_than_its_predecessor() -> None:
    found = distances(judged.read(MEASURED), judged.Effort(batches=2, tests=100, runs=2))
    assert [one.quantity for one in found] == ["down", "up", "bent-pipe"]
    for one in found:
        assert one.wasserstein[0] > 2 * one.wasserstein[1]
    # The example has a known series, so its distances are known, too.
    assert found[0].kolmogorov_smirnov[0] == pytest.approx(0.108, abs=0.001)


@pytest.mark.parametrize(
    ("criterion", "inside", "outside"),
    [("10%", 109, 111), ("x1.5", 67, 151), ("50..120", 120, 121), (">=100", 100, 99), (">1", 1.1, 1)],
)
def test_criterion_bounds_the_number_of_the_model(criterion: str, inside: float, outside: float) -> None:
    assert judged.holds(criterion, 100, inside)
    assert not judged.holds(criterion, 100, outside)
    assert judged.holds("report", 100, inside) is None


def test_measured_numbers_have_a_use_and_a_criterion() -> None:
    rows = judged.read(MEASURED)
    assert rows["id"].is_unique
    assert set(rows["use"]) == {"calibration", "judgement", "report"}
    assert set(rows["year"]) <= {2022, 2023, 2025}
    for criterion, value in zip(rows["criterion"], rows["value"], strict=True):
        judged.holds(criterion, value, value)
    # Only Osnabrück and the idle numbers of IMC '22 may determine parameters.
    used = rows[rows["use"] == "calibration"]
    assert all("Osnabrueck" in text for text in used.loc[used["year"] == 2023, "conditions"])
    assert all("IMC '22" in text for text in used.loc[used["year"] == 2022, "source"])


def test_every_number_without_a_transfer_has_a_number_of_the_model() -> None:
    rows = judged.read(MEASURED)
    model = judged.tests_of_wetlinks(SHORT) | judged.idle_and_messages(SHORT)
    transfers = rows["id"].str.contains("cubic|bbr|reno|hystart|illinois|loaded|quic|two|four|recovery")
    assert set(rows.loc[~transfers, "id"]) <= set(model)
    medians = rows.set_index("id")["value"]
    assert np.mean(model["down-p50"]) == pytest.approx(medians["down-p50"], rel=0.15)


def test_page_states_the_numbers_of_both_tables() -> None:
    page = (Path(__file__).parents[1] / "docs" / "validation" / "starlink.md").read_text(encoding="utf-8")
    measured = judged.read(MEASURED).set_index("id")
    model = pd.read_csv(MEASURED.with_name("model.csv"), dtype=str, keep_default_na=False).set_index("id")
    assert list(model.index) == list(measured.index)
    for (name, row), of_model in zip(measured.to_dict("index").items(), model.to_dict("records"), strict=True):
        hit = judged.holds(str(row["criterion"]), float(row["value"]), float(of_model["model"]))
        verdict = {True: "hit", False: "miss", None: ""}[hit]
        assert verdict == of_model["verdict"]
        (line,) = (line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        assert float(cells[2].split()[0]) == row["value"]
        assert cells[3].split()[0] == of_model["model"]
        assert cells[4:] == [row["criterion"], verdict, row["use"]]


def test_page_states_every_parameter() -> None:
    page = (Path(__file__).parents[1] / "docs" / "starlink.md").read_text(encoding="utf-8")
    for row in parameter_rows():
        (line,) = (line for line in page.splitlines() if line.startswith(f"| `{row['field']}` |"))
        assert line.endswith(f"| {row['source']} |")


def test_path_on_the_wall_clock_begins_at_a_second_of_utc() -> None:
    moved, begin_s = at_present(over(year=2022))
    network: Any = moved.network
    assert begin_s == int(begin_s) > time.time()
    assert datetime.fromisoformat(f"{network.path.begin}+00:00").timestamp() == begin_s
    assert network.path.year == 2022
    told: list[str] = []
    began_s = time.time()
    wait_until(began_s + 0.05, told.append)
    assert time.time() >= began_s + 0.05
    wait_until(began_s - 10, told.append)
    assert len(told) == 1
    assert "behind UTC" in told[0]


def test_wall_clock_needs_a_starlink_path() -> None:
    with pytest.raises(ScenarioError, match="--clock: utc; needs a path of kind starlink"):
        at_present(Scenario.example("geo"))


def in_a_graph() -> Scenario:
    """Returns a server and a dish, with a link of kind starlink between two routers."""
    kinds = {"server": "host", "pop": "switch", "dish": "switch", "client": "host"}
    fast = {"rate": "1 Gbit/s", "delay": "5 ms"}
    satellite = {"rate": "225 Mbit/s", "return_rate": "15.5 Mbit/s", "delay": "5 ms"}
    network = {
        "kind": "graph",
        "nodes": [{"name": name, "kind": kind} for name, kind in kinds.items()],
        "links": [
            {"between": ["server", "pop"], **fast},
            {"between": ["pop", "dish"], **satellite, "path": {"kind": "starlink", "seed": 4}},
            {"between": ["dish", "client"], **fast},
        ],
        "flows": [{"name": "flow", "from": "server", "to": "client"}],
    }
    profile = {"profile": "linux-6"}
    return Scenario(
        defaults="1996", framing="ip", duration="10 s", switch={"buffer": "16 MB"}, tcp=profile, network=network
    )


def test_link_of_a_graph_has_both_directions_of_the_path() -> None:
    scenario = in_a_graph()
    down, up = scenario.resolve()["links"][2:4]
    expected = links(over(seed=4).with_(duration="10 s"))
    for link, other in zip((down, up), expected, strict=True):
        assert (link["motion"], link["policy"]) == (other["motion"], other["policy"])
    assert simulate(scenario, seed=1).total_bps > 5e6
    moved: Any = at_present(scenario)[0].network
    assert moved.links[1].path.begin != "2023-10-01T12:00:00"


LOSSLESS = {"isolated_loss": 0.0, "edge_burst": 0.0, "burst_every": "2400 h", "outage_every": "2400 h"}


@pytest.mark.parametrize("control", ["cubic", "bbr"])
@pytest.mark.parametrize("direction", ["down", "up"])
def test_remedies_change_the_fields_of_the_path(direction: str, control: str) -> None:
    """The rate of the trunk and its queue discipline are those of the path, so other fields have no effect."""
    scenario = over(seed=4, direction=direction, **LOSSLESS).with_(**{"tcp.congestion": control, "duration": "10 s"})
    before = simulate(scenario, seed=1)
    (limit,) = before.limits.to_dict("records")
    fields = {"AQM": f"network.path.{direction}_queue", "link": f"network.path.{direction}_rate"}
    assert limit["remedy_field"] == fields[limit["limited_by"]]
    value = limit["remedy_value"]
    after = simulate(scenario.with_(**{limit["remedy_field"]: json.loads(value) if value[0] == "[" else value}), seed=1)
    assert after.total_bps > 1.01 * before.total_bps


def test_remedy_of_losses_keeps_the_rates_of_the_path() -> None:
    before = simulate(over(seed=4), seed=1)
    (limit,) = before.limits.to_dict("records")
    assert (limit["limited_by"], limit["remedy_field"]) == ("random loss", "network.path.isolated_loss")
    after = simulate(over(seed=4, isolated_loss=0.0), seed=1)
    assert after.total_bps > 1.5 * before.total_bps


def test_remedy_of_an_uplink_in_a_graph_is_that_of_its_direction() -> None:
    flows = [{"name": "flow", "from": "client", "to": "server"}]
    scenario = in_a_graph().with_(**{"network.flows": flows, "tcp.congestion": "bbr"})
    (limit,) = simulate(scenario, seed=1).limits.to_dict("records")
    assert limit["remedy_field"] == "network.links.1.path.up_rate"
