"""The tables in tests/data/access: their cheap rows are recomputed, and their models agree with closed forms and papers."""

import itertools
import math
from functools import cache
from types import ModuleType
from typing import Final

import numpy as np
import pytest

from access_witnesses import capacity_requests, cellreplay, dcf, delays, random_access, satellite_frames
from access_witnesses.tables import FOLDER, Row, read

# Standard errors within which a simulation agrees with a value.
SIGMAS: Final = 4


@cache
def table(name: str) -> list[Row]:
    return read(name)


def only_row(name: str, quantity: str, **conditions: str) -> Row:
    """Returns the only row of a quantity under conditions, of which more may be given in the row."""
    rows = [row for row in table(name) if row.quantity == quantity and conditions.items() <= row.given().items()]
    assert len(rows) == 1, (quantity, conditions, len(rows))
    return rows[0]


@cache
def contention(stations: int, rule: dcf.Rule, limit: int | None) -> dcf.Contention:
    return dcf.contend(stations, rule, limit, replicas=32, slots=1500)


# All tables.


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.csv")))
def test_each_row_states_numbers_source_and_method(name: str) -> None:
    for row in table(name):
        assert row.quantity
        assert row.source
        assert row.how
        assert row.given()
        if not row.quantity.startswith("SHA-256"):
            assert math.isfinite(float(row.value))
        if row.tolerance != "report":
            assert row.allowed() >= 0
    assert len({(row.quantity, row.conditions) for row in table(name)}) == len(table(name))


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("requests", capacity_requests),
        ("cellreplay", cellreplay),
        ("satellite-frames", satellite_frames),
        ("delays", delays),
    ],
)
def test_exact_tables_equal_their_models(name: str, module: ModuleType) -> None:
    assert [row for row in table(name) if not row.error] == [row for row in module.rows() if not row.error]


# Wi-Fi.


@pytest.mark.parametrize("rule", dcf.RULES)
@pytest.mark.parametrize("limit", [None, dcf.RETRY_LIMIT])
@pytest.mark.parametrize("stations", [5, 50])
def test_stored_contention_is_simulated_again(stations: int, limit: int | None, rule: dcf.Rule) -> None:
    counts = contention(stations, rule, limit)
    conditions = {"n": str(stations), "first-slot": rule, "retry-limit": str(limit or "none")}
    for quantity, values in (("idle slots per success", counts.idle), ("collisions per success", counts.collisions)):
        row = only_row("wifi", quantity, **conditions)
        mean, error = dcf.mean_and_error(values / counts.successes)
        assert abs(mean - float(row.value)) < SIGMAS * math.hypot(error, float(row.error))


def test_goodputs_follow_from_stored_contention() -> None:
    for row in table("wifi"):
        given = row.given()
        if row.quantity != "goodput Mbit/s" or given["after"] == "by-role":
            continue
        conditions = {name: given[name] for name in ("n", "first-slot", "retry-limit")}
        idle = float(only_row("wifi", "idle slots per success", **conditions).value)
        collisions = float(only_row("wifi", "collisions per success", **conditions).value)
        mode = dcf.MODES[given["mode"]]
        mode = dcf.aifs(mode) if given["space"] == "aifs" else mode
        duration = idle * mode.slot_us + mode.success_us + collisions * mode.collision_us(given["after"])
        assert mode.payload_bits / duration == pytest.approx(float(row.value), rel=0.001)


def test_durations_are_those_of_the_standard() -> None:
    # 1534 byte at 54 Mbit/s: 12 294 bit in 57 symbols of 216 bit; an ACK at 24 Mbit/s: 134 bit in 2 symbols of 96 bit.
    assert (dcf.MODES["11a-54"].data_us, dcf.MODES["11a-54"].ack_us) == (20 + 57 * 4, 28)
    # An ACK at 6 Mbit/s lasts 44 us; EIFS is then 94 us.
    assert dcf.MODES["11a-6"].ack_us == 44
    # 1538 byte with HE-MCS 11: 12 326 bit in 7 symbols of 13.6 us.
    assert dcf.MODES["11ax-mcs11"].data_us == pytest.approx(44 + 7 * 13.6)
    # 1538 byte at 72.2 Mbit/s: 48 symbols of 3.6 us, 172.8 us, rounded up to 176 us.
    assert dcf.MODES["11n-mcs7"].data_us == 36 + 176
    # 32 x 1544 byte at 86.7 Mbit/s: 395 286 bit in 1267 symbols, 4561.2 us, rounded up to 4564 us.
    assert dcf.MODES["11ac-mcs8-ampdu32"].data_us == 40 + 4564


