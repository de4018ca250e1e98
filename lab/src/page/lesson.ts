/** Six steps from slow start to Early Packet Discard, each with its scenario. */

/** A step: a hint on what to observe, and the scenario that shows it. */
export interface Step {
    title: string;
    text: string;
    /** What to observe. */
    look: string;
    fields: Record<string, unknown>;
}

/** One source over IP. */
const ONE = {
    framing: "ip",
    duration: "20 s",
    network: { kind: "dumbbell", sources: 1, access_rate: "100 Mbit/s", trunk_rate: "10 Mbit/s", trunk_delay: "50 ms" },
    tcp: { mss: "1460 B", receiver_window: "1 MB" },
};
/** Fifteen sources over ATM. */
const CELLS = {
    duration: "5 s",
    network: { kind: "dumbbell", sources: 15 },
    tcp: {
        recovery: "reno",
        mss: "1460 B",
        receiver_window: "64 KiB",
        // A fine timer granularity, so that the picture shows the effect of the switch, not that of coarse timeouts.
        timer: { kind: "fine", min_rto: "10 ms", initial_rto: "100 ms" },
    },
};

export const LESSON: Step[] = [
    {
        title: "Slow start",
        text: "A new connection starts with a congestion window of one segment. Each ACK increases the window by one segment, so the window doubles every round-trip time (RTT), here 100 ms, until it fills the path.",
        look: "Drag across the first 0.75 seconds of the window to zoom: 1, 2, 4, 8 … segments of 1.46 KB. The queue and the sequence numbers show the same bursts. After that the link is busy all the time, the window only lengthens the queue, and at 1.5 seconds it reaches the receiver's window.",
        fields: { ...ONE, name: "lesson-1-slow-start", duration: "2 s", switch: { buffer: "unlimited" } },
    },
    {
        title: "The sawtooth",
        text: "When the buffer is full, packets are dropped. The sender halves its window and then adds one segment per RTT until the next loss.",
        look: "Window and queue rise and fall together. After the start the queue is almost never empty: the buffer is one bandwidth-delay product (BDP), so half of the maximum window still fills the path. Efficiency: .98.",
        fields: { ...ONE, name: "lesson-2-saw-tooth", duration: "60 s", switch: { buffer: "1 BDP" }, tcp: { ...ONE.tcp, recovery: "sack" } },
    },
    {
        title: "Too little buffer",
        text: "The same path with a tenth of the buffer. After each halving the window is smaller than the BDP, and the link is partly idle for seconds.",
        look: "Return to the previous step, pin that run, and come back: efficiency falls from .98 to .76, and the throughput shows the sawtooth.",
        fields: { ...ONE, name: "lesson-3-small-buffer", duration: "60 s", switch: { buffer: "0.1 BDP" }, tcp: { ...ONE.tcp, recovery: "sack" } },
    },
    {
        title: "Many losses at once",
        text: "Slow start overshoots: dozens of segments are lost in one RTT. Reno repairs one loss per RTT and then waits for a timeout. With SACK the receiver reports which segments are missing, and the sender retransmits all of them.",
        look: "Zoom into the first four seconds of the sequence numbers: after the first losses nothing is sent for half a second or more. Show the whole run again, pin it and set loss recovery to sack: efficiency rises from .66 to .89.",
        fields: { ...ONE, name: "lesson-4-recovery", switch: { buffer: "0.5 BDP" }, tcp: { ...ONE.tcp, recovery: "reno" } },
    },
    {
        title: "Packets made of cells",
        text: "ATM carries a packet of 1500 bytes in 32 cells of 53 bytes. A full switch drops single cells. Each lost cell makes its whole packet useless, but the packet's other cells still use the link.",
        look: "Fifteen sources, a buffer of 1000 cells, plain UBR: the port is busy for 94 % of the time, but the efficiency is .85. Much of the difference is cells of incomplete packets.",
        fields: { ...CELLS, name: "lesson-5-cells", switch: { buffer: "1000 cells", policy: "tail-drop" } },
    },
    {
        title: "Why Early Packet Discard helps",
        text: "Early Packet Discard (EPD) drops whole packets once the buffer is 80 % full, so that the link carries only complete packets.",
        look: "Pin the previous step and compare: the efficiency is .99 instead of .85 with the same link and buffer. The port drops more cells, 8.99 % instead of 2.55 %, but they belong to whole packets. Run 20 seeds of each to see whether the difference is significant. Then reduce the buffer until EPD fails, too.",
        fields: { ...CELLS, name: "lesson-6-epd", switch: { buffer: "1000 cells", policy: "epd" } },
    },
];
