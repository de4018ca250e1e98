"""CellReplay's replay (Sentosa et al., NSDI 2025), written from a description of its rules.

Times are whole milliseconds. A recording consists of trains (time, base delay, offsets of the packets of the train),
heavy opportunities of 1400 byte each, and offsets by size for 100, 200, ... byte.

1. Light stage. A packet starts a new train if it is the first one, or if now + base > last + T, in which `base` is the
   base delay of the present train, `last` the light release of the packet before it and T the long-to-short timer.
   The train is then the latest one that has begun; at the last one, the recording begins again. The base delay is
   interpolated to the next train, in single precision, and truncated; the packet is released after it, and uses the
   first opportunity of the train. Otherwise, opportunities earlier than now - start of the train are skipped, the next
   one is used if too few of 1400 byte are left, and the packet is released at now + base + (offset - (now - start)).
   If none is left: at max(now + base, now + last offset), and the packet has to pass the heavy stage.
2. The rounded size offset is added unless the result is before the release of the packet before it. `last` of rule 1
   stays the time without size offset.
3. A packet is not released before the one before it; if this raises its release, it has to pass the heavy stage.
4. Heavy stage. A packet that has to pass it, or finds it occupied, joins a FIFO at its release. An opportunity serves
   1400 byte of those that joined before its time; what it does not use for packets in the FIFO is lost. A packet
   occupies the stage until after the time of the opportunity that completes it. The schedule repeats after its last
   opportunity, and the first packet's arrival is time 0 of both schedules.
5. The FIFO may have limits of packets and bytes, in which the packet that has been sent in part does not count. drop-tail
   drops a packet that does not fit; drop-head drops from the head until the limits are met; codel drops as drop-tail and,
   when a packet is taken for an opportunity, packets behind it: the emulator discards the packet that it takes second.
   A dropped packet does not occupy the stage. (In the emulator it does for ever, so that no later packet bypasses it.)
"""

import hashlib
import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from access_witnesses.tables import Row

OPPORTUNITY_BYTES: Final = 1400
PACKETS: Final = 10_000
FIRST: Final = 50


@dataclass(frozen=True)
class Train:
    """Time [ms], base delay [ms] and offsets [ms] of one train of the light recording."""

    time: int
    base: int
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class Recording:
    """Light trains, heavy opportunities [ms] and size offsets [ms], with the long-to-short timer [ms]."""

    trains: tuple[Train, ...]
    heavy: tuple[int, ...]
    size_offsets: tuple[float, ...]
    timer: int

    def files(self) -> str:
        """Returns the three files in CellReplay's formats, one after the other."""
        light = (" ".join(map(str, (train.time, train.base, *train.offsets))) for train in self.trains)
        sizes = (f"{100 * (index + 1)} {offset}" for index, offset in enumerate(self.size_offsets))
        return "\n".join([*light, *map(str, self.heavy), *sizes]) + "\n"


@dataclass(frozen=True)
class Packet:
    """Arrival [ms] and size [byte]."""

    arrival: int
    size: int


@dataclass(frozen=True)
class Release:
    """Release from the light stage [ms], whether the packet may bypass the heavy stage, and its departure [ms].

    The departure of a lost packet is None.
    """

    light: int
    bypass: bool
    departure: int | None


