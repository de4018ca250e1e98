"""Measures that are Python functions of a result, named as in "measures.py:share" or "package.module:share"."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from longpipe.errors import ScenarioError, nearest, shortened
from longpipe.measures.dimensions import BITS, BITS_PER_SECOND, SECONDS, Dimension, shown_in
from longpipe.user_code import execution, trust

if TYPE_CHECKING:
    from types import ModuleType

    from longpipe.result import Result
    from longpipe.scenario import Scenario

TARGET: Final = re.compile(r"(?P<module>.+\.py|[A-Za-z_][\w.]*):(?P<function>[A-Za-z_]\w*)")
NEEDS: Final = "needs a function that takes a result and returns a number, as 'file.py:function' or 'module:function'"
_NEEDS_MEASURE: Final = "needs the name of a measure, an expression such as 'throughput/4', or a function of a result"
_ENDINGS: Final[dict[str, tuple[float, Dimension]]] = {
    "_bps": (1.0, BITS_PER_SECOND),
    "_bytes": (8.0, BITS),
    "_s": (1.0, SECONDS),
}

# Functions that were given as objects, by target; a script must not be executed again to find its functions.
_of_process: dict[str, Callable[[Any], Any]] = {}


@dataclass(frozen=True)
class FunctionMeasure:
    """A measure that calls a function with each result.

    The unit of its values is bit/s, bytes or s if the measure's name, or else the function's, ends in `_bps`, `_bytes`
    or `_s`; otherwise there is none. A function is loaded when it is first needed, so a study can be opened without it.
    """

    name: str
    target: str
    _loaded: list[Callable[[Any], Any]] = field(default_factory=list, repr=False, compare=False)
    # Whether a store, and not the user, names the function.
    of_store: bool = field(default_factory=trust.is_named_by_store, repr=False, compare=False)

    @classmethod
    def parse(cls, name: str, target: str) -> FunctionMeasure:
        """Returns the measure of a target that matches `TARGET`; the path of a file is made absolute."""
        module, _, function = target.rpartition(":")
        if module.endswith(".py"):
            target = f"{Path(module).absolute()}:{function}"
        return cls(name or function, target)

    @classmethod
    def of(cls, function: Callable[[Any], Any]) -> FunctionMeasure:
        """Returns the measure of a function. Studies can store it if the function can be found by name in its module.

        Raises ScenarioError for an object that is not callable.
        """
        if not callable(function):
            raise ScenarioError(f"measure: {shortened(repr(function), 60)}; {_NEEDS_MEASURE}")
        name = getattr(function, "__qualname__", type(function).__name__).rpartition(".")[2]
        name = re.sub(r"\W+", "", name) or "measure"
        module = sys.modules.get(getattr(function, "__module__", None) or "")
        file = getattr(module, "__file__", None)
        module_name = str(Path(file).absolute()) if file else getattr(function, "__module__", "__main__")
        target = f"{module_name}:{name}"
        if module is None or getattr(module, name, None) is not function:
            # The module may contain another lambda with the same name.
            same = (f"{target}_{i}" for i in range(len(_of_process) + 1))
            target = next(candidate for candidate in same if _of_process.get(candidate, function) is function)
        _of_process[target] = function
        return cls(name, target, [function])

    @property
    def dimension(self) -> Dimension:
        """Dimension of the values, derived from the suffix of a name."""
        return self._ending[1]

    @property
    def factor(self) -> float:
        """Factor that converts a value to bits and seconds."""
        return self._ending[0]

    @property
    def unit(self) -> str:
        """Unit in table headings."""
        return shown_in(self.dimension)[0]

    @property
    def scale(self) -> float:
        """Divisor that converts a value to this unit."""
        return shown_in(self.dimension)[1] / self.factor

    @property
    def _ending(self) -> tuple[float, Dimension]:
        """Factor and dimension by the suffix of the measure's name, or else of the function's."""
        names = self.name, self.target.rpartition(":")[2]
        endings = (_ENDINGS[ending] for name in names for ending in _ENDINGS if name.endswith(ending))
        return next(endings, (1.0, None))

    def __str__(self) -> str:
        return f"{self.name}={self.target}"

    def check(self, _scenario: Scenario) -> None:
        """Raises ScenarioError if the function cannot be loaded; a function that a store names is not loaded."""
        if not (self.of_store or trust.is_named_by_store()):
            self._function()

    def __call__(self, result: Result) -> float:
        """Returns the function's value; raises ScenarioError if the function fails or does not return a number."""
        function = self._function()
        try:
            with trust.named_by_user():
                value = execution.execute(lambda: function(result))
        except ScenarioError:
            raise
        except execution.UserCodeError as error:
            raise ScenarioError(f"measure: {self.name!r}: {self.target}: {error}") from None
        except Exception as error:
            raise ScenarioError(f"measure: {self.name!r}: {type(error).__name__}: {error} in {self.target}") from error
        if not isinstance(value, Real):
            kind = type(value).__name__
            raise ScenarioError(f"measure: {self.name!r}: {self.target} returned a {kind}; needs a number")
        return float(value)

    def _function(self) -> Callable[[Any], Any]:
        if not self._loaded:
            with trust.named_by_store() if self.of_store else nullcontext():
                self._loaded.append(_function(self.name, self.target))
        return self._loaded[0]


def _installed(name: str) -> ModuleType:
    trust.require(name, trust.digest_of_name(name))
    with trust.named_by_user():
        return importlib.import_module(name)


def _from_file(path: Path) -> ModuleType:
    # Imported here so that commands without functions of files start faster.
    from longpipe.user_code.file_modules import load

    return load(path)


def _function(name: str, target: str) -> Callable[[Any], Any]:
    """Loads the function of a target. Raises a ScenarioError that names the measure if that fails."""
    if target in _of_process:
        return _of_process[target]
    module_name, _, attribute = target.rpartition(":")
    try:
        module = execution.execute(
            lambda: _from_file(Path(module_name)) if module_name.endswith(".py") else _installed(module_name)
        )
    except ScenarioError:
        raise
    except execution.UserCodeError as error:
        raise ScenarioError(f"measure: {name!r}: {target}: {error}") from None
    except Exception as error:
        from longpipe.user_code.file_modules import with_plain_names

        text = f"{type(error).__name__}: {with_plain_names(str(error))}"
        raise ScenarioError(f"measure: {name!r}: {target}: {text}; {NEEDS}") from error
    function = getattr(module, attribute, None)
    if not callable(function):
        functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        accepted = nearest(attribute, functions, 10) if functions else "the file has none"
        raise ScenarioError(f"measure: {name!r}: {module_name} has no function {attribute!r}; {accepted}")
    return function  # type: ignore[no-any-return]