def test_single_station_waits_for_half_the_window() -> None:
    counts = dcf.contend(1, "dcf", None, replicas=64, slots=4000)
    mean, error = dcf.mean_and_error(counts.idle / counts.successes)
    assert not counts.collisions.any()
    assert abs(mean - dcf.CW_MIN / 2) < SIGMAS * error


@pytest.mark.parametrize(("stations", "window", "doublings"), [(5, 32, 3), (10, 32, 5), (20, 128, 3), (50, 16, 6)])
def test_contention_with_busy_slots_counted_is_bianchis(stations: int, window: int, doublings: int) -> None:
    point = dcf.fixed_point(stations, window, doublings)
    counts = dcf.contend(stations, "edca", None, replicas=32, slots=3000, window=window, largest=window << doublings)
    slots = counts.idle + counts.successes + counts.collisions
    idle, succeeds = (
        (1 - point.transmits) ** stations,
        stations * point.transmits * (1 - point.transmits) ** (stations - 1),
    )
    # Bianchi assumes that collisions of a station are independent of its back-off stage, which errs by up to 2.4 %.
    assert counts.idle.sum() / slots.sum() == pytest.approx(idle, rel=0.03)
    assert counts.successes.sum() / slots.sum() == pytest.approx(succeeds, rel=0.03)


def test_published_fhss_throughputs_follow_from_the_fixed_point() -> None:
    for row in table("published"):
        if row.quantity == "normalized throughput":
            given = row.given()
            value = dcf.fhss(int(given["n"]), int(given["W"]), int(given["m"]))
            assert value == pytest.approx(float(row.value), abs=row.allowed())


def ns3_rows() -> list[Row]:
    return [row for row in table("published") if row.source.startswith("ns-3")]


def agrees_with_ns3(row: Row, rule: dcf.Rule) -> bool:
    simulated = only_row("wifi", row.quantity, **row.given(), **{"first-slot": rule, "space": "difs"})
    return abs(float(simulated.value) - float(row.value)) <= row.allowed()


def mode_and_stations(row: Row) -> tuple[str, str]:
    given = row.given()
    return given["mode"], given["n"]


def test_ns3_tables_follow_from_bianchis_formula() -> None:
    for row in ns3_rows():
        given = row.given()
        mode = given["mode"]
        value = dcf.ns3_formula(int(given["n"]), dcf.MODES[mode], given["after"], anomaly=not mode.startswith("11ax"))
        # ns-3 solves the fixed point on a grid of 10 000 probabilities.
        assert value == pytest.approx(float(row.value), rel=0.001)


def test_simulated_goodputs_agree_with_ns3_tables() -> None:
    # ns-3's formula adds a slot to each success, which `dcf` has after each busy period and `edca` gives to the listeners.
    assert len(ns3_rows()) == 24
    misses = {
        rule: {mode_and_stations(row) for row in ns3_rows() if not agrees_with_ns3(row, rule)} for rule in dcf.RULES
    }
    assert misses["dcf"] == {("11ax-mcs0", "50"), ("11ax-mcs7", "50")}
    assert {mode for mode, _ in misses["edca"]} == {"11ax-mcs7", "11ax-mcs11"}


@pytest.mark.parametrize("mode", ["11ax-mcs0", "11ax-mcs7", "11ax-mcs11"])
def test_counting_busy_slots_gives_bianchis_goodput(mode: str) -> None:
    durations = dcf.MODES[mode]
    for stations in dcf.STATIONS:
        conditions = {"mode": mode, "n": str(stations), "first-slot": "edca", "retry-limit": "none", "space": "difs"}
        simulated = float(only_row("wifi", "goodput Mbit/s", **conditions).value)
        times = (durations.slot_us, durations.success_us, durations.collision_us("eifs"))
        assert simulated == pytest.approx(dcf.bianchi(stations, 16, 6, durations.payload_bits, *times), rel=0.015)


