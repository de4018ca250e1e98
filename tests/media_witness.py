"""Independent media rate control: computes the frames with which Rust's tests compare the traffic `media`.

It follows the section "Media Rate Control" of draft-ietf-ccwg-rfc8298bis-screamv2 (August 2026), and shares no code with longpipe.
`python tests/media_witness.py` writes the table, `crates/network/src/traffic/media_witness.csv`: a row for each frame.
"""

import random
from collections.abc import Iterator
from pathlib import Path

TABLE = Path(__file__).parent.parent / "crates/network/src/traffic/media_witness.csv"
HEADER = "time_us,permitted_bps,factor,sent,bytes,rate_adjust,frame_size_dev"
FRAME_S, MIN_BPS, MAX_BPS = 0.02, 150e3, 20e6


class Encoder:
    """State of the encoder, and the frames in its queue: the time of each, and the byte at which it ends."""

    def __init__(self) -> None:
        self.rate_adjust_factor = self.frame_size_dev = 0.0
        self.written = 0
        self.queue: list[tuple[int, int]] = []

    def frame(self, now_us: int, permitted_bps: float, factor: float, sent: int) -> int:
        """Writes a frame and returns its size; `permitted_bps` is the target bitrate without both compensations."""
        self.queue = [(time, end) for time, end in self.queue if end > sent]
        media_qdelay = (now_us - self.queue[0][0]) / 1e6 if self.queue else 0.0
        target_bitrate = permitted_bps * 1.2 / (1.2 + self.rate_adjust_factor + self.frame_size_dev)
        target_bitrate = min(MAX_BPS, max(MIN_BPS, target_bitrate))
        frame_size_nom = target_bitrate * FRAME_S / 8
        frame_size = max(1, int(frame_size_nom * factor))
        error = (media_qdelay - FRAME_S / 4) / FRAME_S
        self.rate_adjust_factor = min(0.5, max(0.0, self.rate_adjust_factor + error / 16))
        deviation = max(0.0, (frame_size - frame_size_nom) / frame_size_nom)
        self.frame_size_dev = min(0.2, 63 / 64 * self.frame_size_dev + deviation / 64)
        self.written += frame_size
        self.queue.append((now_us, self.written))
        return frame_size


def rows() -> Iterator[str]:
    draws = random.Random(8298)
    encoder, sent = Encoder(), 0
    for number in range(600):
        now_us = number * 20_000
        permitted = draws.choice((50e3, 1e6, 3e6, 8e6, 40e6))
        factor = draws.randrange(32, 97) / 64 if number > 100 else 1.0
        # For a time, the network takes less than the encoder writes.
        backlog = draws.randrange(0, 60_000) if number % 200 > 120 else draws.randrange(0, 2_000)
        sent = max(sent, encoder.written - backlog)
        size = encoder.frame(now_us, permitted, factor, sent)
        yield f"{now_us},{permitted!r},{factor!r},{sent},{size},{encoder.rate_adjust_factor!r},{encoder.frame_size_dev!r}"


if __name__ == "__main__":
    TABLE.write_text("\n".join([HEADER, *rows()]) + "\n", encoding="utf-8")
