"""Lengths of monitor intervals: a time, round trips or ACKs."""

from longpipe.units import TIME

NEEDS = "needs a time, round trips or ACKs, as in '10 ms', '1 RTT' or '50 ACKs'"


def interval_length(text: str) -> tuple[str, float]:
    """Returns the kind of a length, "time" [s], "round-trips" or "acks", and its number.

    Raises ValueError for other text.
    """
    number, _, unit = str(text).partition(" ")
    kind = {"rtt": "round-trips", "ack": "acks"}.get(unit.strip().lower().removesuffix("s"))
    if kind is not None:
        count = float(number)
        if not 0 < count <= 1e6 or (kind == "acks" and count != int(count)):
            raise ValueError(NEEDS)
        return kind, count
    seconds = TIME.parse(" ".join(str(text).split())) / 1e12
    if not 0 < seconds <= 1000:
        raise ValueError(NEEDS)
    return "time", seconds
