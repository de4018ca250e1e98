"""Capacity requests of one DVB-RCS2 terminal by the rules of SNS3 and OpenSAND, for five arrival patterns.

SNS3 (sns3-satellite e543342, satellite-request-manager.cc) evaluates every 100 ms; OpenSAND (9fff1c0,
DamaAgentRcs2Legacy.cpp, DamaAgentRcs2.cpp) once per synchronization period of 38 frames of 26.5 ms. Each row states
everything that the terminal sees, so that the request can be checked without a model of the beam. The grants that lead
to the queue in the rows come from a simple beam: every request is granted after a fixed delay.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from access_witnesses.tables import Row

# Duration of a superframe, and period of the evaluation [ms], in SNS3.
SUPERFRAME_MS: Final = 100
# Superframes from an evaluation to the capacity that it requests.
GRANT_DELAY: Final = 7
# Superframes after which a rate, and a volume, expires at the NCC.
RATE_PERSISTENCE: Final = 5
VOLUME_PERSISTENCE: Final = 7
# Time [ms] for which SNS3 counts its own rate requests as pending.
RTT_ESTIMATE_MS: Final = 560
OVERESTIMATION: Final = Fraction(11, 10)
LARGEST_RATE_KBPS: Final = 9216
RATE_STEPS_KBPS: Final = (1, 4, 16, 64)
VOLUME_STEPS_BYTES: Final = (1, 8, 64, 512)
SNS3_STEPS: Final = 30

# OpenSAND: duration of a frame [us], synchronization period and MSL [frames], frames from a request to its capacity.
FRAME_US: Final = 26_500
SYNC_FRAMES: Final = 38
MSL_FRAMES: Final = 23
GRANT_FRAMES: Final = 20
LARGEST_REQUEST_KBPS: Final = 16_320
LARGEST_REQUEST_KB: Final = 4_080
OPENSAND_FRAMES: Final = 380

# Bytes that arrive in each 100 ms (SNS3) or in each frame (OpenSAND) of a pattern, by the index of the interval. SNS3
# truncates a rate that it computes with doubles; these sizes avoid rates that are whole numbers up to rounding.
PATTERNS: Final[dict[str, Callable[[int], int]]] = {
    # One packet.
    "single": lambda index: 1500 if index == 1 else 0,
    # 1613 byte per interval.
    "constant": lambda _: 1613,
    # 20 packets at once.
    "burst": lambda index: 30_000 if index == 2 else 0,
    # Five intervals on, ten off.
    "on-off": lambda index: 4_507 if index % 15 < 5 else 0,
    # Packets of 40 to 1500 byte by a linear congruential sequence.
    "irregular": lambda index: sum(40 + (7919 * (index * 3 + packet) + 104_729) % 1461 for packet in range(index % 4)),
}


def quantized(value: int, steps: Sequence[int]) -> int:
    """Returns the value rounded up to a multiple of the smallest step with which 256 multiples suffice."""
    step = next(step for step in steps if value <= 256 * step)
    return math.ceil(Fraction(value, step)) * step


@dataclass
class Sns3Rate:
    """RBDC requests: R = a Rin + max(0, (Q - a Rin D - P D) / D), less CRA, truncated to whole kbit/s, rounded up.

    SNS3 passes the rate as a 16-bit integer to the quantizer, so that the fraction of a kbit/s is dropped first.
    """

    cra_kbps: int = 0
    pending: deque[tuple[int, int]] = field(default_factory=deque)

    def request(self, step: int, arrived: int, queue: int) -> int:
        """Returns the request [kbit/s] at an evaluation, from bytes arrived since the last one and bytes queued."""
        now_ms = step * SUPERFRAME_MS
        while self.pending and self.pending[0][0] < now_ms - RTT_ESTIMATE_MS:
            self.pending.popleft()
        duration = Fraction(SUPERFRAME_MS, 1000)
        arriving = OVERESTIMATION * 8 * arrived / 1000 / duration
        backlog = Fraction(8 * queue, 1000) - arriving * duration - sum(rate for _, rate in self.pending) * duration
        rate = arriving + max(Fraction(0), backlog / duration)
        rate = max(Fraction(0), rate - self.cra_kbps)
        rate = min(rate, Fraction(LARGEST_RATE_KBPS - self.cra_kbps))
        kbps = quantized(int(rate), RATE_STEPS_KBPS)
        if kbps:
            self.pending.append((now_ms, kbps))
        return kbps


@dataclass
class Sns3Volume:
    """VBDC and AVBDC requests; volumes are truncated to whole bytes before they are rounded up."""

    cra_kbps: int = 0
    pending: int = 0
    last_ms: int = 0

    def request(self, step: int, arrived: int, queue: int, assigned: int) -> tuple[str, int]:
        """Returns kind and bytes of the request, from bytes arrived and assigned since the last evaluation."""
        now_ms = step * SUPERFRAME_MS
        self.pending = max(0, self.pending - assigned)
        expires = self.last_ms + (VOLUME_PERSISTENCE - 1) * SUPERFRAME_MS < now_ms
        resynchronizes = self.pending > 0 and expires
        if not resynchronizes and not arrived:
            return "none", 0
        constant = 1000 * self.cra_kbps * SUPERFRAME_MS // 8000
        if resynchronizes or self.pending == 0:
            kind, volume, self.pending = "AVBDC", int(OVERESTIMATION * queue), 0
        else:
            kind, volume = "VBDC", int(OVERESTIMATION * arrived)
        if volume <= constant:
            return "none", 0
        volume = quantized(volume - constant, VOLUME_STEPS_BYTES)
        self.pending += volume
        self.last_ms = now_ms
        return kind, volume


def sns3_rate(arrivals: Callable[[int], int], cra_kbps: int = 0) -> Iterator[tuple[str, str, int]]:
    """Yields conditions, kind and value of each evaluation with RBDC."""
    terminal = Sns3Rate(cra_kbps)
    requests: list[int] = []
    queue = 0
    for step in range(SNS3_STEPS):
        # The newest request that has taken effect is granted in each superframe until it expires.
        valid = [
            kbps
            for age in range(RATE_PERSISTENCE)
            if step - GRANT_DELAY - age >= 0 and (kbps := requests[step - GRANT_DELAY - age])
        ]
        served = min(queue, ((valid[0] if valid else 0) + cra_kbps) * SUPERFRAME_MS // 8)
        arrived = arrivals(step)
        queue += arrived - served
        requests.append(terminal.request(step + 1, arrived, queue))
        yield (
            f"t_ms={(step + 1) * SUPERFRAME_MS} arrived={arrived} queue={queue}",
            "RBDC" if requests[-1] else "none",
            requests[-1],
        )


def sns3_volume(arrivals: Callable[[int], int], lost: int = 0) -> Iterator[tuple[str, str, int]]:
    """Yields conditions, kind and value of each evaluation with VBDC and AVBDC; the first `lost` requests are lost."""
    terminal = Sns3Volume()
    granted = [0] * (SNS3_STEPS + GRANT_DELAY)
    queue = 0
    for step in range(SNS3_STEPS):
        assigned = granted[step]
        arrived = arrivals(step)
        queue += arrived - min(queue, assigned)
        kind, volume = terminal.request(step + 1, arrived, queue, assigned)
        if volume and lost:
            lost -= 1
        else:
            granted[step + GRANT_DELAY] = volume
        yield f"t_ms={(step + 1) * SUPERFRAME_MS} arrived={arrived} queue={queue} assigned={assigned}", kind, volume


@dataclass
class OpenSandRate:
    """RBDC requests: floor(A / (t Tf)) + floor(max(0, L - t Tf S) / (MSL Tf)) in whole kbit/s.

    t counts frames since the last request that was sent, and A the bits that have arrived since then. S is the sum of
    the last floor(MSL / period) requests, and 0 if MSL is shorter than the period.
    """

    sync_frames: int
    last_frame: int = 0
    sent: list[int] = field(default_factory=list)

    def request(self, frame: int, arrived_bits: int, queue_bits: int) -> int | None:
        """Returns the request [kbit/s], or nothing if it is zero again."""
        frames = frame - self.last_frame
        kept = MSL_FRAMES // self.sync_frames
        pending = sum(self.sent[-kept:]) if kept else 0
        # A bit per ms is a kbit/s; C++ divides whole microseconds.
        granted = frames * pending * FRAME_US
        kbps = arrived_bits * 1000 // (frames * FRAME_US)
        kbps += max(0, queue_bits * 1000 - granted) // (MSL_FRAMES * FRAME_US)
        kbps = min(kbps, LARGEST_REQUEST_KBPS)
        if kbps == 0 and (not self.sent or self.sent[-1] == 0):
            return None
        self.last_frame = frame
        self.sent.append(kbps)
        return kbps


def opensand(arrivals: Callable[[int], int], category: str, sync_frames: int) -> Iterator[tuple[str, str, int]]:
    """Yields conditions, kind and value at each request opportunity; frame 0 is one, before anything has arrived."""
    terminal = OpenSandRate(sync_frames)
    granted_bits = [0] * (OPENSAND_FRAMES + GRANT_FRAMES + 2 * sync_frames + 2)
    arrived = queue = 0
    for frame in range(1, OPENSAND_FRAMES + 1):
        served = min(queue, granted_bits[frame])
        bits = 8 * arrivals(frame)
        arrived += bits
        queue += bits - served
        if frame % sync_frames:
            continue
        where = f"frame={frame} queue_bits={queue}"
        if category == "vbdc":
            volume = min(math.ceil(Fraction(queue, 1000)), LARGEST_REQUEST_KB)
            granted_bits[frame + GRANT_FRAMES] += 1000 * volume
            yield where, "VBDC" if volume else "none", volume
            continue
        where += f" arrived_bits={arrived} frames={frame - terminal.last_frame}"
        kbps = terminal.request(frame, arrived, queue)
        if kbps is not None:
            arrived = 0
            # The rate is granted in whole kbit per frame until it expires after one period and one frame.
            for later in range(frame + GRANT_FRAMES, min(frame + GRANT_FRAMES + sync_frames + 1, len(granted_bits))):
                granted_bits[later] = 1000 * math.ceil(Fraction(kbps * FRAME_US, 1_000_000))
        yield where, "none" if kbps is None else "RBDC", kbps or 0


RULES: Final[dict[str, Callable[[Callable[[int], int]], Iterator[tuple[str, str, int]]]]] = {
    "sns3-rbdc": sns3_rate,
    "sns3-rbdc-cra50": lambda arrivals: sns3_rate(arrivals, 50),
    "sns3-vbdc": sns3_volume,
    "sns3-vbdc-lost": lambda arrivals: sns3_volume(arrivals, 1),
    "opensand-rbdc": lambda arrivals: opensand(arrivals, "rbdc", SYNC_FRAMES),
    "opensand-rbdc-sync10": lambda arrivals: opensand(arrivals, "rbdc", 10),
    "opensand-vbdc": lambda arrivals: opensand(arrivals, "vbdc", SYNC_FRAMES),
}


def rows() -> Iterator[Row]:
    """Yields the table `requests`."""
    for rule, requests in RULES.items():
        source = "sns3-satellite e543342" if rule.startswith("sns3") else "OpenSAND 9fff1c0"
        for pattern, arrivals in PATTERNS.items():
            sequence = list(requests(arrivals))
            while sequence[-1][1] == "none" and " queue=0" in sequence[-1][0].replace("_bits", ""):
                sequence.pop()
            for where, kind, value in sequence:
                unit = "byte" if rule.startswith("sns3-vbdc") else "kbit" if rule == "opensand-vbdc" else "kbit/s"
                yield Row(
                    f"request {unit}", f"rule={rule} pattern={pattern} {where} kind={kind}", str(value), "", "0", source,
                    "capacity_requests",
                )  # fmt: skip


COMMENT: Final = """
Capacity requests of one terminal. t_ms or frame is the instant of the evaluation; arrived counts bytes (bits) since the last
evaluation (OpenSAND RBDC: since the last request that was sent, frames ago); queue is what is queued; assigned is what
the plans since the last evaluation granted. kind=none: no request is sent. Queue and assigned follow from a beam that
grants each request 7 superframes (20 frames) later (-lost: all but the first); a model of the terminal needs only the
columns. Evaluations after the last request, with an empty queue, are left out. Volumes stay below 65 536 byte, above which
SNS3's 16-bit argument wraps. The constant bit rate (-cra50: CRA of 50 kbit/s) serves without a request.
Checked by hand:
sns3-rbdc single, 200 ms: Rin = 8 x 1500 / .1 s = 120 kbit/s; 1.1 x 120 = 132; backlog 12 - 13.2 < 0: R = 132 <= 256 x 1.
sns3-rbdc burst, 300 ms: 1.1 x 2400 = 2640 kbit/s; backlog 240 - 264 < 0; step 16 (256 x 16 = 4096): 165 x 16 = 2640.
sns3-rbdc constant, 100 ms: Rin = 129.04 kbit/s; 1.1 x 129.04 = 141.944, truncated to 141 before rounding up; 200 ms: backlog
  25.808 - 14.1944 - 14.1 kbit < 0: 141.
sns3-rbdc-cra50 single, 200 ms: 132 - 50 = 82.
sns3-vbdc single, 200 ms: nothing pending: AVBDC, 1.1 x 1500 = 1650, step 8 (256 x 8 = 2048): 207 x 8 = 1656 byte.
sns3-vbdc-lost single, 900 ms: last request at 200 ms, more than 600 ms ago, 1656 byte pending: AVBDC of the queue, 1656.
sns3-vbdc constant, 100 ms: AVBDC 1.1 x 1613 = 1774, 222 x 8 = 1776; 200 ms: 1776 pending: VBDC of the arrivals, 1776.
opensand-rbdc single, frame 38: 12 000 bit / (38 x 26.5 ms) = 11.9 -> 11; 12 000 / (23 x 26.5 ms) = 19.7 -> 19: 30 kbit/s.
opensand-vbdc single, frame 38: ceil(12 000 / 1000) = 12 kbit.
"""
