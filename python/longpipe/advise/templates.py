"""Scenarios for `longpipe advise` without a scenario file: a gateway that serves users and telephone calls."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final

from longpipe.errors import ScenarioError
from longpipe.scenario.base import kinds_that
from longpipe.scenario.policies import Codel, Pie, Policy
from longpipe.units import RATE, SIZE, TIME, Dimension

# Traffic of a user: on average a batch of five files of 117 KB every 20 s, which is 235 kbit/s.
CYCLE: Final = "20 s"
# Number of users per endless download.
USERS_PER_DOWNLOAD: Final = 40
# Delay of each access link and of each exit link.
NEAR: Final = TIME.parse("1 ms")
# Simulated time; long enough that slow starts in the first quarter of a minute have little influence.
DURATION: Final = "60 s"
# Queueing delay that a call tolerates: ITU-T G.114 recommends at most 150 ms one way, part of which is needed by the
# codec, playout and the remote network.
CALL_QUEUEING: Final = TIME.parse("60 ms")
CALL_LOSS: Final = "1 %"
# Buffers of a split-TCP proxy per connection, in BDPs of the gateway's rate and the RTT of the users, and the initial
# window of its sender, if it is not the one of Linux.
PROXY_BUFFERS: Final = (0.25, 1, 4)
PROXY_WINDOW: Final = "40 segments"
# Queue that is compared with tail drop, with a proxy and without it.
PROXY_QUEUE: Final = "fq-codel"
# Objective to minimise: the page time of users.
OBJECTIVE: Final = "web.p95"
# Indifference zone: users rarely notice a difference of a twentieth of the page time. A zone of 2 % would need more
# than twice as many runs, only to rank the buffers of FQ-CoDel, whose page times differ by less.
ZONE: Final = "5 %"

_SCENARIO: Final = """\
# A gateway of {rate} and {rtt} for {users} users{calls_text}, as `longpipe advise --gateway` makes it.
# Change what your users do, and ask again: longpipe advise THIS_FILE {options}
schema = 2
duration = "{duration}"
framing = "ip"
start = {{ kind = "random", over = "10 s" }}

[network]
kind = "dumbbell"
access_rate = "1 Gbit/s"
access_delay = "{to_servers}"
trunk_rate = "{rate}"           # the link towards the users, whose queue is chosen
trunk_delay = "{one_way}"
exit_delay = "{near}"

[[network.group]]               # every user reads pages: a batch of five files every 20 s on average, 117 KB each
name = "user"
count = {users}
traffic = {{ kind = "web", cycle = "{cycle}" }}

[[network.group]]               # and one in {per_download} downloads without end
name = "download"
count = {downloads}
{calls}
[switch]
buffer = "1 BDP"

