"""Lines about errors in the hooks of classes, with the file and line of the user's code."""

import inspect
import traceback
from itertools import takewhile
from types import FrameType

from longpipe.controls import classes
from longpipe.controls.control import Control
from longpipe.user_code import execution, file_modules


def failure(error: BaseException, name: str, hook: str, at_s: float) -> str:
    """Returns a line about an error in a hook of the class with a name, with the file and line of the error.

    An error without a line in the user's code has the line of the hook, in the first loaded class with this name.
    """
    location = execution.place(error.__traceback__)
    if not location:
        cls = next((loaded_class.cls for loaded_class in classes.loaded() if loaded_class.name == name), None)
        location = f"{name if cls is None else hook_place(cls, hook)}: "
    text = " ".join(file_modules.with_plain_names(str(error)).split())
    return f"{location}{type(error).__name__}: {text} (in {hook} of {name}, at {at_s:.6f} s)"


def place_in_hook(frame: FrameType | None, what: str) -> str | None:
    """Returns a line about a hook that is being executed, in the format of `failure`; None if `frame` is in no hook."""
    stack = [frame_type for frame_type, _ in traceback.walk_stack(frame)]
    users = list(takewhile(lambda user_frame: execution.is_of_user(user_frame.f_code.co_filename), stack))
    if not users or len(users) == len(stack):
        return None
    code, values = users[-1].f_code, users[-1].f_locals
    arguments = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    control = next((argument for argument in arguments if isinstance(argument, Control)), None)
    if control is None:
        return None
    names = (loaded_class.name for loaded_class in classes.loaded() if loaded_class.cls is type(control))
    at_s = next((now for argument in arguments if isinstance(now := getattr(argument, "now", None), float)), None)
    place = f"{execution.shown_path(users[0].f_code.co_filename)}:{users[0].f_lineno}"
    when = "" if at_s is None else f", at {at_s:.6f} s"
    return f"{place}: {what} (in {code.co_name} of {next(names, type(control).__qualname__)}{when})"


def hook_place(cls: type, hook: str) -> str:
    """Returns the file and line of a hook; the name of the class for a hook without code in Python."""
    method = inspect.getattr_static(cls, hook, None)
    function = getattr(method, "function", method)
    code = getattr(function, "__code__", None)
    return f"{execution.shown_path(code.co_filename)}:{code.co_firstlineno}" if code else cls.__qualname__