class LightStage:
    """Rules 1 to 3. With `exact`, base delays are interpolated without rounding to single precision."""

    def __init__(self, recording: Recording, *, exact: bool = False) -> None:
        self.recording = recording
        self.exact = exact
        self.index = 0
        # Time at which the recording began (again), and of the present train.
        self.began = 0
        self.start = 0
        self.base: int | None = None
        self.opportunity = 0
        self.left = 0
        self.last = 0
        self.released = 0

    def interpolated(self, elapsed: int) -> int:
        """Returns the base delay [ms] at a time of the recording."""
        train, following = self.recording.trains[self.index : self.index + 2]
        passed, span, rise = elapsed - train.time, following.time - train.time, following.base - train.base
        if self.exact:
            # C++ truncates towards zero; a base delay is never negative.
            return (train.base * span + passed * rise) // span
        ratio = np.float32(passed) / np.float32(span)
        return int(np.float32(train.base) + ratio * np.float32(rise))

    def begin(self, packet: Packet) -> int:
        """Starts a train and returns the packet's release."""
        trains = self.recording.trains
        while trains[self.index + 1].time <= packet.arrival - self.began:
            self.index += 1
            if self.index == len(trains) - 1:
                self.began += trains[self.index].time
                self.index = 0
        self.base = self.interpolated(packet.arrival - self.began)
        self.start = packet.arrival
        self.opportunity = 0
        self.left = OPPORTUNITY_BYTES - packet.size
        return packet.arrival + self.base

    def continued(self, packet: Packet, base: int) -> tuple[int, bool]:
        """Returns the release of a packet in the present train, and whether it had an opportunity."""
        offsets = self.recording.trains[self.index].offsets
        elapsed = packet.arrival - self.start
        while self.opportunity < len(offsets) and offsets[self.opportunity] < elapsed:
            self.opportunity += 1
            self.left = OPPORTUNITY_BYTES
        if self.left < packet.size:
            self.opportunity += 1
            self.left = OPPORTUNITY_BYTES
        self.left -= packet.size
        if self.opportunity < len(offsets):
            return packet.arrival + base + offsets[self.opportunity] - elapsed, True
        return packet.arrival + max(base, offsets[-1]), False

    def size_offset(self, size: int) -> int:
        """Returns the size offset, linear between 100 byte steps, constant outside, rounded half away from zero."""
        offsets = self.recording.size_offsets
        index, rest = size // 100 - 1, size % 100
        if index < 0:
            offset = offsets[0]
        elif index >= len(offsets) - 1:
            offset = offsets[-1]
        else:
            offset = offsets[index] + rest / 100 * (offsets[index + 1] - offsets[index])
        return int(offset + 0.5) if offset >= 0 else -int(0.5 - offset)

    def release(self, packet: Packet) -> tuple[int, bool]:
        """Returns release and whether the packet may bypass the heavy stage."""
        if self.base is None or packet.arrival + self.base > self.last + self.recording.timer:
            time, bypass = self.begin(packet), True
        else:
            time, bypass = self.continued(packet, self.base)
        self.last = time
        offset = self.size_offset(packet.size)
        if time + offset >= self.released:
            time += offset
        if time < self.released:
            time, bypass = self.released, False
        self.released = time
        return time, bypass


@dataclass(frozen=True)
class Queue:
    """Kind of the FIFO of rule 5, its limits (0: none), and CoDel's target and interval [ms]."""

    kind: str = "infinite"
    packets: int = 0
    size: int = 0
    target: int = 0
    interval: int = 0

    def conditions(self) -> str:
        """Returns the parameters as conditions of a row."""
        names = {"packets": self.packets, "bytes": self.size, "target": self.target, "interval": self.interval}
        return " ".join([f"queue={self.kind}", *(f"{name}={value}" for name, value in names.items() if value)])


@dataclass
class Waiting:
    """A packet in the FIFO: its number, its bytes that have not been sent, and the time [ms] at which it joined."""

    index: int
    left: int
    joined: int


# Queue length [byte] up to which the emulator's CoDel does not drop.
CODEL_LEAST: Final = 1504


