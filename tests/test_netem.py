"""Datagrams over a live path compared with Linux's netem: the paths are equal, and differences are detected."""

import math
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from linux_guest import kernel
from longpipe import simulate
from longpipe.cli import app
from longpipe.live.certificate import Certificate
from longpipe_evidence.validate.linux_conditioners import ETHERNET_BYTES, HEADERS_BYTES, DatagramCase
from longpipe_evidence.validate.netem import (
    CASES,
    LENGTH,
    Delays,
    NetemComparison,
    compare,
    lost_share,
    over_live,
    spread_ms,
)
from thorough import THOROUGH


def compared(netem: Delays, live: Delays) -> NetemComparison:
    """Compares delays and losses, which do not depend on the certificate."""
    return NetemComparison(CASES["delay"], netem, live, cast("Certificate", None))


def test_differences_of_delays_and_losses_are_found() -> None:
    """A shift by half a standard deviation gives a distance of 2 Phi(1/4) - 1."""
    drawn = np.random.default_rng(1).normal(20, 5, (2, 10_000))
    lost = np.random.default_rng(2).random((2, 10_000)) < 0.01
    drawn[lost] = np.nan
    assert compared(*drawn).agrees()
    shifted = compared(drawn[0], drawn[1] + 2.5)
    assert shifted.distance(0.0) == pytest.approx(0.1974, abs=0.02)
    assert not shifted.agrees()
    assert compared(drawn[0], drawn[1] + 2.5).agrees(within_ms=3.0)
    fewer = drawn[1].copy()
    fewer[np.random.default_rng(3).random(10_000) < 0.01] = np.nan
    # The shares' standard deviations are sqrt(0.01 0.99 / 10 000) and sqrt(0.02 0.98 / 10 000).
    assert compared(drawn[0], fewer).loss_difference == pytest.approx(5.8, abs=2)
    assert not compared(drawn[0], fewer).agrees()
    constant = np.full(10_000, 20.0)
    assert compared(constant, constant + 0.15).distance() == 0.0
    assert compared(constant, constant + 0.25).distance() == 1.0


def test_path_that_delivers_nothing_has_no_delays() -> None:
    drawn, none = np.random.default_rng(1).normal(20, 5, 1000), np.full(1000, np.nan)
    assert all(math.isnan(value) for value in spread_ms(none))
    assert lost_share(none) == 1.0
    assert compared(none, none).agrees()
    assert not compared(drawn, none).agrees()
    assert not compared(none, drawn).agrees()


def test_path_with_a_rate_follows_netems_formula(tmp_path: Path) -> None:
    """In sch_netem.c, a packet is dropped if `limit` are queued, and otherwise leaves one transmission time after the
    last one.
    """
    case = CASES["rate"]
    planned = DatagramCase(case.name, case.rate_bps, (LENGTH,), case.words, 3000).datagrams
    file = tmp_path / "datagrams.csv"
    rows = [(f"{at} ns", LENGTH - HEADERS_BYTES) for at, _ in planned]
    pd.DataFrame(rows, columns=["time", "bytes"]).to_csv(file, index=False)
    sent = {"traffic": {"kind": "arrivals", "file": str(file)}, "duration": "5 s", "traces": {"delay": True}}
    result = simulate(case.scenario.with_(**sent))
    transmission_ms = 8 * (LENGTH + ETHERNET_BYTES) / 8e3
    held: list[float] = []
    waits = []
    for at_ns, _ in planned:
        held = [leaves for leaves in held if leaves > at_ns / 1e6]
        if len(held) < 50:
            held.append(max([at_ns / 1e6, *held[-1:]]) + transmission_ms)
            waits.append(held[-1] - transmission_ms - at_ns / 1e6)
    found = result.traces["delay"].query("port == 'switch1->switch2'")["delay_s"].to_numpy() * 1e3
    assert 2500 < len(found) < 2900
    assert len(found) == len(waits)
    assert np.abs(found - waits).max() < 0.001


@pytest.mark.usefixtures("namespaces")
def test_datagrams_over_a_live_path_have_its_delay_and_its_losses() -> None:
    sent_ns, delays_ms, certificate = over_live(CASES["bursts"], 300)
    assert len(sent_ns) == len(delays_ms) == 300
    assert sent_ns[0] == 0
    assert (np.diff(sent_ns) > 0).all()
    arrived = delays_ms[~np.isnan(delays_ms)]
    assert 19.9 < arrived.min() < 21.0
    assert len(arrived) == certificate.delivered < certificate.entered == 300


def test_an_unknown_case_is_rejected_with_the_nearest_one() -> None:
    done = CliRunner().invoke(app, ["validate", "netem", "los"])
    assert done.exit_code != 0
    assert "CASE: 'los'; did you mean 'loss'?" in str(done.exception or done.output)


@pytest.mark.parametrize("within", ["abc", "-1 ms", "nan"])
def test_tolerance_without_a_time_unit_is_rejected(within: str) -> None:
    done = CliRunner().invoke(app, ["validate", "netem", "--within", within])
    assert done.exit_code != 0
    assert "--within" in f"{done.exception}{done.output}"


@pytest.mark.skipif(not THOROUGH, reason="a minute on an idle machine: make validate")
@pytest.mark.usefixtures("namespaces")
@kernel
def test_delays_and_losses_over_a_live_path_are_those_of_netem() -> None:
    assert {found.case.name: found.agrees() for found in compare(list(CASES.values()))} == dict.fromkeys(CASES, True)