def test_timed_contention_with_equal_waits_equals_slotted_contention(monkeypatch: pytest.MonkeyPatch) -> None:
    # With an ACK timeout as long as EIFS, all stations resume together: 16 + 9 + 20 = 45 us against 16 + 29 us.
    mode = dcf.Mode(data_us=248, ack_us=29)
    monkeypatch.setattr(dcf, "LOWEST_RATE_ACK_US", 29)
    for rule in dcf.RULES:
        values = np.array([dcf.timed(10, rule, mode, events=2000, seed=seed) for seed in range(4)])
        slotted = dcf.goodput(contention(10, rule, dcf.RETRY_LIMIT), mode, "eifs")
        (mean, error), (other, other_error) = dcf.mean_and_error(values), dcf.mean_and_error(slotted)
        assert abs(mean - other) < SIGMAS * math.hypot(error, other_error)


# Random access.


@pytest.mark.parametrize("users", ["poisson", "fixed"])
@pytest.mark.parametrize(("load", "replicas"), [(0.5, 3), (0.7, 3), (0.9, 3)])
def test_stored_crdsa_losses_are_simulated_again(load: float, replicas: int, users: str) -> None:
    row = only_row("random-access", "CRDSA loss", G=str(load), replicas=str(replicas), users=users)
    losses = random_access.crdsa(load, replicas, 1000, poisson=users == "poisson")
    assert abs(losses.share - float(row.value)) < SIGMAS * math.hypot(losses.standard_error(), float(row.error))


def test_bursts_of_two_users_collide_only_in_equal_slots() -> None:
    for slots, replicas in ((6, 3), (5, 2)):
        sets = list(itertools.combinations(range(slots), replicas))
        lost = sum(random_access.unresolved(np.array(pair)).any() for pair in itertools.product(sets, repeat=2))
        assert lost == math.comb(slots, replicas)


def test_three_users_are_lost_as_by_exhaustive_search() -> None:
    # A set of users cannot be resolved if and only if each slot that one of them uses is used by two or more.
    def stuck(users: tuple[tuple[int, ...], ...]) -> set[int]:
        largest: set[int] = set()
        for size in range(len(users), 0, -1):
            for group in itertools.combinations(range(len(users)), size):
                used = [slot for user in group for slot in users[user]]
                if all(used.count(slot) > 1 for slot in used):
                    largest |= set(group)
        return largest

    sets = list(itertools.combinations(range(4), 2))
    for users in itertools.product(sets, repeat=3):
        assert set(np.flatnonzero(random_access.unresolved(np.array(users)))) == stuck(users)


@pytest.mark.parametrize("load", [0.1, 0.2, 0.3])
def test_low_losses_exceed_the_floor_of_equal_slots(load: float) -> None:
    row = only_row("random-access", "CRDSA loss", G=str(load), replicas="3", users="poisson")
    floor = random_access.same_slots_floor(load, 3)
    assert floor - SIGMAS * float(row.error) < float(row.value) < 3 * floor


def test_published_thresholds_follow_from_density_evolution() -> None:
    rows = [row for row in table("published") if row.quantity.startswith("CRDSA threshold")]
    assert len(rows) == 3
    for row in rows:
        assert random_access.density_threshold(int(row.given()["replicas"])) == pytest.approx(
            float(row.value), abs=row.allowed()
        )


