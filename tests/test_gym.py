"""Environments for reinforcement learning."""

import copy
import pickle
import re
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("pettingzoo")

from longpipe import Ack, Control, Event, Grant, RunError, Scenario, ScenarioError, simulate  # noqa: E402
from longpipe.examples import EXAMPLES  # noqa: E402
from longpipe.gym import Action, Draws, Features, LinkEnv, LinkParallelEnv, LinkVectorEnv, Uniform, control  # noqa: E402
from longpipe.gym.actions import ACTIONS  # noqa: E402
from longpipe.gym.features import NAMES, blank  # noqa: E402
from longpipe.gym.observations import OBSERVATIONS, REWARDS  # noqa: E402

# The path has 12 Mbit/s, 30 ms and a buffer of 1 BDP.
PATH = Scenario.from_toml("""
duration = "60 s"
framing = "ip"
tcp.profile = "linux-6"
switch.buffer = "1 BDP"
network = {kind = "dumbbell", sources = 1, trunk_rate = "12 Mbit/s", trunk_delay = "14 ms", access_rate = "1 Gbit/s"}
""")
TWO = PATH.with_(**{"network.sources": 2})
# The window that the receivers of agents advertise; it determines which segments carry PSH and are acknowledged at once.
OF_AGENTS = {"tcp.receiver_window": "1 GiB"}


def of(**measured: float) -> Features:
    """Returns measurements of one agent."""
    row = np.array([[measured.get(name, 0.0) for name in NAMES]])
    return Features(row, np.array([measured.get("lowest", np.inf)]), np.array([measured.get("highest", 0.0)]))


# Names in the literature


def test_observation_and_reward_of_aurora_equal_pcc_rl() -> None:
    """The numbers are computed by hand from the formulas of PCC-RL's sender_obs.py and network_sim.py."""
    seen = of(
        duration=0.1, sent=30_000, delivered=16_500, lost=1_500, rtt=0.06, rtt_increase=0.002, mss=1500, lowest=0.05
    )
    # The receiver got 8 * (16500 - 1500) / 0.1 = 1.2 Mbit/s; the sender sent 2.4 Mbit/s.
    assert OBSERVATIONS["aurora"].of(seen)[0] == pytest.approx([0.02, 1.2, 2.0])
    # The rate is 100 packets/s, so that the reward is 0.001 * (10 * 100 - 1000 * 0.06 - 2000 * 1500 / 18000).
    assert REWARDS["aurora"](seen)[0] == pytest.approx(0.001 * (1000 - 60 - 2000 / 12))
    # Without deliveries the send ratio is 1, and the history begins with neutral values.
    assert OBSERVATIONS["aurora"].of(of(duration=0.1, sent=3000, mss=1500))[0] == pytest.approx([0, 1, 1])
    assert OBSERVATIONS["aurora"].of(blank(1))[0] == pytest.approx([0, 1, 1])


def test_orcas_observation_and_reward_are_those_of_its_rl_module() -> None:
    seen = of(
        duration=0.1,
        delivered=125_000,
        lost=12_500,
        acks=50,
        srtt=0.05,
        min_rtt=0.03,
        window=75_000,
        mss=1500,
        highest=2e7,
    )
    # The rate is 10 of 20 Mbit/s, window divided by RTT 12 Mbit/s, and the loss 1 Mbit/s; 50 ACKs cover 50 packets; the
    # last value is 1.25 * 30 / 50.
    assert OBSERVATIONS["orca"].of(seen)[0] == pytest.approx([0.5, 0.6, 0.25, 1.0, 0.1, 0.6, 0.75])
    assert REWARDS["orca"](seen)[0] == pytest.approx((10 - 5) / 20 * 0.75)
    near = of(duration=0.1, delivered=125_000, srtt=0.037, min_rtt=0.03, highest=1e7)
    assert REWARDS["orca"](near)[0] == pytest.approx(1.0)


def test_actions_are_factors() -> None:
    asked = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 7.0, np.nan])
    aurora = [1 / 1.025, 1 / 1.0125, 1, 1.0125, 1.025, 1.025, 1]
    assert ACTIONS["rate"].factors(asked) == pytest.approx(aurora)
    # The values are int(100 * 4 ** a) / 100.
    assert ACTIONS["window"].factors(asked) == pytest.approx([0.25, 0.5, 1, 2, 4, 4, 1])
    assert ACTIONS["window"].factors(np.array([0.3])) == pytest.approx([1.51])


# A single environment


@pytest.mark.parametrize(("action", "step"), [("rate", "1 RTT"), ("window", "10 ms"), ("orca", "20 ACKs")])
def test_gymnasiums_checker_accepts_the_environment(action: str, step: str) -> None:
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        # The wrapper requires a spec, which only environments from gymnasium.make have.
        warnings.filterwarnings("ignore", message=".*not within a spec.*|.*env.spec.*|.*render.*")
        check_env(LinkEnv(PATH, action=action, step=step), skip_render_check=True)
        check_env(
            gymnasium.make("longpipe/Link-v0", scenarios=PATH, action=action, step=step).unwrapped,
            skip_render_check=True,
        )


def rollout(env: Any, seed: int, steps: int = 60) -> list[Any]:  # noqa: ANN401 - any environment
    rng = np.random.default_rng(seed)
    found = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        found += list(env.step(rng.uniform(-1, 1, 1).astype(np.float32))[:2])
    return found


