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
    duration: "5 s",
    network: { kind: "dumbbell", sources: 15 },
    tcp: {
        recovery: "reno",
        mss: "1460 B",
        receiver_window: "64 KiB",
        // Clocks so fine that what is seen is the switch's doing, and not the timers'.
        timer: { kind: "fine", min_rto: "10 ms", initial_rto: "100 ms" },
    },
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
        text: "A buffer that is full loses packets; the sender halves its window and adds a segment each round trip until the next loss.",
        look: "Window and queue rise and fall together. After the start the queue hardly runs dry: the buffer holds a bandwidth-delay product, so half of a full window still fills the pipe. Efficiency: .98.",
        fields: { ...ONE, name: "lesson-2-saw-tooth", duration: "60 s", switch: { buffer: "1 BDP" }, tcp: { ...ONE.tcp, recovery: "sack" } },
    },
    {
        title: "Too little buffer",
        text: "The same path with a tenth of the buffer. After each halving the pipe is not full for seconds.",
        look: "Go back, pin that run, and come here again: efficiency falls from .98 to .76, and the throughput has teeth.",
        fields: { ...ONE, name: "lesson-3-small-buffer", duration: "60 s", switch: { buffer: "0.1 BDP" }, tcp: { ...ONE.tcp, recovery: "sack" } },
    },
    {
        title: "Many losses at once",
        text: "Slow start overshoots: dozens of segments are lost in one round trip. Reno mends one of them each round trip, and then waits for a timeout; SACK is told what is missing and sends all of it.",
        look: "Zoom into the first four seconds of the sequence numbers: after the first losses there is a silence of half a second or more. Go back to the whole run, pin this run and set loss recovery to sack: efficiency rises from .66 to .89.",
        fields: { ...ONE, name: "lesson-4-recovery", switch: { buffer: "0.5 BDP" }, tcp: { ...ONE.tcp, recovery: "reno" } },
    },
    {
        title: "Packets made of cells",
        text: "ATM carries a packet of 1500 bytes as 32 cells of 53 bytes. A switch that is full loses cells, and each lost cell makes its whole packet worthless, though its other cells are still carried.",
        look: "Fifteen sources, 1000 cells of buffer, plain UBR: the port is busy for 94 % of the time, the efficiency is .85. The difference is cells of packets that nobody could use.",
        fields: { ...CELLS, name: "lesson-5-cells", switch: { buffer: "1000 cells", policy: "tail-drop" } },
    },
    {
        title: "Why Early Packet Discard helps",
        text: "EPD refuses whole packets, all cells of them, once the buffer is four fifths full. What is carried is of use.",
        look: "Pin the step before and compare: .99 instead of .85 from the same link and the same buffer. More cells are lost, 4.4 % instead of 1.2 %, but they are those of whole packets, which the link then need not carry. Run 20 seeds of each to see whether such a difference is more than chance; then make the buffer smaller until EPD fails, too.",
        fields: { ...CELLS, name: "lesson-6-epd", switch: { buffer: "1000 cells", policy: "epd" } },
    },
];
