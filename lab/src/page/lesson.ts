/** Six steps from slow start to Early Packet Discard, each with its scenario. */

/** A step: what to look at, and the scenario that shows it. */
export interface Step {
    title: string;
    text: string;
    look: string;
    fields: Record<string, unknown>;
}

const ONE = {
    framing: "ip",
    duration: "20 s",
    network: { kind: "dumbbell", sources: 1, access_rate: "100 Mbit/s", trunk_rate: "10 Mbit/s", trunk_delay: "50 ms" },
    tcp: { mss: "1460 B", receiver_window: "1 MB" },
};
const CELLS = {
    duration: "10 s",
    network: { kind: "dumbbell", sources: 15 },
    tcp: { recovery: "reno", receiver_window: "64 KiB" },
};

export const LESSON: Step[] = [
    {
        title: "Slow start",
        text: "A sender that knows nothing of the path begins with one segment. Each ACK lets it send two: the window doubles every round trip, here of 100 ms, until it fills the pipe.",
        look: "Zoom into the first second and a half of the window: 1, 2, 4, 8 … segments. The sequence numbers bend upwards in the same steps.",
        fields: { ...ONE, name: "lesson-1-slow-start", duration: "2 s", switch: { buffer: "unlimited" } },
    },
    {
        title: "The saw-tooth",
        text: "A buffer that is full loses a packet; Reno halves its window and adds a segment each round trip until the next loss.",
        look: "Window and queue rise and fall together. The queue never runs dry: the buffer holds a bandwidth-delay product, so half of a full window still fills the pipe.",
        fields: { ...ONE, name: "lesson-2-saw-tooth", duration: "60 s", switch: { buffer: "1 BDP" }, tcp: { ...ONE.tcp, recovery: "sack" } },
    },
    {
        title: "Too little buffer",
        text: "The same path with a tenth of the buffer. After each halving the pipe is not full for seconds.",
        look: "Pin the run before, then load this one: efficiency falls, and the throughput has teeth.",
        fields: { ...ONE, name: "lesson-3-small-buffer", duration: "60 s", switch: { buffer: "0.1 BDP" }, tcp: { ...ONE.tcp, recovery: "sack" } },
    },
    {
        title: "Many losses at once",
        text: "Slow start overshoots: dozens of segments are lost in one round trip. Reno mends one of them each round trip, and then waits for a timeout; SACK is told what is missing and sends all of it.",
        look: "Look for the silence in the sequence numbers. Then set loss recovery to sack and compare.",
        fields: { ...ONE, name: "lesson-4-recovery", switch: { buffer: "0.5 BDP" }, tcp: { ...ONE.tcp, recovery: "reno" } },
    },
    {
        title: "Packets made of cells",
        text: "ATM carries a packet of 512 bytes as 12 cells of 53 bytes. A switch that is full loses cells, and each lost cell makes its whole packet worthless, though the other cells are still carried.",
        look: "Fifteen sources, 1000 cells of buffer, plain UBR: the port is busy, yet the efficiency is poor. Much of what it carries is rubbish.",
        fields: { ...CELLS, name: "lesson-5-cells", switch: { buffer: "1000 cells", policy: "tail-drop" } },
    },
    {
        title: "Why Early Packet Discard helps",
        text: "EPD refuses whole packets, all cells of them, before the buffer is full. What is carried is of use.",
        look: "Pin the step before and compare: more efficiency from the same link and the same buffer. Who loses is still chance: fairness takes selective-drop or fba. Run 20 seeds of each to see whether the differences are real.",
        fields: { ...CELLS, name: "lesson-6-epd", switch: { buffer: "1000 cells", policy: "epd" } },
    },
];