def test_aloha_throughputs_are_binomial_and_approach_the_poisson_limit() -> None:
    slots = 100_000
    for row in table("random-access"):
        if row.quantity == "slotted ALOHA throughput" and row.given()["stations"] != "infinite":
            load, stations, value = float(row.given()["G"]), int(row.given()["stations"]), float(row.value)
            assert value == pytest.approx(random_access.aloha_throughput(load, stations), abs=row.allowed())
            error = math.sqrt(value * (1 - value) / slots)
            assert abs(random_access.aloha(load, stations, slots) - value) < SIGMAS * error
    peak = only_row("published", "slotted ALOHA largest throughput")
    assert random_access.aloha_throughput(1, None) == pytest.approx(float(peak.value), abs=peak.allowed())
    assert random_access.aloha_throughput(0.5, 100_000) == pytest.approx(
        random_access.aloha_throughput(0.5, None), rel=1e-5
    )


# Capacity requests.


@pytest.mark.parametrize(
    ("rule", "pattern", "instant", "kind", "value"),
    [
        ("sns3-rbdc", "single", "t_ms=200", "RBDC", 132),
        ("sns3-rbdc", "burst", "t_ms=300", "RBDC", 2640),
        ("sns3-rbdc", "constant", "t_ms=100", "RBDC", 141),
        ("sns3-rbdc-cra50", "single", "t_ms=200", "RBDC", 82),
        ("sns3-vbdc", "single", "t_ms=200", "AVBDC", 1656),
        ("sns3-vbdc", "constant", "t_ms=100", "AVBDC", 1776),
        ("sns3-vbdc", "constant", "t_ms=200", "VBDC", 1776),
        ("sns3-vbdc-lost", "single", "t_ms=900", "AVBDC", 1656),
        ("opensand-rbdc", "single", "frame=38", "RBDC", 30),
        ("opensand-rbdc", "single", "frame=76", "RBDC", 0),
        ("opensand-vbdc", "single", "frame=38", "VBDC", 12),
    ],
)
def test_requests_equal_those_computed_by_hand(rule: str, pattern: str, instant: str, kind: str, value: int) -> None:
    rows = [row for row in table("requests") if row.conditions.startswith(f"rule={rule} pattern={pattern} {instant} ")]
    assert [(row.given()["kind"], int(row.value)) for row in rows] == [(kind, value)]


def test_rate_requests_do_not_depend_on_floating_point() -> None:
    # SNS3 computes with doubles: 1.1 x kbit/s, with times in seconds.
    duration = 0.1
    pending: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in table("requests"):
        given = row.given()
        if not given["rule"].startswith("sns3-rbdc"):
            continue
        constant = 50 if given["rule"].endswith("cra50") else 0
        now = int(given["t_ms"])
        sent = [
            (time, kbps)
            for time, kbps in pending.setdefault((given["rule"], given["pattern"]), [])
            if time >= now - 560
        ]
        arriving = 1.1 * (8 * int(given["arrived"]) / 1000 / duration)
        backlog = 8 * int(given["queue"]) / 1000 - arriving * duration - sum(kbps for _, kbps in sent) * duration
        kbps = max(0.0, arriving + max(0.0, backlog / duration) - constant)
        assert capacity_requests.quantized(int(kbps), capacity_requests.RATE_STEPS_KBPS) == int(row.value)
        if int(row.value):
            pending[given["rule"], given["pattern"]].append((now, int(row.value)))


@pytest.mark.parametrize(
    ("value", "rounded"), [(256, 256), (257, 260), (1024, 1024), (1025, 1040), (4097, 4160), (9216, 9216)]
)
def test_rates_are_rounded_up_to_a_quantum(value: int, rounded: int) -> None:
    assert capacity_requests.quantized(value, capacity_requests.RATE_STEPS_KBPS) == rounded


def test_volumes_stay_below_the_wrap_of_16_bits() -> None:
    volumes = [int(row.value) for row in table("requests") if row.given()["rule"].startswith("sns3-vbdc")]
    assert max(volumes) < 2**16


# CellReplay.


def recording(timer: int = 0, size_offsets: tuple[float, ...] = (0.0,)) -> cellreplay.Recording:
    trains = (cellreplay.Train(0, 20, (0, 3, 5)), cellreplay.Train(100, 30, (0, 4)), cellreplay.Train(200, 40, (0,)))
    return cellreplay.Recording(trains, (10, 40, 41, 300), size_offsets, timer)


