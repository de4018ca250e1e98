"""Random access: slotted ALOHA and CRDSA (contention resolution diversity slotted ALOHA) on a collision channel."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from access_witnesses.tables import Row

SLOTS: Final = 100
LOADS: Final = tuple(tenths / 10 for tenths in range(1, 11))
SEED: Final = 2007
# Frames for each load: more at low loads, at which losses are rare.
FRAMES: Final = {load: 40_000 if load < 0.55 else 8_000 for load in LOADS}
BATCH: Final = 4_000
# Quantile of the normal distribution for intervals of 95 %.
NORMAL: Final = 1.959964


def unresolved(chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns which users remain after interference cancellation, from the slots of each user.

    A slot that contains one burst is decoded; all bursts of its user are then removed, until no slot has one burst.
    """
    remaining = np.arange(len(chosen))
    while True:
        bursts = np.bincount(chosen[remaining].ravel(), minlength=chosen.max(initial=0) + 1)
        resolved = (bursts[chosen[remaining]] == 1).any(axis=1)
        if not resolved.any():
            return np.isin(np.arange(len(chosen)), remaining, assume_unique=True)
        remaining = remaining[~resolved]


def draw_slots(generator: np.random.Generator, users: int, slots: int, replicas: int) -> NDArray[np.int64]:
    """Returns distinct slots of each user, all sets equally likely: draws with a repeated slot are replaced."""
    chosen = generator.integers(0, slots, (users, replicas))
    while True:
        ordered = np.sort(chosen, axis=1)
        repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not repeated.any():
            return chosen
        chosen[repeated] = generator.integers(0, slots, (int(repeated.sum()), replicas))


@dataclass(frozen=True)
class Losses:
    """Users and lost users of each frame."""

    users: NDArray[np.int64]
    lost: NDArray[np.int64]

    @property
    def share(self) -> float:
        """Share of lost packets."""
        return float(self.lost.sum() / self.users.sum())

    def standard_error(self) -> float:
        """Standard error of the share: losses within a frame depend on each other, frames do not."""
        return float(np.sqrt(np.square(self.lost - self.share * self.users).sum()) / self.users.sum())

    def binomial_interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 % as if packets were lost independently."""
        count, share = int(self.users.sum()), self.share
        center = (share + NORMAL**2 / (2 * count)) / (1 + NORMAL**2 / count)
        half = NORMAL * math.sqrt(share * (1 - share) / count + (NORMAL / (2 * count)) ** 2) / (1 + NORMAL**2 / count)
        return center - half, center + half


def crdsa(load: float, replicas: int, frames: int, *, poisson: bool = True, slots: int = SLOTS) -> Losses:
    """Simulates frames with a Poisson or a fixed number of users of mean `load` times `slots`."""
    generator = np.random.default_rng([SEED, round(100 * load), replicas, poisson])
    users = generator.poisson(load * slots, frames) if poisson else np.full(frames, round(load * slots))
    lost: list[NDArray[np.int64]] = []
    for batch in np.array_split(users, max(1, frames // BATCH)):
        # Slots are numbered through all frames of the batch.
        in_frame = np.repeat(np.arange(len(batch)), batch)
        chosen = draw_slots(generator, len(in_frame), slots, replicas) + slots * in_frame[:, None]
        lost.append(np.bincount(in_frame[unresolved(chosen)], minlength=len(batch)))
    return Losses(users, np.concatenate(lost))


def same_slots_floor(load: float, replicas: int, slots: int = SLOTS) -> float:
    """Returns the mean number of other users that chose exactly a user's slots, for Poisson users.

    Two such users can never be resolved, so that 1 - exp(-floor) is a lower bound of the loss.
    """
    return load * slots / math.comb(slots, replicas)


def density_threshold(replicas: int) -> float:
    """Returns the load up to which an infinitely long frame is resolved (Liva, IEEE Trans. Commun. 59(2), 2011)."""
    low, high = 0.0, 1.0
    while high - low > 1e-6:
        load = (low + high) / 2
        unknown = 1.0
        for _ in range(20_000):
            unknown = (1 - math.exp(-load * replicas * unknown)) ** (replicas - 1)
        low, high = (load, high) if unknown < 1e-6 else (low, load)
    return low


def aloha_throughput(load: float, stations: int | None) -> float:
    """Returns packets per slot of slotted ALOHA: G exp(-G), or G (1 - G/N)^(N - 1) for N stations."""
    return load * math.exp(-load) if stations is None else load * (1 - load / stations) ** (stations - 1)


def aloha(load: float, stations: int, slots: int) -> float:
    """Simulates slotted ALOHA: each station transmits in each slot with probability load / stations."""
    generator = np.random.default_rng([SEED, round(100 * load), stations])
    return float((generator.binomial(stations, load / stations, slots) == 1).mean())


def rows() -> Iterator[Row]:
    """Yields the table `random-access`."""
    for load in LOADS:
        for replicas, users in ((3, "poisson"), (3, "fixed"), (2, "poisson")):
            losses = crdsa(load, replicas, FRAMES[load], poisson=users == "poisson")
            low, high = losses.binomial_interval()
            error = losses.standard_error()
            yield Row(
                "CRDSA loss",
                f"G={load} replicas={replicas} slots=100 users={users} lost={losses.lost.sum()} packets={losses.users.sum()}"
                f" binomial95={low:.3e}:{high:.3e}",
                f"{losses.share:.4e}", f"{error:.1e}", f"{3 * error:.1e}", "Casini et al. 2007 (rule)", f"random_access.crdsa: {FRAMES[load]} frames",
            )  # fmt: skip
    for replicas in (2, 3, 4):
        yield Row(
            "CRDSA threshold, infinite frame", f"replicas={replicas}", f"{density_threshold(replicas):.4f}", "", "report",
            "Liva 2011", "random_access.density_threshold",
        )  # fmt: skip
    for load in LOADS:
        for stations in (5, 10, 50, None):
            yield Row(
                "slotted ALOHA throughput", f"G={load} stations={stations or 'infinite'}",
                f"{aloha_throughput(load, stations):.6f}", "", "0.000001", "Abramson 1970, Roberts 1975", "closed form",
            )  # fmt: skip


COMMENT: Final = """
Random access on a collision channel: a slot with two or more bursts is lost unless all but one are cancelled; cancellation
is perfect and repeats until no slot contains one burst. A user's replicas are in distinct slots of one frame. No capture.
error is the standard error over frames, tolerance three of them; binomial95 ignores that losses within a frame cluster (two
users with equal slots are lost together) and is too narrow by a factor of 1.4 at low loads and of 6 at G = 0.6 to 0.8.
"""