def test_rollouts_are_equal_bit_by_bit_by_seed() -> None:
    lossy = PATH.with_(**{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.01}})
    first, again, other = (rollout(LinkEnv(lossy), seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    # The next episode of an environment differs, but also follows from the seed.
    env, same = LinkEnv(lossy), LinkEnv(lossy)
    one, two = ([rollout(env, 5)[-1], env.reset()[0]] for env in (env, same))
    assert np.array_equal(one[1], two[1])


def test_a_window_of_the_path_fills_it_without_a_queue() -> None:
    """The window is 12 Mbit/s * 28.1 ms, so that the data in flight equal the BDP."""
    env = LinkEnv(PATH, action="window", step="100 ms")
    env.reset(seed=1)
    bdp = 12e6 / 8 * 0.0281
    information = {"window_bytes": 14480.0}
    for _ in range(20):
        wanted = np.log(bdp / information["window_bytes"]) / np.log(4)
        _, _, _, _, information = env.step(np.array([np.clip(wanted, -1, 1)], dtype=np.float32))
    # Headers take 52 of 1500 bytes.
    assert information["throughput_bps"] == pytest.approx(12e6 * 1448 / 1500, rel=0.05)
    assert information["rtt_s"] < 1.1 * information["min_rtt_s"]


@pytest.mark.parametrize("action", ["rate", "window", "orca"])
def test_rate_and_window_of_the_information_correspond(action: str) -> None:
    """`reset` has the fields of `step`; the one of the two that the action does not set follows the other one."""
    srtts: list[float] = []

    def noted(features: Features) -> Any:  # noqa: ANN401 - an array
        srtts.append(float(features.srtt[0]))
        return np.stack([features.rate], axis=1)

    env = LinkEnv(PATH, action=action, step="50 ms", observation=noted)
    found = [env.reset(seed=1)[1]]
    found += [env.step(np.full(1, 0.3, dtype=np.float32))[-1] for _ in range(20)]
    assert len({tuple(one) for one in found}) == 1
    for one, srtt in zip(found, srtts[-len(found) :], strict=True):
        assert one["rate_bps"] == pytest.approx(8 * one["window_bytes"] / srtt)
    assert found[0]["time_s"] > 0
    assert found[0]["min_rtt_s"] > 0
    assert found[-1]["rate_bps"] > found[0]["rate_bps"]


def test_rate_below_the_link_rate_arrives_completely() -> None:
    env = LinkEnv(PATH, step="50 ms", most_steps=1000)
    env.reset(seed=1)
    information = {"rate_bps": 4e6}
    for _ in range(300):
        towards = 1.0 if information["rate_bps"] < 6e6 else -1.0
        _, _, _, _, information = env.step(np.array([towards], dtype=np.float32))
    assert information["throughput_bps"] == pytest.approx(6e6, rel=0.08)
    # If the two segments of an ACK leave in different bursts, the sample of the first one includes their interval.
    assert information["min_rtt_s"] <= information["rtt_s"] < information["min_rtt_s"] + 2 * 1500 * 8 / 6e6
    # With a higher rate a queue grows, and then packets are lost.
    for _ in range(60):
        _, _, _, _, information = env.step(np.ones(1, dtype=np.float32))
    assert information["rtt_s"] > 1.5 * information["min_rtt_s"]


@pytest.mark.parametrize("lossy", [False, True])
def test_step_counted_in_acks_ends_at_its_last_ack(lossy: bool) -> None:
    """The rule also holds with losses, after which the receiver acknowledges each segment instead of every second one."""
    fields = {"network.trunk_loss": {"kind": "bernoulli", "probability": 0.01}} if lossy else {}
    seen: list[tuple[float, ...]] = []

    def noted(features: Features) -> Any:  # noqa: ANN401 - an array
        seen.append((float(features.acks[0]), float(features.now[0]), float(features.duration[0])))
        return np.stack([features.acks], axis=1)

    env = LinkEnv(PATH.with_(**fields), action="window", step="7 ACKs", observation=noted)
    env.reset(seed=1)
    seen.clear()
    for _ in range(40):
        env.step(np.zeros(1, dtype=np.float32))
    # ACKs of one instant are processed together; the bottleneck spaces them, so that there are none here.
    assert {acks for acks, _, _ in seen} == {7.0}
    ends = [now for _, now, _ in seen]
    assert all(
        later - duration == pytest.approx(end, abs=1e-12)
        for end, (_, later, duration) in zip(ends, seen[1:], strict=False)
    )


def test_orca_environment_without_actions_is_cubic() -> None:
    """Actions of 0 do not affect the flow's own controller, so that windows equal those of a run without an agent."""
    for scenario in (PATH, PATH.with_(**{"tcp.congestion": "linux-reno"})):
        env = LinkEnv(scenario, action="orca", step="50 ms", most_steps=1000)
        env.reset(seed=1)
        windows = {}
        for _ in range(300):
            *_, information = env.step(np.zeros(1, dtype=np.float32))
            windows[information["time_s"]] = information["window_bytes"]
        trace = simulate(scenario.with_(**OF_AGENTS, **{"traces.cwnd": True})).traces["cwnd"]
        for time_s, window in list(windows.items())[::10]:
            before = trace[trace["time_s"] <= time_s]["cwnd_bytes"]
            # A recovery changes the window between two ACKs that the agent sees.
            assert window == pytest.approx(before.iloc[-1], rel=0.25)
        exact = [
            window == pytest.approx(trace[trace["time_s"] <= time_s]["cwnd_bytes"].iloc[-1], rel=1e-9)
            for time_s, window in windows.items()
        ]
        assert np.mean(exact) > 0.8


def test_orcas_action_scales_the_window_from_which_cubic_continues() -> None:
    env = LinkEnv(PATH, action="orca", step="10 ms", most_steps=1000)
    env.reset(seed=1)
    for _ in range(200):
        *_, before = env.step(np.zeros(1, dtype=np.float32))
    *_, after = env.step(np.array([-0.5], dtype=np.float32))
    # The factor is 0.5; CUBIC then grows by at most a segment for each of the 10 segments that arrive in 10 ms.
    half = before["window_bytes"] / 2
    assert half <= after["window_bytes"] <= half + 11 * 1448
    *_, later = env.step(np.zeros(1, dtype=np.float32))
    assert 0 <= later["window_bytes"] - after["window_bytes"] <= 11 * 1448


class Fixed(Control):
    """Congestion controller with the windows of a flow whose agent never acts."""

    owns_window = True

    def on_ack(self, ack: Ack) -> Grant:
        return Grant(window=10 * ack.mss)

    def on_loss(self, event: Event) -> Grant:
        return Grant(window=10 * event.mss)


# The BDP of the path is below the window of ten segments, so that packets are queued.
WAITING = {"network.trunk_delay": "2 ms", "switch.buffer": "100 packets"}
RATES = {"rate": [["0 s", "12 Mbit/s"], ["150 ms", "5 Mbit/s"]], "rate_cycle": "300 ms"}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        WAITING | {"switch.policy": "codel"},
        WAITING | {"switch.policy": "fq-codel"},
        WAITING | {"switch.policy": "cake"},
        WAITING | {"switch.policy": {"kind": "cake", "rate": "6 Mbit/s"}},
        WAITING | {"network.path": RATES},
        WAITING | {"network.path": RATES, "switch.policy": "fq-codel"},
    ],
    ids=["still", "codel", "fq-codel", "cake", "shaping-cake", "varying", "varying-fq-codel"],
)
def test_step_contains_the_acks_that_arrive_during_it(fields: dict[str, Any]) -> None:
    """The observations are those of an ordinary run with equal window and seed, including ACKs that report losses."""
    lossy = PATH.with_(
        **{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.02}, "duration": "2 s"}, **fields
    )
    counted: list[tuple[float, float]] = []

    def noted(features: Features) -> Any:  # noqa: ANN401 - an array
        counted.append((float(features.now[0]), float(features.acks[0])))
        return np.stack([features.acks], axis=1)

    env = LinkEnv(lossy, action="window", step="5 ms", observation=noted)
    env.reset(seed=1)
    counted.clear()
    while not env.step(np.zeros(1, dtype=np.float32))[3]:
        pass
    seed = int(gymnasium.utils.seeding.np_random(1)[0].integers(2**63))
    run = simulate(lossy.with_(**OF_AGENTS, **{"tcp.congestion": Fixed, "traces.sequence": True}), seed)
    acks = run.traces["sequence"].query("event == 1")["time_s"].to_numpy()
    ends = np.array([now for now, _ in counted])
    found = np.diff(np.searchsorted(acks, np.concatenate([[ends[0] - 0.005], ends]), side="right"))
    assert run.flows["fast_retransmits"].sum() > 2
    assert list(found) == [acked for _, acked in counted]