@pytest.mark.parametrize(
    ("packets", "departures"),
    [
        # Two packets fit the first opportunity of the train; the next ones use those at 3 and 5 ms.
        ([(0, 700), (0, 700), (0, 1400), (0, 100)], [20, 20, 23, 25]),
        # No opportunity is left for the fourth packet: its release at 20 ms is raised to 25 ms, and it leaves at 40 ms.
        ([(0, 1400)] * 4, [20, 23, 25, 40]),
        # The base delay at 50 ms is interpolated: 25 ms.
        ([(0, 100), (50, 100)], [20, 75]),
        # The fifth packet begins a train with a base delay of 21 ms; the heavy stage is still occupied at 40 ms.
        ([(0, 1400)] * 4 + [(19, 100)], [20, 23, 25, 40, 41]),
    ],
)
def test_departures_equal_those_worked_out_by_hand(packets: list[tuple[int, int]], departures: list[int]) -> None:
    releases = cellreplay.replay(recording(), [cellreplay.Packet(*packet) for packet in packets])
    assert [release.departure for release in releases] == departures


def test_size_offsets_are_interpolated_and_keep_the_order() -> None:
    light = cellreplay.LightStage(recording(size_offsets=(1.0, 2.0, 4.5)))
    assert [light.size_offset(size) for size in (40, 100, 150, 250, 300, 1400)] == [1, 1, 2, 3, 5, 5]
    # The second packet has no offset, because 20 ms + 1 ms would be before the release of the first at 25 ms.
    releases = cellreplay.replay(
        recording(size_offsets=(1.0, 5.0)), [cellreplay.Packet(0, 700), cellreplay.Packet(0, 90)]
    )
    assert [(release.light, release.bypass) for release in releases] == [(25, True), (25, False)]


@pytest.mark.parametrize("name", cellreplay.KINDS)
def test_replayed_packets_keep_order_and_capacity(name: str) -> None:
    replayed, packets = cellreplay.synthetic(cellreplay.KINDS[name])
    releases = cellreplay.replay(replayed, packets)
    # No packet is dropped, because the queue of these recordings is unlimited.
    departures = [release.departure for release in releases if release.departure is not None]
    assert len(departures) == len(packets) == cellreplay.PACKETS
    assert departures == sorted(departures)
    rows = list(zip(departures, releases, packets, strict=True))
    assert all(departure >= release.light >= packet.arrival for departure, release, packet in rows)
    # Single precision, with which CellReplay interpolates base delays, never changes a millisecond.
    assert cellreplay.replay(replayed, packets, exact=True) == releases
    # Packets through the heavy stage share opportunities of 1400 byte.
    heavy: dict[int, int] = {}
    for departure, release, packet in rows:
        if departure > release.light:
            heavy[departure] = heavy.get(departure, 0) + packet.size
    period = replayed.heavy[-1]
    counts = [time % period for time in heavy]
    assert set(counts) <= {time % period for time in replayed.heavy}


# Satellite frames.


def test_frames_have_the_efficiencies_of_the_standards() -> None:
    computed = [
        satellite_frames.frame(modulation, rate).efficiency
        for modulation, rates in satellite_frames.RATES.items()
        for rate in rates
    ]
    assert computed == pytest.approx(satellite_frames.EN_302_307_1, abs=0.000001)
    for modcod, efficiency in satellite_frames.EN_302_307_2.items():
        assert satellite_frames.frame(*modcod.split(), corrected=12).efficiency == pytest.approx(
            efficiency, abs=0.00006
        )


def test_fragments_of_a_packet_fill_frames() -> None:
    # Headers of 10, 3, 3, 3 and 3 byte with 364, 371, 371, 371 and 23 byte, and the CRC.
    assert satellite_frames.gse_frames(1500, 374, 3) == (5, 1526)
    assert satellite_frames.gse_frames(367, 374, 3) == (1, 374)
    # The last fragment has one byte, because all of them would leave no room for the CRC.
    assert satellite_frames.gse_frames(368, 374, 3) == (2, 10 + 364 + 3 + 4 + 4)
    # A GSE packet has at most 4096 byte.
    assert satellite_frames.gse_frames(5000, 6041, 3) == (1, 4096 + 3 + 914 + 4)


