"""Measurement of the machine's own timing accuracy, by a thread that carries no packets."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from longpipe import _core
from longpipe.live.awake import Awake
from longpipe.live.carrier import Settings
from longpipe.live.priority import hurry
from longpipe.live.stolen import shown, stolen_s, stolen_since


@dataclass(frozen=True)
class Alone:
    """Quantiles of the lateness [s], and the timing measures (priority, no halting) that the machine permitted."""

    lateness_s: dict[str, float | None]
    said: str


def alone(settings: Settings, seconds: float) -> Alone:
    """Measures, for `seconds`, how late a thread that only reads the clock notices deadlines that are 10 µs apart."""

    def look() -> tuple[dict[str, float | None], str]:
        priority = hurry(wanted=settings.real_time)
        return _core.live_alone(round(seconds * 1e9), priority.is_real_time), priority.text

    with Awake(wanted=settings.awake) as awake, ThreadPoolExecutor(1) as threads:
        before_s = stolen_s()
        lateness_s, priority = threads.submit(look).result()
        taken_s = stolen_since(before_s)
    return Alone(lateness_s, f"{priority}; {awake.text}{shown(taken_s, seconds)}")