def test_an_episode_ends_with_its_steps_or_its_scenario() -> None:
    short = PATH.with_(duration="2 s")
    for env, last in ((LinkEnv(PATH, step="10 ms", most_steps=7), 7), (LinkEnv(short, step="500 ms"), 4)):
        env.reset(seed=1)
        ends = [env.step(np.zeros(1, dtype=np.float32))[3] for _ in range(last)]
        assert ends == [False] * (last - 1) + [True]


# Many environments


def draws() -> Draws:
    return Draws(
        PATH,
        {
            "network.trunk_rate": Uniform("6 Mbit/s", "24 Mbit/s", log=True),
            "network.trunk_delay": ("5 ms", "14 ms"),
            "switch.policy": ("tail-drop", "codel"),
        },
        count=20,
    )


def vector_rollout(env: LinkVectorEnv, steps: int = 50) -> list[Any]:
    rng = np.random.default_rng(7)
    found: list[Any] = [env.reset(seed=11)[0]]
    for _ in range(steps):
        found += list(env.step(rng.uniform(-1, 1, (env.num_envs, 1)).astype(np.float32))[:4])
    return found


def test_threads_and_the_number_of_environments_change_no_bit() -> None:
    one, three = (vector_rollout(LinkVectorEnv(5, draws(), most_steps=20, threads=threads)) for threads in (1, 3))
    assert all(np.array_equal(a, b) for a, b in zip(one, three, strict=True))
    # Environment i of seed s is the single environment of seed s + i.
    env = LinkEnv(draws(), most_steps=20)
    seen = env.reset(seed=13)[0]
    assert np.array_equal(one[0][2], seen)
    rng = np.random.default_rng(7)
    for step in range(20):
        actions = rng.uniform(-1, 1, (5, 1)).astype(np.float32)
        seen, reward, _, truncated, _ = env.step(actions[2])
        assert np.array_equal(one[1 + 4 * step][2], seen)
        assert (one[2 + 4 * step][2], one[4 + 4 * step][2]) == (reward, truncated)


