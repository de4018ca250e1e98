"""Example scenarios to start from, as TOML files; `longpipe init --example NAME` writes one."""

from typing import Final

from longpipe.errors import ScenarioError, nearest

# Description of each example, in display order.
EXAMPLES: Final = {
    "fiber": "four downloads over 100/20 Mbit/s and 40 ms, IP",
    "geo": "four downloads over a geostationary satellite, 50/5 Mbit/s and 600 ms, IP",
    "geo-pep": "four files over that satellite, through a proxy that splits the connections, IP",
    "geo-rcs2": "web users behind a satellite terminal, whose requests and ACKs wait for grants, 20/2.3 Mbit/s, IP",
    "geo-acm": "downloads of three homes over one satellite carrier, with rain at one of them, IP",
    "leo": "four downloads over low orbit, 150/20 Mbit/s and 50 ms, with losses, IP",
    "starlink": "a download over Starlink as measured in 2023: rates, RTTs and losses in slots of 15 s, IP",
    "cellular": "a download to a phone: the rate varies from 0 to 40 Mbit/s, a deep buffer, IP",
    "rain-fade": "a download over that satellite in the rain: adaptive coding follows a fade of 11 dB, IP",
    "aqm": "four downloads through FQ-CoDel with ECN, 50/10 Mbit/s and 60 ms, IP",
    "home": "a download, a web user and a ping over 10/2 Mbit/s and 30 ms with a buffer of a second, IP",
    "web-and-bulk": "twenty web users and a download over the geostationary satellite, IP",
    "lan-96": "five sources on an ATM LAN of 1996",
}

# Examples with time-varying paths.
MOVING: Final = ("starlink", "cellular", "rain-fade")


def example(name: str) -> str:
    """Returns the TOML text of an example. For an unknown name, raises a ScenarioError that lists the examples."""
    if name not in EXAMPLES:
        raise ScenarioError(f"example: {name!r}; {nearest(name, EXAMPLES)}")
    # Imported here because this module loads zipfile.
    from importlib import resources

    return (resources.files(__name__) / f"{name}.toml").read_text(encoding="utf-8")
