"""Grammar of packetdrill scripts, as far as it concerns a sender."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

import pyparsing as pp

from longpipe.units import TIME
from longpipe_evidence.validate.packetdrill.outcome import NotUnderstoodError


@dataclass(frozen=True, slots=True)
class When:
    """Time range of a statement's event [ps], relative to the start of the script or to the previous event."""

    kind: Literal["absolute", "relative", "any"]
    earliest_ps: int = 0
    latest_ps: int = 0


@dataclass(frozen=True, slots=True)
class Packet:
    """A segment to deliver or to expect; sequence numbers are those in the script."""

    inbound: bool
    ecn: str
    flags: str
    start: int
    end: int
    length: int
    acknowledgement: int | None
    window: int | None
    # Options by name, with SACK blocks as pairs; None if any options are accepted.
    options: dict[str, object] | None


@dataclass(frozen=True, slots=True)
class Call:
    """A system call."""

    name: str
    arguments: tuple[str, ...]
    result: str


@dataclass(frozen=True, slots=True)
class Code:
    """Python code about the connection."""

    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command."""

    text: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A command line option of packetdrill."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its line and its text."""

    line: int
    text: str
    when: When
    what: Packet | Call | Code | Command | Flag


# White space and comments between statements.
_GAP: Final = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
# Maximum lengths of a statement, and of a statement quoted in a message [characters].
_MAX_LETTERS: Final = 1 << 16
_SHOWN: Final = 200
# Time of a statement without one: that of the previous statement.
_AT_ONCE: Final = When("relative")


def _ps(seconds: str) -> int:
    return int(Decimal(seconds) * TIME.parse("1 s"))


def _statement() -> pp.ParserElement:
    """Returns the grammar of one statement: a time, followed by a packet, a call, or code."""
    # The lengths ensure that numbers fit in 64 bits, and times have a resolution of 1 ps.
    number = pp.Regex(r"[0-9]{1,12}(?:\.[0-9]{1,12})?|\.[0-9]{1,12}")
    integer = pp.Regex(r"[0-9]{1,18}").set_parse_action(lambda tokens: int(tokens[0]))

    sign = pp.Opt("+", default="")
    when = (pp.Literal("*") | sign + number + pp.Opt(pp.Suppress("~" + sign) + number)).set_parse_action(_when)

    block = pp.Group(integer + pp.Suppress(":") + integer)
    numbered = {name: pp.Keyword(name) + integer for name in ("mss", "wscale")}
    timestamps = pp.Keyword("TS") + pp.Suppress("val") + integer + pp.Suppress("ecr" + integer)
    blocks = pp.Keyword("sack") + pp.Group(pp.OneOrMore(block))
    without_value = pp.one_of("sackOK nop eol", as_keyword=True)
    option = pp.Group(numbered["mss"] | numbered["wscale"] | timestamps | blocks | without_value)
    any_options = pp.Literal("...").set_parse_action(lambda: [None])
    options = pp.Suppress("<") + pp.Group(any_options | pp.DelimitedList(option)) + pp.Suppress(">")
    packet = (
        pp.one_of("< >")("direction")
        + pp.Opt(pp.Suppress("[") + pp.one_of("noecn ect0 ect1 ect01 ce") + pp.Suppress("]"))("ecn")
        + pp.Regex(r"[SFRPEWA.]+")("flags")
        + integer("start")
        + pp.Suppress(":")
        + integer("end")
        + pp.Suppress("(")
        + integer("length")
        + pp.Suppress(")")
        + pp.Opt(pp.Suppress(pp.Keyword("ack")) + integer("acknowledgement"))
        + pp.Opt(pp.Suppress(pp.Keyword("win")) + integer("window"))
        + pp.Opt(options("options"))
    ).set_parse_action(_packet)

    argument = pp.Forward()
    inside = pp.ZeroOrMore(argument | ",")
    bracketed = ("[" + inside + "]") | ("{" + inside + "}") | ("(" + inside + ")")
    argument <<= pp.Combine(bracketed, adjacent=False) | pp.dbl_quoted_string | pp.Regex(r"[^\s,()\[\]{}\"]+")
    call = (
        pp.Opt(pp.Suppress("..." + number))
        + pp.Regex(r"[a-z_]\w*")("name")
        + pp.Suppress("(")
        + pp.Group(pp.Opt(pp.DelimitedList(pp.Combine(pp.OneOrMore(argument), adjacent=False, join_string=" "))))(
            "arguments"
        )
        + pp.Suppress(")")
        + pp.Suppress("=")
        + pp.Regex(r"-?\w+|\.\.\.")("result")
        + pp.Opt(pp.Regex(r"E[A-Z]+") + pp.Opt(pp.Regex(r"\([^)]*\)")))
    ).set_parse_action(lambda tokens: Call(tokens["name"], tuple(tokens["arguments"]), tokens["result"]))

    inner = pp.SkipTo("}%").leave_whitespace()
    code = (pp.Suppress("%{") + inner + pp.Suppress("}%")).set_parse_action(lambda tokens: Code(tokens[0]))
    shell = (pp.Suppress("`") + pp.SkipTo("`") + pp.Suppress("`")).set_parse_action(lambda tokens: Command(tokens[0]))
    name_and_value = pp.Suppress("--") + pp.Regex(r"\w+")("name") + pp.Suppress("=") + pp.Regex(r"\S+")("value")
    flag = name_and_value.set_parse_action(lambda tokens: Flag(tokens["name"], tokens["value"]))

    timed = when + (packet | code | shell | call)
    return pp.Located(timed | shell | flag).parse_with_tabs()


def _when(tokens: pp.ParseResults) -> When:
    if tokens[0] == "*":
        return When("any")
    sign, *seconds = tokens
    times = [_ps(text) for text in seconds]
    return When("relative" if sign == "+" else "absolute", times[0], times[-1])


def _packet(tokens: pp.ParseResults) -> Packet:
    """Returns a parsed packet."""
    options: dict[str, object] | None = {}
    for option in tokens["options"][0] if "options" in tokens else ():
        if option is None:
            options = None
        elif options is not None:
            name, *values = option
            options[str(name)] = (
                [tuple(block) for block in values[0]] if name == "sack" else values[0] if values else True
            )
    named = tokens.as_dict()
    ecn = named.get("ecn", "")
    return Packet(
        inbound=tokens["direction"] == "<",
        ecn=ecn if isinstance(ecn, str) else "".join(ecn),
        flags=tokens["flags"],
        start=tokens["start"],
        end=tokens["end"],
        length=tokens["length"],
        acknowledgement=named.get("acknowledgement"),
        window=named.get("window"),
        options=options,
    )


_STATEMENT: Final = _statement()


def parse(text: str) -> list[Statement]:
    """Returns the statements of a script in order. Raises NotUnderstoodError with the line of a syntax error."""
    statements = []
    previous_end, line = 0, 1
    at = _end_of_gap(text, 0)
    while at < len(text):
        line += text.count("\n", previous_end, at)
        previous_end = at
        # Only this much of the script is parsed at once, which bounds the time for a statement that does not end.
        try:
            _, parts, length = _STATEMENT.parse_string(text[at : at + _MAX_LETTERS])
        except (pp.ParseException, RecursionError):
            raise NotUnderstoodError(text[at : at + _SHOWN].splitlines()[0].strip(), line) from None
        when, what = parts if len(parts) > 1 else (_AT_ONCE, parts[0])
        written = " ".join(text[at : at + length].split())
        statements.append(Statement(line, written, when, what))
        at = _end_of_gap(text, at + length)
    return statements


def _end_of_gap(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return at if gap is None else gap.end()