def test_ended_environment_resets_in_the_next_step() -> None:
    env = gymnasium.make_vec("longpipe/Link-v0", num_envs=3, scenarios=PATH, step="10 ms", most_steps=4)
    assert isinstance(env, LinkVectorEnv)
    begun = env.reset(seed=1)[1]
    zeros = np.zeros((3, 1), dtype=np.float32)
    ended = [env.step(zeros)[3] for _ in range(4)]
    assert [bool(of.all()) for of in ended] == [False, False, False, True]
    seen, rewards, terminated, truncated, information = env.step(zeros)
    assert not rewards.any() | terminated.any() | truncated.any() | information["throughput_bps"].any()
    # The information is that of `reset`.
    assert information.keys() == begun.keys()
    assert information["_window_bytes"].all()
    assert information["window_bytes"] == pytest.approx(begun["window_bytes"])
    assert np.array_equal(seen[0], np.tile(seen[0][:3], 10))
    # Observations are copies, unless the user requests the buffer.
    before = seen.copy()
    env.step(zeros)
    assert np.array_equal(seen, before)


class VecEnv:
    """The parts of stable-baselines3's base class that `LinkVecEnv` uses."""

    def __init__(self, num_envs: int, observation_space: object, action_space: object) -> None:
        self.num_envs, self.observation_space, self.action_space = num_envs, observation_space, action_space
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(num_envs)]

    def step_async(self, actions: object) -> None:
        raise NotImplementedError

    def step_wait(self) -> object:
        raise NotImplementedError

    def step(self, actions: object) -> object:
        self.step_async(actions)
        return self.step_wait()

    def _get_indices(self, indices: int | list[int] | None) -> list[int]:
        if indices is None:
            return list(range(self.num_envs))
        return [indices] if isinstance(indices, int) else indices


@pytest.fixture
def stable_baselines() -> Iterator[type[Any]]:
    """Returns the class for stable-baselines3, with a replacement for its base class if that is not installed."""
    stands_in = find_spec("stable_baselines3") is None
    names = [f"stable_baselines3{rest}" for rest in ("", ".common", ".common.vec_env")] if stands_in else []
    for name in names:
        sys.modules[name] = ModuleType(name)
    if stands_in:
        sys.modules[names[-1]].VecEnv = VecEnv  # type: ignore[attr-defined]
    from longpipe.gym import LinkVecEnv

    yield LinkVecEnv
    for name in [*names, "longpipe.gym.stable_baselines"]:
        sys.modules.pop(name, None)


def test_stable_baselines_environments_reset_in_the_same_step(stable_baselines: type[Any]) -> None:
    """In Gymnasium, a new episode begins in the next step; the steps are equal otherwise."""
    settings: dict[str, Any] = {"step": "50 ms", "most_steps": 6, "threads": 2}
    env, other = stable_baselines(3, PATH, **settings), LinkVectorEnv(3, PATH, **settings)
    assert env.seed(5) == [5, 6, 7]
    seen, information = other.reset(seed=5)
    assert np.array_equal(env.reset(), seen)
    assert [info["window_bytes"] for info in env.reset_infos] == list(information["window_bytes"])
    for step in range(12):
        actions = np.full((3, 1), np.sin(step), dtype=np.float32)
        seen, rewards, ended, infos = env.step(actions)
        theirs, their_rewards, *_, information = other.step(actions)
        assert np.array_equal(rewards, np.float32(their_rewards))
        assert [info["rtt_s"] for info in infos] == list(information["rtt_s"])
        assert list(ended) == [step % 6 == 5] * 3
        if ended.all():
            assert np.array_equal([info["terminal_observation"] for info in infos], theirs)
            assert all(info["TimeLimit.truncated"] for info in infos)
            theirs = other.step(actions)[0]
        assert np.array_equal(seen, theirs)
    assert env.get_attr("num_envs", [0, 2]) == [3, 3]
    assert env.env_is_wrapped(gymnasium.Wrapper) == [False] * 3


def test_scenarios_are_drawn_from_a_distribution() -> None:
    env = LinkVectorEnv(40, draws(), most_steps=2)
    env.reset(seed=1)
    drawn = [scenario for scenario in env._episodes.scenarios if scenario is not None]
    rates = {scenario.resolved["links"][2]["rate_bps"] for scenario in drawn}
    assert len(rates) > 10
    assert {scenario.switch.policy.kind for scenario in drawn} == {"tail-drop", "codel"}
    # Another process draws the same numbers.
    copied = pickle.loads(pickle.dumps(draws()))
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    assert [copied(rng).digest() for _ in range(5)] == [draws()(same).digest() for _ in range(5)]
    env.reset(options={"scenario": PATH, "reset_mask": np.arange(40) == 3})
    assert env._episodes.scenarios[3] is PATH


# Several agents


def test_pettingzoos_checker_accepts_two_agents_on_one_link() -> None:
    from pettingzoo.test.parallel_test import parallel_api_test

    parallel_api_test(LinkParallelEnv(TWO, ["flow1", "flow2"], step="20 ms", most_steps=30), num_cycles=100)