class Fifo:
    """The FIFO of rule 5; CoDel as in RFC 8289's pseudocode, with whole milliseconds and 32-bit counts."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.waiting: deque[Waiting] = deque()
        self.first_above = 0
        self.drop_next = 0
        self.count = 0
        self.last_count = 0
        self.is_dropping = False

    def size(self) -> int:
        """Returns the number of bytes."""
        return sum(packet.left for packet in self.waiting)

    def fits(self, packets: int, size: int) -> bool:
        """Returns whether this many packets and bytes are within the limits."""
        queue = self.queue
        return not (queue.packets and packets > queue.packets) and not (queue.size and size > queue.size)

    def put(self, packet: Waiting) -> None:
        """Adds a packet, or drops packets."""
        if self.queue.kind == "drop-head":
            self.waiting.append(packet)
            while not self.fits(len(self.waiting), self.size()):
                self.waiting.popleft()
        elif self.fits(len(self.waiting) + 1, self.size() + packet.left):
            self.waiting.append(packet)

    def get(self, now: int) -> Waiting:
        """Takes the packet for an opportunity."""
        packet, is_late = self.take(now)
        if self.queue.kind != "codel":
            return packet
        if self.is_dropping:
            self.is_dropping = is_late
            while self.is_dropping and now >= self.drop_next:
                _, self.is_dropping = self.take(now)
                self.count += 1
                if self.is_dropping:
                    self.drop_next = self.control(self.drop_next)
        elif is_late:
            self.take(now)
            self.is_dropping = True
            more = (self.count - self.last_count) % 2**32
            recent = now >= self.drop_next and now - self.drop_next < 16 * self.queue.interval
            self.count = more if more > 1 and recent else 1
            self.drop_next = self.control(now)
            self.last_count = self.count
        return packet

    def take(self, now: int) -> tuple[Waiting, bool]:
        """Takes the first packet, and returns whether CoDel may drop."""
        packet = self.waiting.popleft()
        if not self.waiting or now - packet.joined < self.queue.target or self.size() <= CODEL_LEAST:
            self.first_above = 0
        elif self.first_above == 0:
            self.first_above = now + self.queue.interval
        else:
            return packet, now >= self.first_above
        return packet, False

    def control(self, time: int) -> int:
        """Returns the time of the next drop."""
        return time + int(self.queue.interval / math.sqrt(self.count))


class HeavyStage:
    """Rules 4 and 5."""

    def __init__(self, schedule: Sequence[int], queue: Queue) -> None:
        self.schedule = schedule
        self.next = 0
        self.began = 0
        # The FIFO, the packet that has been sent in part, and times at which packets left.
        self.fifo = Fifo(queue)
        self.begun: Waiting | None = None
        self.departures: dict[int, int] = {}
        self.occupied: deque[int] = deque()

    def opportunity(self) -> int:
        """Returns the time of the next opportunity."""
        return self.began + self.schedule[self.next]

    def is_empty(self) -> bool:
        """Returns whether no packet waits."""
        return self.begun is None and not self.fifo.waiting

    def use(self) -> None:
        """Serves the FIFO with the next opportunity."""
        time, left = self.opportunity(), OPPORTUNITY_BYTES
        self.next += 1
        if self.next == len(self.schedule):
            self.next = 0
            self.began += self.schedule[-1]
        while left and not self.is_empty():
            head = self.begun or self.fifo.get(time)
            sent = min(left, head.left)
            left -= sent
            head.left -= sent
            self.begun = head if head.left else None
            if not head.left:
                self.departures[head.index] = time
                self.occupied.append(time)

    def join(self, index: int, time: int, size: int, *, bypass: bool) -> None:
        """Adds the packet at its release, or lets it leave at once."""
        while self.opportunity() <= time:
            self.use()
        while self.occupied and self.occupied[0] < time:
            self.occupied.popleft()
        if bypass and self.is_empty() and not self.occupied:
            self.departures[index] = time
        else:
            self.fifo.put(Waiting(index, size, time))


def replay(
    recording: Recording, packets: Sequence[Packet], *, exact: bool = False, queue: Queue | None = None
) -> list[Release]:
    """Returns the release of each packet."""
    light = LightStage(recording, exact=exact)
    heavy = HeavyStage(recording.heavy, queue or Queue())
    # The first packet's arrival is time 0.
    shifted = [Packet(packet.arrival - packets[0].arrival, packet.size) for packet in packets]
    released = [light.release(packet) for packet in shifted]
    for index, ((time, bypass), packet) in enumerate(zip(released, shifted, strict=True)):
        heavy.join(index, time, packet.size, bypass=bypass)
    while not heavy.is_empty():
        heavy.use()
    first = packets[0].arrival
    departures = {index: first + time for index, time in heavy.departures.items()}
    return [Release(first + time, bypass, departures.get(index)) for index, (time, bypass) in enumerate(released)]


def draws(seed: int) -> Iterator[int]:
    """Yields the linear congruential sequence x -> (1103515245 x + 12345) mod 2^31, each shifted right by 8 bit."""
    state = seed
    while True:
        state = (1_103_515_245 * state + 12_345) % 2**31
        yield state >> 8


@dataclass(frozen=True)
class Kind:
    """Ranges (first, number of values) from which a synthetic recording and its packets are drawn."""

    seed: int
    timer: int
    # Time between trains, base delay, time between offsets, number of offsets, time between heavy opportunities [ms].
    train: tuple[int, int]
    base: tuple[int, int]
    step: tuple[int, int]
    offsets: tuple[int, int]
    heavy: tuple[int, int]
    # Packets of a burst, time between its packets, and pause after it [ms].
    burst: tuple[int, int]
    gap: tuple[int, int]
    pause: tuple[int, int]
    size_offsets: tuple[float, ...]


KINDS: Final = {
    # Steady: short trains, bursts that mostly fit them, size offsets that rise.
    "stationary": Kind(
        1,
        0,
        (100, 41),
        (18, 7),
        (1, 2),
        (10, 6),
        (1, 2),
        (1, 12),
        (0, 2),
        (20, 60),
        tuple(0.35 * step for step in range(14)),
    ),
    # Base delays change much, long gaps without an opportunity, a timer, size offsets that fall in places.
    "driving": Kind(
        2,
        15,
        (80, 300),
        (25, 90),
        (0, 9),
        (4, 9),
        (0, 13),
        (1, 40),
        (0, 4),
        (0, 400),
        (1.5, 0.5, 2.5, 2.5, 3.0, 1.0, 6.5),
    ),
    # Overloaded: packets come faster than opportunities.
    "loaded": Kind(3, 5, (150, 1), (30, 20), (2, 3), (3, 2), (2, 4), (200, 300), (0, 5), (100, 500), (0.0,)),
}
TRAINS: Final = 120
HEAVY: Final = 4000


def synthetic(kind: Kind) -> tuple[Recording, list[Packet]]:
    """Returns a recording and packets; every draw is first + value mod number of values, in the order of the fields."""
    values = draws(kind.seed)

    def draw(limits: tuple[int, int]) -> int:
        return limits[0] + next(values) % limits[1]

    trains: list[Train] = []
    time = 0
    for _ in range(TRAINS):
        base, count = draw(kind.base), draw(kind.offsets)
        offsets = [0]
        while len(offsets) < count:
            offsets.append(offsets[-1] + draw(kind.step))
        trains.append(Train(time, base, tuple(offsets)))
        time += draw(kind.train)
    heavy = [draw(kind.heavy)]
    while len(heavy) < HEAVY:
        heavy.append(heavy[-1] + draw(kind.heavy))
    packets: list[Packet] = []
    time = 0
    while len(packets) < PACKETS:
        for _ in range(draw(kind.burst)):
            # Half of the packets are full, the others of any size from 40 byte.
            size = OPPORTUNITY_BYTES if next(values) % 2 else draw((40, OPPORTUNITY_BYTES - 39))
            packets.append(Packet(time, size))
            time += draw(kind.gap)
        time += draw(kind.pause)
    return Recording(tuple(trains), tuple(heavy), kind.size_offsets, kind.timer), packets[:PACKETS]


def digest(lines: Iterable[str]) -> str:
    """Returns the SHA-256 digest of lines, each ended by a line feed."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


