from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["DefectError", "MemoryLimitError", "ScenarioError", "__engine__", "__version__", "run", "variant_names"]

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
