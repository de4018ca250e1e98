"""quinn over live paths compared with quinn in simulations: both send the same data, and differences are detected."""

import dataclasses
import io
import json
import subprocess
from typing import cast

import pandas as pd
import pytest

from commands import run
from longpipe import stacks
from longpipe.live.certificate import Certificate
from longpipe_evidence.validate.stacks_live import (
    CONTROLS,
    MIN_BUFFER_PACKETS,
    RATES_MBITS,
    ROUND_TRIPS_MS,
    LiveComparison,
    Transfer,
    compare,
    draw,
)
from thorough import THOROUGH

needs_transfer = pytest.mark.skipif(
    stacks.installed(stacks.TRANSFER) is None, reason="longpipe_stacks is not installed: make stacks"
)
SIMULATED = Transfer(goodput_mbits=9.0, drops=100, declared_lost=100, closed="")


def compared(live: Transfer, simulated: Transfer = SIMULATED) -> LiveComparison:
    """Compares two transfers, which do not depend on the certificate."""
    return LiveComparison(draw(0), live, simulated, cast("Certificate", None))


def test_differences_of_goodput_and_losses_are_found() -> None:
    assert compared(SIMULATED).agrees
    assert compared(dataclasses.replace(SIMULATED, goodput_mbits=8.92, drops=105)).agrees
    assert not compared(dataclasses.replace(SIMULATED, goodput_mbits=8.9)).agrees
    assert not compared(dataclasses.replace(SIMULATED, drops=94)).agrees
    # A connection that failed has no goodput.
    assert not compared(dataclasses.replace(SIMULATED, goodput_mbits=float("nan"))).agrees
    none = dataclasses.replace(SIMULATED, drops=0)
    assert compared(none, none).agrees
    assert not compared(SIMULATED, none).agrees


def test_paths_vary_in_all_dimensions() -> None:
    paths = [draw(number) for number in range(20)]
    assert {path.control for path in paths} == set(CONTROLS)
    assert {path.rate_mbits for path in paths} == set(RATES_MBITS)
    assert {path.round_trip_ms for path in paths} == set(ROUND_TRIPS_MS)
    for path in paths:
        bdp_packets = path.rate_mbits * path.round_trip_ms * 1e3 / 8 / 1480
        assert path.buffer_packets == MIN_BUFFER_PACKETS or 0.45 < path.buffer_packets / bdp_packets < 2.1


@needs_transfer
def test_the_program_sends_over_sockets_and_counts() -> None:
    program = str(stacks.transfer())
    with subprocess.Popen([program, "receive", "45203"]) as receiver:
        try:
            sent = subprocess.run(
                [program, "send", "127.0.0.1:45203", "size=300000", "congestion=reno"],
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
            assert receiver.wait(60) == 0
        finally:
            # A receiver without a connection waits for one.
            receiver.kill()
    said = json.loads(sent.stdout)
    assert said["closed"] == ""
    assert 0 < said["seconds"] < 60
    assert said["sent_packets"] > 300_000 / 1452


@needs_transfer
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["send", "127.0.0.1:1", "congestion=vegas"], "congestion: vegas; needs cubic, reno, bbr"),
        (["send", "127.0.0.1:1", "size=much"], "size: much; needs a number of bytes"),
        (["send", "127.0.0.1:1", "most_bytes=100"], "most_bytes: 100; needs 1200 to 65527"),
        (["send", "nowhere", "size=1"], "receiver: nowhere; needs HOST:PORT"),
        (["receive", "0.5"], "port: 0.5; needs 1 to 65535"),
        (["wait", "1"], "wait: needs receive or send"),
        ([], "needs `receive PORT` or `send HOST:PORT size=BYTES`"),
    ],
)
def test_the_program_rejects_bad_input_with_one_line(words: list[str], problem: str) -> None:
    done = subprocess.run([str(stacks.transfer()), *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert done.stderr == f"quinn-transfer: {problem}\n"


@needs_transfer
@pytest.mark.usefixtures("namespaces")
def test_the_command_writes_a_row_for_each_path() -> None:
    done = run("validate", "stacks-live", "--cases", "1", "--first", "1", "--duration", "1", "--csv", "-")
    (row,) = pd.read_csv(io.StringIO(done.stdout)).to_dict("records")
    assert done.returncode == int(not row["agrees"]), done.stderr
    for which in ("live", "simulated"):
        assert 0 < row[f"{which}_goodput_mbits"] < row["rate_mbits"] == draw(1).rate_mbits


@needs_transfer
@pytest.mark.skipif(not THOROUGH, reason="11 minutes in real time: make validate")
@pytest.mark.usefixtures("namespaces")
def test_quinn_sends_over_live_paths_as_in_simulations() -> None:
    assert sum(compare(draw(number), 60).agrees for number in range(10)) >= 9