def test_two_agents_share_the_link_and_one_may_run_with_cubic() -> None:
    env = LinkParallelEnv(TWO, ["flow1", "flow2"], action="window", step="100 ms")
    env.reset(seed=1)
    still = {agent: np.zeros(1, dtype=np.float32) for agent in env.agents}
    double = {agent: np.full(1, 0.5, dtype=np.float32) for agent in env.agents}
    _, rewards, _, _, information = env.step(double)
    for _ in range(20):
        _, rewards, _, _, information = env.step(still)
    assert rewards.keys() == {"flow1", "flow2"}
    both = [information[agent]["throughput_bps"] for agent in rewards]
    assert sum(both) == pytest.approx(12e6 * 1448 / 1500, rel=0.05)
    single = LinkEnv(TWO, agent="flow2", step="100 ms")
    single.reset(seed=1)
    for _ in range(50):
        _, _, _, _, found = single.step(np.zeros(1, dtype=np.float32))
    # CUBIC uses the capacity that the agent leaves unused.
    assert found["throughput_bps"] < 6e6


# Policies


def gentle(seen: np.ndarray[Any, Any]) -> float:
    """Increases the rate while the RTT is within 50 % of its minimum."""
    return 1.0 if seen[-2] < 1.5 else -1.0


def test_a_policy_runs_as_congestion_control_with_cubic() -> None:
    policy = control(gentle)
    alone = simulate(PATH.with_(**{"tcp.congestion": policy, "duration": "20 s"}))
    assert alone.efficiency > 0.8
    assert (
        alone.state_hash == simulate(PATH.with_(**{"tcp.congestion": control(gentle), "duration": "20 s"})).state_hash
    )
    fields = {"network.group": [{"name": "policy", "tcp": {"congestion": policy}}, {"name": "cubic"}]}
    beside = simulate(PATH.with_(**fields, duration="20 s"))
    assert beside.efficiency > 0.9


def eager(seen: np.ndarray[Any, Any]) -> float:
    """Increases the rate while the RTT is within 80 % of its minimum."""
    return 1.0 if seen[-2] < 1.8 else -1.0


def test_policies_are_distinguished_by_their_code_and_settings() -> None:
    classes = [control(gentle), control(eager), control(gentle, step="2 RTTs"), control(gentle, action="window")]
    digests = [PATH.with_(**{"tcp.congestion": one}).digest() for one in [*classes, control(gentle)]]
    assert len(set(digests)) == 4
    assert digests[4] == digests[0]
    first, other = (simulate(PATH.with_(**{"tcp.congestion": one, "duration": "5 s"})) for one in classes[:2])
    assert first.state_hash != other.state_hash


def test_environment_and_control_apply_policies_equally() -> None:
    """The run has another seed, which has no effect without random numbers."""
    env = LinkEnv(PATH.with_(duration="20 s"), step="1 RTT", most_steps=2000)
    seen = env.reset(seed=1)[0]
    delivered_bits, time_s = 0.0, 0.0
    while time_s < 20:
        seen, _, _, _, information = env.step(np.array([gentle(seen)], dtype=np.float32))
        delivered_bits += information["throughput_bps"] * (information["time_s"] - time_s)
        time_s = information["time_s"]
    run = simulate(PATH.with_(**{"tcp.congestion": control(gentle), "duration": "20 s"}))
    assert 20 * run.flows["throughput_bps"].sum() == pytest.approx(delivered_bits, rel=0.01)


def still(seen: np.ndarray[Any, Any]) -> float:
    return 0.0


def test_idle_policy_over_cubic_is_bit_identical_to_cubic() -> None:
    lossy = PATH.with_(**{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.002}, "duration": "20 s"})
    for path in (lossy, lossy.with_(**{"tcp.congestion": "linux-reno"})):
        base = "cubic" if path is lossy else "linux-reno"
        policy = control(still, action="orca", base=base)
        plain = simulate(path.with_(**OF_AGENTS))
        assert simulate(path.with_(**{"tcp.congestion": policy})).state_hash == plain.state_hash
    with pytest.raises(ScenarioError, match=r"base 'cubik'; did you mean 'cubic'\?"):
        path.with_(**{"tcp.congestion": control(still, action="orca", base="cubik")})


# Agreement of environments and runs

TWO_KINDS = PATH.with_(**{"network.group": [{"name": "agent"}, {"name": "cubic"}]})
LOSSY = PATH.with_(**{"network.trunk_loss": {"kind": "bernoulli", "probability": 0.005}})


class Recorder:
    """A policy that appends what it sees to a file, because classes run in a process of their own."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, seen: Any) -> float:  # noqa: ANN401 - an array
        with self.file.open("ab") as written:
            written.write(np.asarray(seen, dtype=np.float64).tobytes())
        return wavering(seen)

    def seen(self, width: int) -> Any:  # noqa: ANN401 - an array
        """Returns the observations, a row per action."""
        return np.frombuffer(self.file.read_bytes()).reshape(-1, width)


class Noted:
    """An observation, the rate, that appends time, duration, RTT, SRTT, lost and delivered bytes to a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, features: Features) -> Any:  # noqa: ANN401 - an array
        if features.now[0] > 0:
            names = ("now", "duration", "rtt", "srtt", "lost", "delivered")
            with self.file.open("ab") as written:
                written.write(np.array([getattr(features, name)[0] for name in names]).tobytes())
        return np.stack([features.rate], axis=1)

    def rows(self) -> Any:  # noqa: ANN401 - an array
        """Returns a row per step."""
        return np.frombuffer(self.file.read_bytes()).reshape(-1, 6)