def test_fragments_of_a_packet_fill_bursts() -> None:
    # 1503 byte in bursts of 38 byte: 34 in the first, 36 in each of 41 further ones, of which the last has 29.
    assert satellite_frames.rle_bursts(1500, 38, 3) == 42
    assert satellite_frames.rle_bursts(36, 38, 0) == 1
    assert satellite_frames.rle_bursts(37, 38, 0) == 2


# Delays.


@pytest.mark.parametrize("case", delays.RCS2_MEANS)
def test_first_packet_delays_are_means_over_phases(case: str) -> None:
    values = delays.rcs2_delays(case, 20_000)
    error = values.std() / math.sqrt(len(values))
    assert abs(values.mean() - delays.RCS2_MEANS[case]) < SIGMAS * error
    assert float(only_row("delays", "DVB-RCS2 first packet ms", case=case).value) == delays.RCS2_MEANS[case]


@pytest.mark.parametrize("period", ["20", "10"])
def test_first_uplink_packet_by_slots_is_sum_of_parts(period: str) -> None:
    (total,) = (
        row for row in table("delays") if row.quantity.startswith("LTE or NR") and row.given()["sr-period"] == period
    )
    by_slot = only_row("delays", "NR first packet ms", **{"sr-slot": "7", "sr-period": period, "buffer-status": "no"})
    parts = sum(float(part) for part in total.given()["sum-of-parts"].split("+"))
    assert float(total.value) == parts == float(by_slot.value)


@pytest.mark.parametrize(("error", "rtt"), [(0.1, 8), (0.1, 5)])
def test_in_order_delivery_waits_for_earlier_retransmissions(error: float, rtt: int) -> None:
    generator = np.random.default_rng(8)
    own = rtt * (generator.geometric(1 - error, 400_000) - 1)
    times = np.arange(len(own))
    delivered = np.maximum.accumulate(times + own) - times
    assert own.mean() == pytest.approx(rtt * error / (1 - error), rel=0.02)
    assert own.mean() == pytest.approx(delays.harq_mean(error, rtt, 5), rel=0.02)
    assert delivered.mean() == pytest.approx(delays.in_order_mean(error, rtt), rel=0.02)


@pytest.mark.parametrize("users", [2, 4, 10])
def test_proportional_fair_gain_is_the_harmonic_number(users: int) -> None:
    row = only_row("delays", "proportional fair gain", users=str(users))
    assert delays.proportional_fair(users, 20_000) == pytest.approx(float(row.value), abs=row.allowed())


@pytest.mark.parametrize("interval", [1.0, 2.0])
def test_docsis_parts_sum_to_the_simulated_delay(interval: float) -> None:
    parts = delays.docsis_parts(interval)
    grant, loop = delays.docsis_delays(interval, 50_000)
    conditions = {"map-interval": f"{interval:.0f}"}
    for values, quantity, total in (
        (grant, "packet to grant", sum(parts.values())),
        (loop, "request-grant loop", sum(parts.values()) - parts["wait-for-request"]),
    ):
        row = only_row("delays", f"DOCSIS mean {quantity} ms", **conditions)
        assert abs(values.mean() - float(row.value)) < SIGMAS * values.std() / math.sqrt(len(values))
        assert float(row.value) == pytest.approx(total, rel=0.015)
    assert loop.min() >= float(only_row("delays", "DOCSIS least request-grant loop ms", **conditions).value)
    assert loop.max() <= float(only_row("delays", "DOCSIS largest request-grant loop ms", **conditions).value)


def test_shares_of_airtime_give_the_published_rates() -> None:
    rows = [row for row in table("published") if "airtime-fairness" in row.conditions]
    for row in rows:
        given = row.given()
        rates = [float(rate) for rate in given["stations"].split(",")]
        fair = given["airtime-fairness"] == "yes"
        value = float(given["station"]) / len(rates) if fair else 1 / sum(1 / rate for rate in rates)
        assert value == pytest.approx(float(row.value), abs=row.allowed())