[tcp]
profile = "linux-6"             # CUBIC, SACK and RACK, pacing off
mss = "1448 B"
"""
_CALLS: Final = """
[[network.group]]               # telephone calls: G.711 with pauses, a packet every 20 ms
name = "call"
count = {calls}
traffic = "voice"
"""


@dataclass(frozen=True)
class Template:
    """A scenario as TOML text, with the default choices, objective to minimise, indifference zone, and limits.

    `options` are the options of `longpipe advise` that state this question for a file with the scenario.
    """

    name: str
    scenario: str
    choices: tuple[str, ...]
    objective: str
    zone: str
    limits: tuple[str, ...]
    options: str


def gateway(rate: str, rtt: str, users: int, calls: int, servers: str | None = None) -> Template:
    """Returns the template of a gateway, with the choice of a proxy if `servers`, the RTT of the servers, is given.

    Raises ScenarioError for a rate or an RTT that cannot be read.
    """
    rate_bps, rtt_ps = _parsed("--gateway", rate, RATE), _parsed("--rtt", rtt, TIME)
    to_servers = NEAR if servers is None else _parsed("--proxy", servers, TIME) // 2
    one_way = rtt_ps // 2 - to_servers - NEAR
    if one_way < 0:
        raise ScenarioError(f"--rtt: {rtt}; needs at least {TIME.format(2 * (to_servers + NEAR))}")
    if users < 1:
        raise ScenarioError(f"--users: {users}; needs at least 1")
    if calls < 0:
        raise ScenarioError(f"--calls: {calls}; needs at least 0")
    if servers is None:
        choices = (
            f"queue:switch.policy=tail-drop,pie,codel,fq-codel{_scaled(rtt_ps)}",
            "buffer:switch.buffer=0.1 BDP,0.25 BDP,0.5 BDP,1 BDP,2 BDP",
        )
    else:
        choices = (
            f"queue:switch.policy=tail-drop,{PROXY_QUEUE}{_scaled(rtt_ps, PROXY_QUEUE)}",
            f"proxy:network.pep=none,{_proxies(rate_bps, rtt_ps)}",
        )
    limits: tuple[str, ...] = ()
    if calls:
        limits = (
            f"datagrams:call*.p95 < {(rtt_ps / 2 + CALL_QUEUEING) / 1e9:g} ms",
            f"datagrams:call*.loss < {CALL_LOSS}",
        )
    arguments = [("--choose", choice) for choice in choices]
    arguments += [("--minimise", OBJECTIVE), ("--zone", ZONE), *(("--subject-to", limit) for limit in limits)]
    options = shlex.join(word for option in arguments for word in option)
    text = _SCENARIO.format(
        rate=RATE.format(rate_bps),
        rtt=TIME.format(rtt_ps),
        users=users,
        calls_text=f" and {calls} calls" if calls else "",
        options=options,
        duration=DURATION,
        near=TIME.format(NEAR),
        to_servers=TIME.format(to_servers),
        one_way=TIME.format(one_way),
        cycle=CYCLE,
        per_download=USERS_PER_DOWNLOAD,
        downloads=max(1, users // USERS_PER_DOWNLOAD),
        calls=_CALLS.format(calls=calls) if calls else "",
    )
    return Template("gateway", text, choices, OBJECTIVE, ZONE, limits, options)


def _proxies(rate_bps: int, rtt_ps: int) -> str:
    """Returns proxies at the gateway with several buffers, with the TCP of the servers and with a larger window."""
    bdp_bytes = rate_bps * rtt_ps / 8e12
    buffers = [SIZE.format(round(share * bdp_bytes)) for share in PROXY_BUFFERS]
    own_window = f', tcp = {{initial_window = "{PROXY_WINDOW}"}}'
    return ",".join(f'{{buffer = "{buffer}"{tcp}}}' for tcp in ("", own_window) for buffer in buffers)


def _scaled(rtt_ps: int, only: str | None = None) -> str:
    """Returns queues, or `only` one, whose interval is at least the RTT, as further levels; "" if the defaults' is.

    The interval of CoDel has to be that of a worst RTT through the queue, and its target 5 to 10 % of the interval (RFC
    8289 sections 4.3 and 4.4); PIE's target has the same ratio to its default.
    """
    usual_ps = TIME.parse(Codel().interval)
    series = (number * 10**power for power in range(9) for number in (1, 2, 5))
    factor = next(step for step in series if step * usual_ps >= rtt_ps)
    if factor == 1:
        return ""
    interval, target, of_pie = (
        TIME.format(factor * TIME.parse(step)) for step in (Codel().interval, Codel().target, Pie().target)
    )
    codels = (
        f'{{kind = "{kind}", interval = "{interval}", target = "{target}"}}'
        for kind in kinds_that(Policy, lambda model: {"interval", "target"} <= model.model_fields.keys())
        if only in (None, kind)
    )
    pie = [f'{{kind = "pie", target = "{of_pie}"}}'] if only is None else []
    return ",".join(["", *pie, *codels])


def _parsed(option: str, text: str, dimension: Dimension) -> int:
    try:
        return dimension.parse(text)
    except ValueError as error:
        raise ScenarioError(f"{option}: {error}") from None