def wavering(seen: Any) -> float:  # noqa: ANN401 - an array
    """Returns an action that depends on all digits of the observation."""
    return float(np.sin(1e3 * float(np.sum(seen))))


@pytest.mark.parametrize("scenario", [PATH, LOSSY, TWO_KINDS], ids=["alone", "lossy", "beside-cubic"])
@pytest.mark.parametrize(
    ("action", "step"), [("rate", "1 RTT"), ("rate", "10 ms"), ("window", "2 RTT"), ("orca", "7 ACKs")]
)
def test_policy_in_a_run_equals_the_policy_in_the_environment(
    scenario: Scenario, action: str, step: str, tmp_path: Path
) -> None:
    """All observations are equal bit by bit, and therefore the actions, rates and windows."""
    field = "network.group" if scenario is TWO_KINDS else "tcp.congestion"
    scenario = scenario.with_(duration="8 s")
    env = LinkEnv(scenario, action=action, step=step, most_steps=10**6)
    seen = env.reset(seed=3)[0]
    observed = []
    ended = False
    while not ended:
        observed.append(seen)
        seen, _, _, ended, information = env.step(np.array([wavering(seen)]))
    assert information["time_s"] == 8
    recorder = Recorder(tmp_path / "seen")
    policy: Any = control(recorder, action=action, step=step, version=str(tmp_path))
    if scenario.network.kind == "dumbbell" and scenario.network.group:
        policy = [{"name": "agent", "tcp": {"congestion": policy}}, {"name": "cubic"}]
    simulate(scenario.with_(**{field: policy}), int(gymnasium.utils.seeding.np_random(3)[0].integers(2**63)))
    found = recorder.seen(len(seen))
    # The step that the end of the scenario cuts short has an observation only in the environment.
    assert len(observed) - 1 <= len(found) <= len(observed)
    assert len(found) > 50
    assert np.array_equal(found, np.array(observed)[: len(found)])


@pytest.mark.parametrize("where", ["environment", "run"])
@pytest.mark.parametrize("times", [1.5, 2.0, 4.0])
def test_agent_at_k_times_the_rate_delivers_one_in_k(times: float, where: str, tmp_path: Path) -> None:
    """A share of 1 - 1/k is lost, because the link delivers its rate; the automatic receiver window does not limit k."""
    payload_bps = 12e6 * 1448 / 1500
    fast = Action(lambda actions: 16.0**actions, by_rate=True)
    noted = Noted(tmp_path / "rows")

    def towards(seen: Any) -> float:  # noqa: ANN401 - an array
        return float(np.clip(np.log(times * payload_bps / seen[-1]) / np.log(16), -1, 1))

    scenario = PATH.with_(duration="20 s")
    if where == "environment":
        env = LinkEnv(scenario, action=fast, step="50 ms", observation=noted, most_steps=10**6)
        seen, ended = env.reset(seed=1)[0], False
        while not ended:
            seen, _, _, ended, _ = env.step(np.array([towards(seen)]))
    else:
        policy = control(towards, action=fast, step="50 ms", observation=noted, version=str(tmp_path))
        simulate(scenario.with_(**{"tcp.congestion": policy}))
    lost, delivered = noted.rows()[noted.rows()[:, 0] > 5][:, 4:6].sum(axis=0)
    assert lost / (lost + delivered) == pytest.approx(1 - 1 / times, abs=0.01)


def test_a_receiver_window_that_is_set_limits_an_agent() -> None:
    """The window holds less than the path and its buffer, so that a rate above the link's loses little."""
    limited = PATH.with_(**{"tcp.receiver_window": "64 KB"})
    env = LinkEnv(limited, action=Action(lambda actions: 2.0**actions, by_rate=True), step="50 ms")
    env.reset(seed=1)
    lost = []
    for step in range(100):
        *_, information = env.step(np.full(1, 1.0 if step < 3 else 0.0))
        lost.append(information["loss_rate"])
    assert information["rate_bps"] > 2 * 12e6
    assert np.mean(lost[20:]) < 0.05


def test_rtt_samples_of_features_srtt_and_traces_are_the_same(tmp_path: Path) -> None:
    """The mean RTT of a step is that of the samples in the trace, and the SRTT is that of the trace."""
    noted = Noted(tmp_path / "rows")

    def half(seen: Any) -> float:  # noqa: ANN401 - an array
        return 1.0 if seen[-1] < 6e6 else -1.0

    policy = control(half, step="5 RTTs", observation=noted, version=str(tmp_path))
    run = simulate(PATH.with_(**{"tcp.congestion": policy, "traces.rtt": True, "duration": "20 s"}))
    trace = run.traces["rtt"]
    rows = noted.rows()
    assert len(rows) > 50
    for now, duration, rtt, srtt, *_ in rows[1:]:
        within = trace[(trace["time_s"] > now - duration + 1e-9) & (trace["time_s"] < now + 1e-9)]
        assert rtt == pytest.approx(within["rtt_s"].mean(), abs=1e-9)
        assert srtt == pytest.approx(within["srtt_s"].iloc[-1], abs=1e-9)


