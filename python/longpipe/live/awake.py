"""Keeps idle processors awake, because processors that were halted wake up late, especially in virtual machines."""

import contextlib
import os
from pathlib import Path
from typing import Final

# Device that requests a maximum wake-up latency while it is open (Documentation/power/pm_qos_interface.rst). The kernel
# closes it when the process ends.
DEVICE: Final = Path("/dev/cpu_dma_latency")
# The driver that honors the request; "none" if idle processors just halt.
DRIVER: Final = Path("/sys/devices/system/cpu/cpuidle/current_driver")
# Requested latency: 0 µs, as a 32-bit number.
_AT_ONCE: Final = bytes(4)


class Awake:
    """Context manager that keeps idle processors from halting, if that is permitted; `said` describes the result."""

    def __init__(self, *, wanted: bool, device: Path = DEVICE, driver: Path = DRIVER) -> None:
        self.text = "idle processors may halt, as requested"
        self._wanted, self._device, self._driver = wanted, device, driver
        self._descriptor: int | None = None

    def __enter__(self) -> "Awake":
        if self._wanted:
            self.text = self._request()
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _request(self) -> str:
        try:
            self._descriptor = os.open(self._device, os.O_WRONLY | os.O_CLOEXEC)
            os.write(self._descriptor, _AT_ONCE)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            return f"idle processors may halt: {self._device}, {reason}; needs root, or a writable device"
        with contextlib.suppress(OSError):
            if self._driver.read_text().strip() != "none":
                return f"idle processors are kept awake ({self._device})"
        return f"idle processors may halt: no cpuidle driver honors {self._device}"
