"""Repetition of transactions while a database server restarts."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from longpipe.store.errors import LostError

# Time [s] for which a transaction is repeated, and maximum time between two attempts.
PATIENCE_S: Final = 90.0
_LONGEST_WAIT_S: Final = 2.0

_log = logging.getLogger(__name__)

_P = ParamSpec("_P")
_T = TypeVar("_T")


def persistent(transaction: Callable[_P, _T]) -> Callable[_P, _T]:
    """Decorator: repeats a transaction that fails with LostError for `PATIENCE_S`, then raises the error.

    The transaction must have the same effect if it is executed twice, because a server may end between the commit and
    the answer.
    """

    @wraps(transaction)
    def repeated(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return transaction(*args, **kwargs)
        except LostError as error:
            _log.warning("%s; trying again for %.0f s", error, PATIENCE_S)
        # Imported here because most campaigns never need it.
        import tenacity

        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(LostError),
            wait=tenacity.wait_random_exponential(multiplier=0.1, max=_LONGEST_WAIT_S),
            stop=tenacity.stop_after_delay(PATIENCE_S),
            reraise=True,
        )
        return retrying(transaction, *args, **kwargs)

    return repeated
