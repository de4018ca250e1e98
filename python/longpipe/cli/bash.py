"""Support for completion in bash, which splits words at `=` and `:` and expects only the last part as an answer.

For `--set switch.policy=co`, bash requests the completion of the third of the words `switch.policy`, `=` and `co`, and
expects `codel` as an answer, whereas Typer completes the joined word `switch.policy=co` to `switch.policy=codel`.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

# Environment variable by which a shell requests a completion, and characters at which bash splits words.
REQUEST: Final = "_LONGPIPE_COMPLETE"
BREAKS: Final = frozenset("=:")


@contextlib.contextmanager
def joined_words() -> Iterator[None]:
    """Joins words that bash has split at a colon or an equals sign; completions then contain only the last part."""
    # Bash sends one word per line.
    words = os.environ.get("COMP_WORDS", "").split("\n")
    if os.environ.get(REQUEST) != "complete_bash" or len(words) < 2:
        yield
        return
    request = joined(words, int(os.environ["COMP_CWORD"]))
    os.environ |= {"COMP_WORDS": "\n".join(request.words), "COMP_CWORD": str(request.current)}
    answer = io.StringIO()
    try:
        with contextlib.redirect_stdout(answer):
            yield
    finally:
        sys.stdout.writelines(f"{line.removeprefix(request.prefix)}\n" for line in answer.getvalue().splitlines())


class Request(NamedTuple):
    """Joined words, the index of the word to complete, and the beginning of it that bash does not expect in answers."""

    words: list[str]
    current: int
    prefix: str


def joined(words: Sequence[str], current: int) -> Request:
    """Joins the parts into which bash split words; `current` is the index of the part to complete."""
    whole_words: list[str] = []
    index, prefix, is_after_break = current, "", False
    for number, part in enumerate(words):
        is_break = bool(part) and set(part) <= BREAKS
        # A break, and a part that follows one, continue the previous word.
        if whole_words and (is_break or (is_after_break and part)):
            beginning = whole_words[-1]
            whole_words[-1] += part
            if number == current:
                # With the cursor directly behind a break, bash expects only what follows the break.
                index, prefix = len(whole_words) - 1, whole_words[-1] if is_break else beginning
        else:
            whole_words.append(part)
            if number == current:
                index = len(whole_words) - 1
        is_after_break = is_break
    return Request(whole_words, index, prefix)
