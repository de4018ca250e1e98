"""Linux as an end over longpipe's queue and over its own: differences are detected, and wrong names are rejected."""

import dataclasses

import pytest

from commands import run
from longpipe.linux_end import kernel as linux_kernel
from longpipe_evidence.validate.linux import LinuxCase
from longpipe_evidence.validate.linux_ends import EndComparison, EndRun, scenario

OWN = EndRun(goodput_mbits=9.5, srtt_ms=180.0, drops=100, cpu_s=6.0)


@pytest.mark.parametrize(
    ("run_of", "agrees"),
    [
        (OWN, True),
        (EndRun(goodput_mbits=9.45, srtt_ms=183.5, drops=86, cpu_s=1.0), True),
        (dataclasses.replace(OWN, goodput_mbits=9.44), False),
        (dataclasses.replace(OWN, srtt_ms=184.0), False),
        (dataclasses.replace(OWN, drops=84), False),
    ],
)
def test_differences_of_goodput_round_trips_and_losses_are_found(run_of: EndRun, agrees: bool) -> None:
    assert EndComparison("reno", 0, run_of, OWN).agrees == agrees


@pytest.mark.skipif(linux_kernel.problem() is not None, reason="user-mode Linux is not installed")
def test_path_has_the_ip_rate_and_one_more_packet() -> None:
    made = scenario(LinuxCase(), 20).resolved
    trunk = min(made["links"], key=lambda link: link["rate_bps"])
    assert trunk["buffer"] == {"unit": "packets", "limit": 101}
    # Packets with Ethernet headers have 1514 bytes.
    assert trunk["rate_bps"] == pytest.approx(10e6 * 1500 / 1514, rel=1e-6)


def test_an_unknown_control_is_rejected_with_the_nearest_one() -> None:
    done = run("validate", "linux", "ends", "--control", "rno")
    assert done.returncode != 0
    assert "--control: 'rno'; did you mean 'reno'?" in done.stderr
