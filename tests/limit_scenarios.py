"""Random scenarios of every kind of limit, numbered from 0 on, each small enough to run in milliseconds."""

from __future__ import annotations

import math
import random
from typing import Any

from longpipe import Scenario, ScenarioError
from longpipe.scenario.control_kinds import MODELS, RECOVERY_OF_MODELS

Fields = dict[str, Any]

CONTROLS = [
    "aimd", "bbr", "bbr3", "bic", "c4", "copa", "cubic", "highspeed", "htcp", "hybla", "illinois", "ledbat", "linux-reno",
    "scalable", "vegas", "veno", "westwood",
]  # fmt: skip
RECOVERIES = ["vanilla", "tahoe", "reno", "newreno", "sack", "rfc6675", "rack"]


def scenario(number: int) -> Scenario:
    """Returns the scenario with a number, the first valid one of those that its random numbers yield."""
    draw = _Draw(random.Random(f"limits {number}"))
    # Few of the other scenarios have these limits.
    fields = {5: draw.spurious, 11: draw.by_delay}.get(number % 16, draw.fields)
    for _ in range(1000):
        try:
            return Scenario(defaults="1996", **{"name": f"limits-{number}", **fields()})
        except ScenarioError:
            continue
    raise AssertionError(f"no valid scenario {number}")