def test_an_action_that_is_not_a_number_is_replaced_and_reported() -> None:
    def broken(seen: Any) -> float:  # noqa: ANN401 - an array
        return float("nan")

    run = simulate(PATH.with_(**{"tcp.congestion": control(broken, version="broken"), "duration": "5 s"}))
    assert len(run.replaced) == 1
    assert re.search(r"sets a factor of NaN at 0\.\d+ s, and \d+ more times; replaced by 1$", run.replaced[0])
    assert run.replaced[0] in run.warnings
    env = LinkEnv(PATH)
    env.reset(seed=1)
    with pytest.warns(RuntimeWarning, match="action: nan; needs a number from -1 to 1, changes nothing"):
        *_, information = env.step(np.array([np.nan]))
    assert np.isfinite(information["rate_bps"])


# Ends of episodes, information, and copies

TRANSFER = {"traffic": {"kind": "transfer", "size": "2 MB"}}


def test_a_complete_transfer_terminates_the_episode(stable_baselines: type[Any]) -> None:
    scenario = PATH.with_(**TRANSFER)
    env = LinkEnv(scenario, action="window", step="20 ms")
    env.reset(seed=1)
    ends = [env.step(np.full(1, 0.2))[2:4] for _ in range(20)]
    while not ends[-1][0]:
        ends.append(env.step(np.zeros(1))[2:4])
    assert set(ends[:-1]) == {(False, False)}
    assert ends[-1] == (True, False)
    vector = LinkVectorEnv(2, scenario, action="window", step="20 ms")
    vector.reset(seed=1)
    for number in range(len(ends)):
        _, _, terminated, truncated, _ = vector.step(np.full((2, 1), 0.2 if number < 20 else 0.0))
    assert list(terminated) == [True, True]
    assert list(truncated) == [False, False]
    several = stable_baselines(1, scenario, action="window", step="20 ms")
    several.seed(1)
    several.reset()
    for number in range(len(ends)):
        _, _, ended, infos = several.step(np.full((1, 1), 0.2 if number < 20 else 0.0))
    assert ended[0]
    assert infos[0]["TimeLimit.truncated"] is False


def test_an_agent_whose_transfer_is_complete_leaves_the_others() -> None:
    groups = [{"name": "short", **TRANSFER}, {"name": "long", "traffic": {"kind": "greedy"}}]
    env = LinkParallelEnv(PATH.with_(**{"network.group": groups}), ["short", "long"], action="window", step="50 ms")
    env.reset(seed=1)
    while len(env.agents) == 2:
        before = list(env.agents)
        seen, _, terminations, truncations, _ = env.step({agent: np.zeros(1) for agent in env.agents})
    assert env.agents == ["long"]
    assert list(seen) == before
    assert terminations == {"short": True, "long": False}
    assert not any(truncations.values())
    assert list(env.step({"long": np.zeros(1)})[0]) == ["long"]


def test_the_information_contains_the_drawn_path() -> None:
    env = LinkVectorEnv(8, draws(), most_steps=3)
    _, information = env.reset(seed=1)
    for i, scenario in enumerate(env._episodes.scenarios):
        assert scenario is not None
        link = scenario.resolved["links"][2]
        assert information["link_rate_bps"][i] == link["rate_bps"]
        assert information["path_rtt_s"][i] == pytest.approx(2 * (link["delay_ps"] / 1e12) + 80e-6, abs=2e-3)
        assert information["buffer_bytes"][i] == 1500 * link["buffer"]["limit"]
    *_, later = env.step(np.zeros((8, 1)))
    assert np.array_equal(later["link_rate_bps"], information["link_rate_bps"])


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_resets_or_names_the_needed_setting(name: str) -> None:
    env = None
    try:
        env = gymnasium.make("longpipe/Link-v0", scenarios=name, max_episode_steps=50)
    except ScenarioError as error:
        assert re.fullmatch(r"agents: .*; needs .*", str(error))  # noqa: PT017 - only some examples are rejected
        return
    env.reset(seed=1)
    delivered = 0.0
    for _ in range(20):
        *_, information = env.step(np.zeros(1, dtype=np.float32))
        delivered += information["throughput_bps"]
    assert delivered > 0


def test_environments_are_copied_before_an_episode(stable_baselines: type[Any]) -> None:
    made = [
        LinkEnv(PATH, step="50 ms"),
        LinkVectorEnv(2, PATH, step="50 ms"),
        LinkParallelEnv(TWO, ["flow1", "flow2"], step="50 ms"),
        stable_baselines(2, PATH, step="50 ms"),
    ]
    for env in made:
        for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
            assert type(other) is type(env)
            assert other._episodes is not env._episodes
            if isinstance(env, LinkEnv):
                assert np.array_equal(other.reset(seed=1)[0], LinkEnv(PATH, step="50 ms").reset(seed=1)[0])
        env.reset()
        with pytest.raises(RunError, match="cannot be copied or pickled after reset"):
            copy.deepcopy(env)


def test_a_spec_with_a_scenario_as_text_is_json() -> None:
    env = gymnasium.make("longpipe/Link-v0", scenarios=PATH.to_toml(), step="50 ms")
    spec = gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json())
    assert gymnasium.make(spec).reset(seed=1)[1] == env.reset(seed=1)[1]


