"""Processors are kept awake while packets are carried: tests the request to the kernel, its end, and the output."""

import os
from pathlib import Path

import pytest

from live_programs import counted
from longpipe.live.awake import DEVICE, DRIVER, Awake


def _heeded() -> bool:
    return os.access(DEVICE, os.W_OK) and DRIVER.exists() and DRIVER.read_text().strip() != "none"


def _held() -> set[Path]:
    """Returns the files that this process has open."""
    return {one.resolve() for one in Path("/proc/self/fd").iterdir()}


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    file = tmp_path / "current_driver"
    file.write_text("haltpoll\n")
    return file


def test_latency_of_zero_is_requested_until_the_end(tmp_path: Path, driver: Path) -> None:
    device = tmp_path / "cpu_dma_latency"
    device.write_bytes(b"")
    with Awake(wanted=True, device=device, driver=driver) as awake:
        assert device.read_bytes() == bytes(4)
        assert awake.text == f"idle processors are kept awake ({device})"
        assert device in _held()
    assert device not in _held()


def test_denied_and_ignored_settings_are_reported(tmp_path: Path, driver: Path) -> None:
    nowhere, device = tmp_path / "nowhere", tmp_path / "cpu_dma_latency"
    with Awake(wanted=True, device=nowhere, driver=driver) as awake:
        assert awake.text == (
            f"idle processors may halt: {nowhere}, no such file or directory; needs root, or a writable device"
        )
    device.write_bytes(b"")
    driver.write_text("none\n")
    for unheeded in (driver, nowhere):
        with Awake(wanted=True, device=device, driver=unheeded) as awake:
            assert awake.text == f"idle processors may halt: no cpuidle driver honors {device}"
    device.write_bytes(b"")
    with Awake(wanted=False, device=device, driver=driver) as awake:
        assert (awake.text, device.read_bytes()) == ("idle processors may halt, as requested", b"")


@pytest.mark.usefixtures("namespaces")
def test_timing_report_states_whether_processors_stay_awake(idle: str, tmp_path: Path) -> None:
    look = f"od -An -td4 {DEVICE}" if _heeded() else "true"
    found = counted(tmp_path, idle, "--alone", "--", "sh", "-c", look)
    assert f"live: {found['halting']}" in found["stderr"]
    if _heeded():
        assert found["stdout"].split() == ["0"]
        assert found["halting"] == f"idle processors are kept awake ({DEVICE})"
    else:
        assert found["halting"].startswith("idle processors may halt: ")
    found = counted(tmp_path, idle, "--alone", "--let-halt", "--", "true")
    assert found["halting"] == "idle processors may halt, as requested"
