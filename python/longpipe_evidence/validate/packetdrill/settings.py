"""Settings that a script makes before a connection begins, as fields of `tcp`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from longpipe.scenario import Scenario
from longpipe.scenario.base import accepted
from longpipe.scenario.tcp import Tcp
from longpipe_evidence.validate.packetdrill.outcome import NotUnderstoodError

# MSS that the sender's own SYN announces, and length of the timestamp option in each segment (RFC 7323) [byte].
OWN_MSS: Final = 1460
TIMESTAMP_BYTES: Final = 12
# Ticks per second (CONFIG_HZ) of the kernels for which scripts are written.
SCRIPTS_HZ: Final = 1000
# Settings without effect on the sender: segmentation into bursts, socket limits, and restoring settings at the end.
_WITHOUT_EFFECT: Final = re.compile(
    r"(\S*/)?defaults\.sh|\S*/sysctl_restore_\S*|\S*set_sysctls\.py"
    r"|\S*tcp_(min_tso_segs|tso_win_divisor|rmem|wmem|pacing_ss_ratio=200|pacing_ca_ratio=120)\S*|-[eq]|sysctl"
)
_SETTING: Final = re.compile(r"(?:net[./]|/proc/sys/net/)ipv4[./]tcp_(?P<name>\w+)=(?P<value>\w+)")
_HYSTART: Final = re.compile(r"echo [123] > /sys/module/tcp_cubic/parameters/hystart_detect")
_PACED: Final = re.compile(r"tc qdisc replace dev \S+ root fq")


@dataclass
class Settings:
    """Settings of packetdrill's `defaults.sh`, and the changes of a script."""

    control: str = "cubic"
    # Whether the sender sends tail loss probes (tcp_early_retrans is 3 or 4).
    probe: bool = True
    idle_restart: bool = False
    pacing: bool = False
    # Tolerances of times: an absolute one, and a share of the time since the previous event; the larger one applies.
    tolerance_ps: int = 4 * 10**9
    tolerance_share: float = 0.125
    # Options of the peer's SYN or SYN-ACK, and whether it negotiates ECN.
    peer: dict[str, object] = field(default_factory=dict)
    ecn: bool = False

    def take_flag(self, name: str, value: str, line: int) -> None:
        """Processes an option of packetdrill's command line."""
        if name == "tolerance_usecs" and re.fullmatch(r"[0-9]{1,9}", value):
            self.tolerance_ps = int(value) * 10**6
        elif name == "tolerance_percent" and re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?", value):
            self.tolerance_share = float(value) / 100
        else:
            raise NotUnderstoodError(f"--{name}={value}", line)

    def take_command(self, text: str, line: int) -> None:
        """Processes a shell command; raises NotUnderstoodError for any unknown command that may change a sender."""
        joined = text.replace("\\\n", " ")
        for offset, command in enumerate(joined.split("\n")):
            words = command.partition("#")[0].strip()
            if words and not (_HYSTART.fullmatch(words) or self._take_pacing(words)):
                for word in words.split():
                    self._take_word(word, words, line + offset)

    def _take_pacing(self, words: str) -> bool:
        self.pacing |= (paced := _PACED.fullmatch(words) is not None)
        return paced

    def _take_word(self, word: str, words: str, line: int) -> None:
        """Processes one assignment of a script's sysctl settings."""
        if _WITHOUT_EFFECT.fullmatch(word):
            return
        setting = _SETTING.fullmatch(word)
        match (setting["name"], setting["value"]) if setting else None:
            case "congestion_control", value:
                self.take_control(value)
            case "early_retrans", value:
                self.probe = value in ("3", "4")
            case "slow_start_after_idle", value:
                self.idle_restart = value == "1"
            case ("ecn", "0" | "1" | "2") | ("sack" | "timestamps" | "window_scaling", "1"):
                # An option is used if both SYNs contain it.
                pass
            case _:
                raise NotUnderstoodError(words, line)

    def take_control(self, name: str) -> None:
        """Sets the congestion control by its name in Linux."""
        self.control = "linux-reno" if name == "reno" else name

    @property
    def scale(self) -> int:
        """Returns the peer's window shift [bit]; more than 14 count as 14 (RFC 7323 section 2.3)."""
        return min(int(str(self.peer.get("wscale", 0))), int(accepted(Tcp, "window_scale").high))

    def tcp_json(self, rtt_ps: int, window: int) -> str:
        """Returns a connection for the core after a handshake of `rtt_ps`; the peer advertises `window` [byte].

        Raises the scenario's errors, for example for a congestion control that longpipe does not have.
        """
        sack, stamps = "sackOK" in self.peer, "TS" in self.peer
        mss = min(int(str(self.peer.get("mss", 536))), OWN_MSS) - (TIMESTAMP_BYTES if stamps else 0)
        # RACK requires SACK.
        recovery = {"kind": "rack", "probe": self.probe, "undo": True} if sack else {"kind": "newreno", "guard": True}
        timer = {
            "kind": "fine", "granularity": "200 ms", "min_rto": "200 ms", "max_rto": "120 s", "timestamps": stamps,
        }  # fmt: skip
        tcp: dict[str, Any] = {
            "profile": "linux-6", "recovery": recovery, "congestion": self.control, "mss": f"{mss} B",
            "receiver_window": f"{max(window, mss)} B", "timer": timer, "initial_rtt": f"{rtt_ps} ps",
            "idle_restart": self.idle_restart, "pacing": self.pacing, "ack": "immediate", "hz": SCRIPTS_HZ,
            "ecn": "classic" if self.ecn else "off",
        }  # fmt: skip
        scenario = Scenario(defaults="1996", framing="ip", switch={"buffer": "100 packets"}, tcp=tcp)
        return json.dumps(scenario.resolved["flows"][0]["tcp"])
