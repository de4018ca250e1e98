"""Limits behind a token bucket: how many packets of a burst pass, by Linux's code, in Linux itself and in longpipe.

`tbf_dequeue` releases the first packet at once. `pfifo_enqueue`, `codel_qdisc_enqueue`, `pie_qdisc_enqueue`,
`fq_codel_enqueue` and `fq_enqueue` admit a packet while fewer than `limit` packets wait, including the one that the
bucket has peeked at; RED's child counts bytes with Ethernet headers. Therefore, `limit + 1` packets of a burst pass.
`fq` has removed the peeked packet from its flow's queue, so that `flow_limit + 2` packets pass. `fq_codel_drop` removes
half of the longest queue at a time: of a burst of 10 packets it drops 3 twice.
"""

import pytest

from linux_guest import kernel
from longpipe import simulate
from longpipe_evidence.validate.linux import LinuxCase, LinuxFlow, run_each
from longpipe_evidence.validate.linux_compare import scenario

INITIAL_WINDOW = 10
ADMITTED = {
    "pfifo limit 4": 5,
    "codel limit 4": 5,
    "pie limit 4": 5,
    "fq_codel limit 4": 4,
    "fq limit 4": 5,
    "fq limit 100 flow_limit 4": 6,
    "red limit 6056 min 100000 max 200000 avpkt 1514 burst 100 probability 0.1": 5,
}
BURSTS = pytest.mark.parametrize(("discipline", "admitted"), ADMITTED.items())


def burst(discipline: str) -> LinuxCase:
    return LinuxCase(discipline=discipline, duration="1 s", flows=(LinuxFlow(control="reno", size="14480 B"),))


@BURSTS
def test_admitted_packets_of_a_burst_equal_linuxs_code(discipline: str, admitted: int) -> None:
    result = simulate(scenario(burst(discipline)), 1)
    drops = result.ports.query("port == 'switch1->switch2'")["packets_lost_overflow"].item()
    assert drops == INITIAL_WINDOW - admitted


@kernel
def test_admitted_packets_of_a_burst_equal_those_in_linux() -> None:
    """All cases run in one start of the guest, each over its own path (test_linux_paths.py)."""
    found = {run.case.discipline: run.queue_drops for run in run_each(list(map(burst, ADMITTED)), seed=0)}
    assert found == {discipline: INITIAL_WINDOW - admitted for discipline, admitted in ADMITTED.items()}
