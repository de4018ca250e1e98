from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Self, final

__all__ = [
    "DefectError",
    "Endpoint",
    "LiveWatch",
    "MemoryLimitError",
    "ScenarioError",
    "__engine__",
    "__version__",
    "live_alone",
    "live_replay",
    "live_run",
    "module_calls",
    "module_name",
    "register_module",
    "run",
    "variant_names",
]

__version__: str
__engine__: str

class DefectError(RuntimeError): ...
class MemoryLimitError(RuntimeError): ...
class ScenarioError(ValueError): ...

def run(
    scenario_json: str,
    seed: int,
    progress: Callable[[float], None] | None = None,
    captures: Sequence[tuple[str, int, str]] = ...,
    memory_bytes: int = ...,
) -> dict[str, Any]: ...
def variant_names() -> dict[str, list[str]]: ...
def register_module(digest: str, file: str | PathLike[str], name: str) -> None: ...
def module_calls() -> int: ...
def module_name(file: str | PathLike[str], shown: str, parameters: Sequence[tuple[str, str]], hz: int) -> str: ...

@final
class Endpoint:
    def __new__(cls, tcp_json: str) -> Self: ...
    def write(self, count: int) -> None: ...
    def ack(
        self, now_ps: int, acknowledgement: int, blocks: Sequence[tuple[int, int]], echoes_mark: bool, window: int
    ) -> None: ...
    def next_timeout(self) -> int | None: ...
    def on_timeout(self, now_ps: int) -> None: ...
    def poll(self, now_ps: int) -> list[tuple[int, int, bool]]: ...
    def info(self) -> dict[str, int]: ...

@final
class LiveWatch:
    def __init__(self) -> None: ...
    def read(self) -> dict[str, Any]: ...

def live_alone(lasts_ns: int, real_time: bool) -> dict[str, float | None]: ...
def live_run(
    scenario_json: str,
    seed: int,
    hosts: Sequence[tuple[Sequence[str], int, bytes | None]],
    ways: Sequence[tuple[int, int, int, int]],
    longest: int,
    options: tuple[int, int, bool, int | None],
    stop: int,
    watch: LiveWatch,
    record: str | None = None,
    capture: str | None = None,
) -> dict[str, Any]: ...
def live_replay(scenario_json: str, seed: int, file: str, offset: int) -> dict[str, Any]: ...
