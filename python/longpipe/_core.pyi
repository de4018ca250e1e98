from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["ScenarioError", "__engine__", "__version__", "run", "variant_names"]

__version__: str
__engine__: str

class ScenarioError(ValueError): ...

def run(
    scenario_json: str,
    seed: int,
    progress: Callable[[float], None] | None = None,
    captures: Sequence[tuple[str, int, str]] = ...,
) -> dict[str, Any]: ...
def variant_names() -> dict[str, list[str]]: ...