# Queues of the saturated link that drop packets.
QUEUES: Final = (
    Queue("drop-tail", packets=20),
    Queue("drop-tail", size=30_000),
    Queue("drop-head", packets=20, size=20_000),
    Queue("codel", packets=1000, target=20, interval=100),
)


def rows() -> Iterator[Row]:
    """Yields the table `cellreplay`."""
    source, how = "cellreplay 2ca662c (rules)", "cellreplay.replay"
    for name, kind in KINDS.items():
        recording, packets = synthetic(kind)
        releases = replay(recording, packets)
        where = f"recording={name}"
        yield Row(
            "SHA-256 of recording",
            where,
            digest(recording.files().splitlines()),
            "",
            "0",
            source,
            "cellreplay.synthetic",
        )
        yield Row(
            "SHA-256 of packets",
            where,
            digest(f"{packet.arrival} {packet.size}" for packet in packets),
            "",
            "0",
            source,
            "cellreplay.synthetic",
        )
        yield Row(
            "SHA-256 of departures", where, digest(str(release.departure) for release in releases), "", "0", source, how
        )
        yield Row(
            "bypassing packets",
            where,
            str(sum(release.departure == release.light for release in releases)),
            "",
            "0",
            source,
            how,
        )
        for index in range(FIRST):
            packet, release = packets[index], releases[index]
            yield Row(
                "departure ms", f"{where} packet={index} arrival={packet.arrival} size={packet.size} light={release.light} bypass={release.bypass}",
                str(release.departure), "", "0", source, how,
            )  # fmt: skip
        for queue in QUEUES:
            departures = [release.departure for release in replay(recording, packets, queue=queue)]
            texts = ("lost" if departure is None else str(departure) for departure in departures)
            dropped = f"{where} {queue.conditions()}"
            yield Row("SHA-256 with losses", dropped, digest(texts), "", "0", source, how)
            yield Row("lost packets", dropped, str(departures.count(None)), "", "0", source, how)


COMMENT: Final = """
CellReplay: departures [ms] of 10 000 packets (at most 1400 byte) over three synthetic recordings, which
access_witnesses.cellreplay.synthetic generates. The digest of departures covers all packets, one decimal number and a line
feed each; that of packets lines ARRIVAL SIZE; that of a recording its light, heavy and size-offset files in this order.
light is the release from the light stage, and bypass whether the packet may bypass the heavy stage. With a queue of the
saturated link that drops packets, the digest has "lost" in place of the departure of a lost packet.
"""
