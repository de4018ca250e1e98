"""Support for completion in bash, which splits words at `=` and `:` and expects only the last part as an answer."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Final

ASKED: Final = "_LONGPIPE_COMPLETE"
BREAKS: Final = frozenset("=:")


@contextlib.contextmanager
def joined_words() -> Iterator[None]:
    """Joins the split words of bash's request, and reduces the answers to the part after the split."""
    # Bash sends one word per line.
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
    """Returns joined words, the index of the current one, and the prefix before the split: "switch.policy="."""
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