def test_a_range_converts_units() -> None:
    rng = np.random.default_rng(1)
    values = [Uniform("6 Mbit/s", "1 Gbit/s", log=True).draw(rng) for _ in range(200)]
    numbers = [float(str(value).removesuffix(" Mbit/s")) for value in values]
    assert min(numbers) < 20
    assert 500 < max(numbers) < 1000


# Mistakes at construction


def test_agents_options_and_draws_are_checked_at_once() -> None:
    mixed = PATH.with_(
        **{"network.group": [{"name": "voice", "traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}, {"name": "bulk"}]}
    )
    LinkEnv(mixed).reset(seed=1)
    for made, told in (
        (lambda: LinkEnv(PATH, agent="flow9"), r"agents: 'flow9'; .*accepts flow1"),
        (lambda: LinkEnv(mixed, agent="voice"), r"agents: 'voice' has the traffic 'cbr'; needs .*; accepts bulk"),
        (lambda: LinkEnv(mixed.with_(**{"network.group": [{"name": "voice", "traffic": {"kind": "cbr", "rate": "1 Mbit/s"}}]})), "agents: 1; the scenario has 0 TCP flows"),
        (lambda: LinkParallelEnv(TWO, ["flow1", "flow1"]), "agents: 'flow1' repeated; needs one agent for each flow"),
        (lambda: LinkParallelEnv(TWO, ["flow1", "flw2"]), "agents: 'flw2'; did you mean 'flow2'"),
        (lambda: LinkEnv(PATH.with_(**{"tcp.recovery": "sack"})), "has tcp.recovery = 'sack'; needs tcp.recovery = 'rack', as in"),
        (lambda: Draws(PATH, {"network.trunk_rat": ("6 Mbit/s",)}), "network.trunk_rat: unknown field; did you mean"),
        (lambda: Draws(PATH, {"switch.policy": ("tail-drop", "codell")}), "'codell'; did you mean 'codel'"),
        (lambda: Draws(PATH, {"network.trunk_rate": Uniform("6 Mbit/s", "1 s")}), "needs two quantities of one kind"),
        (lambda: Uniform(3, 1), "needs two values, the smaller one first"),
    ):  # fmt: skip
        with pytest.raises(ScenarioError, match=told):
            made()
    for env in (LinkEnv(PATH), LinkVectorEnv(2, PATH), LinkParallelEnv(TWO, ["flow1", "flow2"])):
        with pytest.raises(ScenarioError, match=r"^options: 'scenaro'; did you mean 'scenario'\?"):
            env.reset(seed=1, options={"scenaro": PATH})
    both = LinkParallelEnv(TWO, ["flow1", "flow2"])
    both.reset(seed=1)
    with pytest.raises(ScenarioError, match=r"^actions: 'flow2' missing; needs an action of each of flow1, flow2$"):
        both.step({"flow1": np.zeros(1)})
    with pytest.raises(ScenarioError, match=r"^actions: 'flow3'; did you mean"):
        both.step({"flow1": np.zeros(1), "flow2": np.zeros(1), "flow3": np.zeros(1)})
    with pytest.raises(ScenarioError, match=r"^step: no episode has begun; needs a call of reset$"):
        LinkEnv(PATH).step(np.zeros(1))


# Invalid input


def test_invalid_environment_is_rejected_in_one_line(tmp_path: Path) -> None:
    for arguments, told in (
        (
            {"observation": "auroa"},
            "observation: 'auroa'; did you mean 'aurora'? accepts aurora, orca, or a function of Features",
        ),
        ({"reward": "x"}, "reward: 'x'; accepts aurora, orca, or a function of Features"),
        ({"action": "cwnd"}, "action: 'cwnd'; did you mean 'window'? accepts rate, window, orca, or an Action"),
        ({"step": "fast"}, "step: 'fast'; needs a time, round trips or ACKs, as in '10 ms', '1 RTT' or '50 ACKs'"),
        (
            {"step": "1.5 ACKs"},
            "step: '1.5 ACKs'; needs a time, round trips or ACKs, as in '10 ms', '1 RTT' or '50 ACKs'",
        ),
        ({"step": "1 ns"}, "step: '1 ns'; needs at least 1 us"),
        ({"most_steps": 0}, "most_steps: 0; needs at least 1"),
        (
            {"observation": lambda features: np.zeros(3)},
            "observation: an array of shape (3,); needs (1, columns), a row per agent",
        ),
    ):
        with pytest.raises(ScenarioError) as error:
            LinkEnv(PATH, **arguments)
        assert str(error.value) == told
    with pytest.raises(ScenarioError, match=r"^threads: -1; needs at least one, or None for all cores$"):
        LinkVectorEnv(2, PATH, threads=-1)


def test_an_error_of_a_class_with_the_agent_is_named() -> None:
    class Failing(Control):
        def on_ack(self, ack: Ack) -> None:
            raise KeyError("beside")

    fields = {"network.group": [{"name": "agent"}, {"name": "other", "tcp": {"congestion": Failing}}]}
    env = LinkEnv(PATH.with_(**fields), agent="agent", step="1 s")
    # The error may be raised before the agent's first RTT sample.
    with pytest.raises(RunError, match="KeyError: 'beside'"):  # noqa: PT012
        env.reset(seed=1)
        env.step(np.zeros(1, dtype=np.float32))
