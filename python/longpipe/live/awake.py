"""Processors that stay awake: one that halts wakes later, in a virtual machine when its host has time for it."""

import contextlib
import os
from pathlib import Path
from typing import Final

# How long waking may take at most, for as long as it is open; the kernel closes it however a process ends
# (Documentation/power/pm_qos_interface.rst).
DEVICE: Final = Path("/dev/cpu_dma_latency")
# Who heeds it; "none" where idle processors just halt.
DRIVER: Final = Path("/sys/devices/system/cpu/cpuidle/current_driver")
# 0 µs, in 32 bits.
_AT_ONCE: Final = bytes(4)


class Awake:
    """Asks idle processors not to halt, from `with` to its end, where that is permitted; `said` tells."""

    def __init__(self, *, wanted: bool, device: Path = DEVICE, driver: Path = DRIVER) -> None:
        self.said = "idle processors may halt, as asked"
        self._wanted, self._device, self._driver = wanted, device, driver
        self._descriptor: int | None = None

    def __enter__(self) -> "Awake":
        if self._wanted:
            self.said = self._ask()
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _ask(self) -> str:
        try:
            self._descriptor = os.open(self._device, os.O_WRONLY | os.O_CLOEXEC)
            os.write(self._descriptor, _AT_ONCE)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            return f"idle processors may halt: {self._device}, {reason}; needs root, or one that may be written"
        with contextlib.suppress(OSError):
            if self._driver.read_text().strip() != "none":
                return f"idle processors are kept awake ({self._device})"
        return f"idle processors may halt: no cpuidle driver heeds {self._device}"
