"""Completion in bash, which splits `switch.policy=epd` at `=`, other words at `:`, and wants the last part back."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Final

ASKED: Final = "_LONGPIPE_COMPLETE"
BREAKS: Final = frozenset("=:")


@contextlib.contextmanager
def whole_words() -> Iterator[None]:
    """Has bash's request name whole words, and its answer the part that bash has split off; nothing else changes."""
    # Bash sends a word a line.
    words = os.environ.get("COMP_WORDS", "").split("\n")
    if os.environ.get(ASKED) != "complete_bash" or len(words) < 2:
        yield
        return
    whole, current, before = joined(words, int(os.environ["COMP_CWORD"]))
    os.environ |= {"COMP_WORDS": "\n".join(whole), "COMP_CWORD": str(current)}
    answer = io.StringIO()
    try:
        with contextlib.redirect_stdout(answer):
            yield
    finally:
        sys.stdout.writelines(f"{line.removeprefix(before)}\n" for line in answer.getvalue().splitlines())


def joined(words: Sequence[str], current: int) -> tuple[list[str], int, str]:
    """Words put together again, which of them has number `current`, and what stands before that: "switch.policy="."""
    whole: list[str] = []
    found, before, open_ = current, "", False
    for number, word in enumerate(words):
        is_break = bool(word) and set(word) <= BREAKS
        if whole and (is_break or (open_ and word)):
            begun = whole[-1]
            whole[-1] += word
            if number == current:
                found, before = len(whole) - 1, whole[-1] if is_break else begun
        else:
            whole.append(word)
            if number == current:
                found = len(whole) - 1
        open_ = is_break
    return whole, found, before