class _Draw:
    """Fields of a scenario: a path, the traffic, a sender, and zero to three impairments."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def log(self, low: float, high: float) -> float:
        """Returns a number whose logarithm is uniformly distributed, with three digits."""
        return float(f"{math.exp(self.rng.uniform(math.log(low), math.log(high))):.3g}")

    def rate(self, low: float, high: float) -> str:
        """Returns a rate between two in Mbit/s."""
        return f"{round(self.log(low, high) * 1e6)} bit/s"

    def time(self, low: float, high: float) -> str:
        """Returns a time between two in milliseconds."""
        return f"{round(self.log(low, high) * 1000)} us"

    def size(self, low: float, high: float) -> str:
        """Returns a number of bytes between two in KB."""
        return f"{round(self.log(low, high) * 1000)} B"

    def fields(self) -> Fields:
        if self.chance(0.12):
            return self.atm()
        self.mbps = self.log(0.5, 40)
        self.delay_ms = self.log(0.5, 300)
        self.duration_s = self.log(3, 30) if self.chance(0.85) else self.log(0.5, 3)
        # At most some 50 000 packets.
        self.duration_s = min(self.duration_s, 600 / self.mbps)
        fields: Fields = {
            "framing": "ip",
            "duration": f"{round(self.duration_s * 1000)} ms",
            "tcp": self.tcp(),
            "traffic": self.traffic(),
            "switch": {"buffer": self.buffer(), "policy": self.policy()},
            "start": self.start(),
        }
        if self.chance(0.08):
            fields["warm_up"] = f"{round(self.duration_s * 200)} ms"
        # A trunk, as the fields of a graph's link are called.
        trunk: Fields = {"rate": f"{round(self.mbps * 1e6)} bit/s", "delay": f"{round(self.delay_ms * 1000)} us"}
        self.shaped(trunk)
        kinds = [
            self.losses, self.losses, self.outages, self.conditioned, self.varying, self.narrow_return, self.disordered,
            self.disordered,
        ]  # fmt: skip
        for _ in range(self.rng.choices([0, 1, 2, 3], [0.3, 0.45, 0.2, 0.05])[0]):
            self.rng.choice(kinds)(trunk)
        fields["network"] = self.graph(trunk) if self.chance(0.2) else self.dumbbell(trunk)
        return fields

    def spurious(self) -> Fields:
        """Returns a path whose delay rises now and then by more than the sender's minimum RTO."""
        rng, spikes = self.rng, []
        self.mbps, delay_ms, duration_s = self.log(2, 30), self.log(5, 60), 15
        at = 500.0
        while at < duration_s * 1000:
            high, held = rng.uniform(3, 10) * delay_ms + 100, rng.uniform(100, 400)
            for begin, delay in ((at, delay_ms), (at, high), (at + held, high), (at + held, delay_ms)):
                spikes.append([f"{round(begin)} ms", f"{round(delay * 1000)} us"])
            at += held + rng.uniform(300, 2000)
        return {
            "framing": "ip",
            "duration": f"{duration_s} s",
            "network": {
                "kind": "dumbbell",
                "sources": 1,
                "access_rate": "1 Gbit/s",
                "trunk_rate": f"{round(self.mbps * 1e6)} bit/s",
                "trunk_delay": f"{round(delay_ms * 1000)} us",
                "path": {"kind": "moving", "delay": [["0 ms", f"{round(delay_ms * 1000)} us"], *spikes]},
                "return_path": {"kind": "moving"},
            },
            "switch": {"buffer": rng.choice(["unlimited", "4 BDP", "10 BDP"])},
            "tcp": {
                "recovery": rng.choice(["reno", "newreno", "sack", "rfc6675"]),
                "congestion": rng.choice(["aimd", "linux-reno", "cubic"]),
                "mss": "1448 B",
                "receiver_window": "auto",
                "timer": {"kind": "fine", "min_rto": rng.choice(["10 ms", "20 ms", "50 ms"])},
            },
        }

    def by_delay(self) -> Fields:
        """Returns a long lossless path, and a sender that sets its rate by the delay."""
        rng = self.rng
        self.mbps, delay_ms = self.log(10, 40), self.log(20, 150)
        return {
            "framing": "ip",
            "duration": f"{round(min(600 / self.mbps, delay_ms * rng.uniform(0.1, 0.4)))} s",
            "network": {
                "kind": "dumbbell",
                "sources": rng.choice([1, 1, 2]),
                "access_rate": "1 Gbit/s",
                "trunk_rate": f"{round(self.mbps * 1e6)} bit/s",
                "trunk_delay": f"{round(delay_ms * 1000)} us",
                "conditioners": rng.choice([[], [{"kind": "jitter", "delay": "5 ms", "jitter": "4 ms"}]]),
            },
            "switch": {"buffer": rng.choice(["unlimited", "2 BDP", "4 BDP"])},
            "tcp": {
                "profile": "linux-6",
                "congestion": rng.choice(["vegas", "vegas", "ledbat", "copa"]),
                "receiver_window": "auto",
                "timer": {"kind": "fine", "timestamps": True},
            },
        }

    def atm(self) -> Fields:
        """Returns a scenario of cells, as those of the ATM Forum."""
        rng = self.rng
        self.mbps, self.delay_ms, self.duration_s = self.log(2, 40), self.log(0.1, 50), self.log(2, 15)
        self.duration_s = min(self.duration_s, 200 / self.mbps)
        policy: Any = rng.choice(["tail-drop", "partial-packet-discard", "epd", "selective-drop", "fba"])
        tcp: Fields = {"recovery": rng.choice(["vanilla", "tahoe", "reno", "newreno", "sack"])}
        if self.chance(0.6):
            tcp["receiver_window"] = rng.choice(["auto", self.size(2, 600)])
        if self.chance(0.3):
            tcp["timer"] = {"kind": "fine", "min_rto": rng.choice(["200 ms", "1 s"])}
        network: Fields = {
            "kind": "dumbbell",
            "sources": rng.randint(1, 5),
            "access_rate": f"{round(self.mbps * rng.choice([0.5, 1.7, 4, 10]) * 1e6)} bit/s",
            "trunk_rate": f"{round(self.mbps * 1e6)} bit/s",
            "trunk_delay": f"{round(self.delay_ms * 1000)} us",
        }
        if self.chance(0.2):
            network["trunk_loss"] = {"kind": "bernoulli", "probability": self.log(1e-6, 1e-3)}
        if self.chance(0.15):
            network["vbr"] = {"period": "300 ms", "duty": 0.5, "rate": f"{round(self.mbps * 0.8e6)} bit/s"}
        switch: Fields = {"buffer": f"{round(self.log(50, 5000))} cells", "policy": policy}
        if "vbr" in network and self.chance(0.5):
            switch["scheduler"] = "priority"
        return {
            "framing": "aal5",
            "duration": f"{round(self.duration_s * 1000)} ms",
            "network": network,
            "switch": switch,
            "tcp": tcp,
            "traffic": rng.choices(["greedy", "web"], [0.85, 0.15])[0],
        }

    def tcp(self) -> Fields:
        rng = self.rng
        tcp: Fields = {"profile": "linux-6"} if self.chance(0.65) else {"recovery": rng.choice(RECOVERIES)}
        if self.chance(0.55):
            tcp["congestion"] = rng.choice(CONTROLS)
        if tcp.get("congestion") in MODELS:
            tcp["recovery"] = RECOVERY_OF_MODELS
        if "profile" not in tcp:
            tcp["mss"] = rng.choice(["512 B", "1448 B", "1460 B", "8948 B"])
            if self.chance(0.6):
                tcp["timer"] = {
                    "kind": "fine",
                    "min_rto": rng.choice(["10 ms", "200 ms", "1 s"]),
                    "timestamps": self.chance(0.5),
                }
            if self.chance(0.3):
                tcp["ack"] = rng.choice([{"kind": "delayed"}, {"kind": "delayed", "timeout": "40 ms"}])
            if self.chance(0.3):
                tcp["initial_window"] = "10 segments"
        if tcp.get("congestion") == "ledbat":
            tcp["timer"] = {"kind": "fine", "timestamps": True}
        return self.marked(tcp)

    def marked(self, tcp: Fields) -> Fields:
        """Returns the sender's fields with those of its window and of ECN."""
        rng = self.rng
        tcp["receiver_window"] = rng.choices(["auto", "64 KiB", self.size(9, 5000), self.size(1.5, 12)], [7, 1, 3, 1])[
            0
        ]
        if self.chance(0.3):
            kind = rng.choice(["classic", "classic", "dctcp", "accurate", "prague"])
            if kind == "dctcp" and tcp.get("congestion") not in MODELS:
                tcp |= {"ecn": "dctcp", "congestion": "dctcp"}
            elif kind == "prague":
                tcp |= {"ecn": {"kind": "accurate", "ect": 1}, "congestion": "prague", "recovery": "rack"}
            else:
                tcp["ecn"] = "accurate" if kind == "accurate" else "classic"
        return tcp

    def traffic(self) -> object:
        rng = self.rng
        kind = rng.choices(
            ["greedy", "transfer", "stream", "web", "adaptive-video", "flow-arrivals", "datagrams"],
            [66, 12, 6, 3, 3, 3, 7],
        )[0]
        if kind == "transfer":
            return {"kind": kind, "size": self.size(10, 5000)}
        if kind == "stream":
            return {"kind": kind, "rate": self.rate(self.mbps * 0.05, self.mbps * 2)}
        if kind == "flow-arrivals":
            return {"kind": kind, "load": rng.uniform(0.1, 1.2), "sizes": {"kind": "pareto", "mean": "50 KB"}}
        if kind == "datagrams":
            own = rng.choice(["cbr", "poisson", "video", "voice", "on-off"])
            rate = {} if own == "voice" else {"rate": self.rate(self.mbps * 0.2, self.mbps * 2)}
            return {"kind": own, **rate, **({"payload": "1472 B"} if own == "cbr" and self.chance(0.4) else {})}
        return kind

    def start(self) -> object:
        duration = round(self.duration_s * 1000)
        if self.chance(0.2):
            return {"kind": "random", "over": f"{round(duration * self.rng.choice([0.1, 0.5, 1.5]))} ms"}
        if self.chance(0.04):
            return {"kind": "fixed", "at": f"{round(duration * self.rng.choice([0.5, 1.5]))} ms"}
        return "fixed"

    def buffer(self) -> str:
        return self.rng.choices(
            [f"{self.log(0.05, 4)} BDP", f"{round(self.log(3, 1000))} packets", self.size(15, 2000), "unlimited"],
            [6, 3, 1, 0.5],
        )[0]

    def policy(self) -> object:
        rng = self.rng
        if self.chance(0.6):
            return "tail-drop"
        ecn = {"ecn": self.chance(0.6)}
        return rng.choice(
            [
                {"kind": "red", "min": rng.choice([2, 5, 20]), "max": rng.choice([25, 60]), **ecn},
                {"kind": "pie", "target": rng.choice(["1 ms", "5 ms", "15 ms"]), **ecn},
                {"kind": "codel", "target": rng.choice(["1 ms", "5 ms", "20 ms"]), **ecn},
                {"kind": "fq-codel", **ecn},
                {"kind": "blue", **ecn},
                {"kind": "step-marking", "threshold": round(self.log(1, 100))},
                {"kind": "step-marking", "threshold": round(self.log(1, 30))},
                {"kind": "cake"},
                "dualpi2",
                "drr",
                "sfq",
            ]
        )

    def shaped(self, trunk: Fields) -> None:
        if self.chance(0.09):
            rate = self.rate(self.mbps * 0.2, self.mbps * 1.2)
            burst, mtu = (self.size(0.8, 3), {}) if self.chance(0.25) else (self.size(3, 100), {})
            if self.chance(0.1):
                mtu = {"mtu": "1000 B"}
            trunk["conditioners"] = [{"kind": "tbf", "rate": rate, "burst": burst, **mtu}]
        elif self.chance(0.05):
            trunk["policy"] = {"kind": "cake", "rate": self.rate(self.mbps * 0.2, self.mbps * 1.2)}

    def losses(self, trunk: Fields) -> None:
        rng = self.rng
        trunk["return_loss" if self.chance(0.2) else "loss"] = rng.choice(
            [
                {"kind": "bernoulli", "probability": self.log(1e-4, 0.05)},
                {"kind": "bernoulli", "probability": self.log(1e-4, 0.05)},
                {"kind": "bit-errors", "rate": self.log(1e-8, 3e-6)},
                {"kind": "gilbert-elliott", "good_to_bad": self.log(1e-4, 1e-2), "bad_to_good": rng.uniform(0.1, 0.9)},
                {
                    "kind": "gilbert-elliott-in-time",
                    "good": f"{rng.randint(1, 10)} s",
                    "bad": f"{rng.randint(5, 300)} ms",
                },
                {"kind": "over-time", "steps": [["0 s", 0.0], [f"{rng.randint(1, 5)} s", self.log(1e-4, 0.05)]]},
            ]
        )

    def outages(self, trunk: Fields) -> None:
        rng, duration = self.rng, self.duration_s * 1000
        fate = {
            "arriving": rng.choice(["hold", "drop"]),
            "waiting": rng.choice(["hold", "drop"]),
            "in_flight": rng.choice(["deliver", "drop"]),
        }
        outages: Fields
        if self.chance(0.5):
            begin = rng.uniform(0, 0.8) * duration
            end = begin + rng.uniform(0.05, 1.2) * duration * rng.choice([0.3, 1])
            outages = {"intervals": [[f"{round(begin)} ms", f"{round(end)} ms"]]}
        else:
            every = self.log(300, 15_000)
            outages = {"every": f"{round(every)} ms", "gap": f"{round(every * rng.uniform(0.02, 0.6))} ms"}
        if self.chance(0.3):
            trunk["return_path"] = {"kind": "moving"}
        trunk.setdefault("path", {"kind": "moving"})["outages"] = {**outages, **fate}

    def conditioned(self, trunk: Fields) -> None:
        where = trunk.setdefault("conditioners", [])
        if any(one["kind"] == "policer" for one in where):
            return
        policer: Fields = {
            "kind": "policer",
            "rate": self.rate(self.mbps * 0.1, self.mbps * 1.5),
            "burst": self.size(2, 300),
        }
        if self.chance(0.15):
            policer["exceed"] = "mark"
        if self.chance(0.1):
            policer["per_flow"] = True
        if self.chance(0.3) and not any(one["kind"] == "tbf" for one in where):
            policer = {"kind": "aggregation", "interval": self.time(2, 40), "max_packets": self.rng.choice([4, 64])}
        where.insert(0, policer)

    def disordered(self, trunk: Fields) -> None:
        where = trunk.setdefault("conditioners", [])
        if any(one["kind"] == "jitter" for one in where):
            return
        free = self.chance(0.6)
        jitter = self.log(0.2, 30)
        where.append(
            {
                "kind": "jitter",
                "delay": f"{round(jitter * 1000)} us",
                "jitter": f"{round(jitter * 900)} us",
                "order": "free" if free else "fifo",
            }
        )
        if self.chance(0.4):
            where.append({"kind": "reordering", "probability": self.log(0.001, 0.3)})
        if self.chance(0.2):
            where.append({"kind": "duplication", "probability": self.log(0.001, 0.1)})

    def varying(self, trunk: Fields) -> None:
        rng = self.rng
        steps = [round(self.duration_s * 1000 * share) for share in sorted(rng.uniform(0, 1) for _ in range(4))]
        path: Fields = trunk.setdefault("path", {"kind": "moving"})
        if self.chance(0.6):
            rates = [self.rate(self.mbps * 0.2, self.mbps * 1.5) for _ in range(5)]
            if self.chance(0.2):
                rates[2] = "0 bit/s"
            path["rate"] = list(zip(["0 ms", *(f"{at} ms" for at in steps)], rates, strict=True))
        if self.chance(0.5):
            path["delay"] = [[f"{at} ms", self.time(self.delay_ms, self.delay_ms * 3)] for at in [0, *steps]]
            path["order"] = rng.choice(["fifo", "free"])

    def narrow_return(self, trunk: Fields) -> None:
        trunk["return_rate"] = f"{round(self.mbps * self.log(0.002, 0.5) * 1e6)} bit/s"
        if self.chance(0.7):
            trunk["return_buffer"] = f"{round(self.log(5, 1000))} packets"

    def access(self) -> str:
        return f"{round(self.mbps * self.rng.choices([20, 5, self.log(0.2, 1.5)], [5, 3, 1.5])[0] * 1e6)} bit/s"

    def proxy(self) -> Fields:
        return {"buffer": self.size(5, 1000)}

    def dumbbell(self, trunk: Fields) -> Fields:
        names = {"rate": "trunk_rate", "delay": "trunk_delay", "loss": "trunk_loss"}
        network: Fields = {names.get(name, name): value for name, value in trunk.items() if name != "policy"}
        if "policy" in trunk:
            network["return_policy"] = "tail-drop"
        network |= {
            "kind": "dumbbell",
            "access_rate": self.access(),
            "access_delay": self.time(0.01, 10),
            "exit_delay": self.time(0.01, 10),
        }
        if self.chance(0.15):
            network["pep"] = {"at": self.rng.choice(["switch1", "switch2"]), **self.proxy()}
        if self.chance(0.3):
            network["group"] = self.groups()
        else:
            network["sources"] = self.rng.choices([1, 2, 3, 5], [5, 2, 1, 1])[0]
        if self.chance(0.03):
            network["host_buffer"] = f"{self.rng.randint(5, 50)} packets"
        return network

    def groups(self) -> list[Fields]:
        rng = self.rng
        groups: list[Fields] = [{"name": "bulk", "count": rng.randint(1, 2)}]
        other = rng.choice(["datagrams", "tcp", "back", "stream"])
        if other == "datagrams":
            groups.append({"name": "udp", "traffic": {"kind": "cbr", "rate": self.rate(self.mbps * 0.1, self.mbps)}})
        elif other == "stream":
            groups.append({"name": "app", "traffic": {"kind": "stream", "rate": self.rate(self.mbps * 0.1, self.mbps)}})
        elif other == "back":
            groups.append({"name": "up", "direction": "back", "traffic": "greedy"})
            if self.chance(0.3):
                groups = groups[1:]
        else:
            groups.append({"name": "other", "tcp": {"receiver_window": rng.choice(["auto", self.size(5, 500)])}})
        return groups

    def graph(self, trunk: Fields) -> Fields:
        """Returns a chain of two or three routers, with a long flow and perhaps flows over single links."""
        rng = self.rng
        routers = ["r1", "r2", "r3"][: rng.randint(2, 3)]
        nodes: list[Fields] = [{"name": name, "kind": "switch"} for name in routers]
        if self.chance(0.15):
            nodes[0]["pep"] = self.proxy()
        hosts = ["a", "b", "c", "d"]
        nodes += [{"name": name, "kind": "host"} for name in hosts]
        access, delay = self.access(), self.time(0.01, 5)
        links: list[Fields] = [
            {"between": ["a", "r1"], "rate": access, "delay": delay},
            {"between": [routers[-1], "b"], "rate": access, "delay": delay},
            {"between": ["c", "r1"], "rate": self.access(), "delay": delay},
            {"between": [routers[-1], "d"], "rate": self.access(), "delay": self.time(0.01, 50)},
            {"between": ["r1", "r2"], **trunk},
        ]
        if len(routers) == 3:
            links.append({"between": ["r2", "r3"], "rate": self.rate(self.mbps * 0.5, self.mbps * 3), "delay": "2 ms"})
        flows: list[Fields] = [{"name": "long", "from": "a", "to": "b"}]
        if self.chance(0.6):
            flows.append({"name": "other", "from": "c", "to": "d"})
        if self.chance(0.3):
            flows.append({"name": "back", "from": "d", "to": "c", "traffic": "greedy"})
        if self.chance(0.2):
            rate = self.rate(self.mbps * 0.1, self.mbps)
            flows.append({"name": "udp", "from": "c", "to": "b", "traffic": {"kind": "cbr", "rate": rate}})
        return {"kind": "graph", "nodes": nodes, "links": links, "flows": flows}
