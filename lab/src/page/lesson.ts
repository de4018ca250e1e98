/** Six steps on congestion control over IP today, and two on ATM, each with its scenario. */
import { DESCRIPTION } from "../scenario/model";

/** A step: a hint on what to observe, and the scenario that shows it. */
export interface Step {
    title: string;
    text: string;
    /** What to observe. */
    look: string;
    fields: Record<string, unknown>;
}

/** One download over 20 Mbit/s and an RTT of 40 ms. */
const TODAY = {
    framing: "ip",
    duration: "60 s",
    network: { kind: "dumbbell", sources: 1, access_rate: "1 Gbit/s", access_delay: "1 ms", trunk_rate: "20 Mbit/s", trunk_delay: "18 ms", exit_delay: "1 ms" },
    switch: { buffer: "1 BDP" },
    tcp: { profile: "linux-6" },
};
const { sources: _, ...path } = TODAY.network;
/** Groups with a flow of each control. */
const CONTROLS = ["cubic", "bbr"].map((name) => ({ name, count: 1, tcp: { congestion: name } }));

/** Fifteen sources over ATM. */
const CELLS = {
    defaults: "1996",
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
        title: "Bufferbloat",
        text: "The buffer holds eight bandwidth-delay products (BDP). CUBIC, the default of Linux, fills any buffer, and all packets wait behind its queue.",
        look: "The RTT grows from 40 to 360 ms. Pin this run and choose the policy FQ-CoDel: the RTT stays below 65 ms, and the efficiency is 0.96 instead of 1.00.",
        fields: { ...TODAY, name: "lesson-1-bufferbloat", duration: "30 s", switch: { buffer: "8 BDP" } },
    },
    {
        title: "CUBIC",
        text: "After a loss, CUBIC keeps 0.7 of its window, approaches the window of the last loss, and then probes beyond it. Here the buffer is one BDP.",
        look: "The curves of the window end with losses of a full buffer, and the efficiency is 1.00. Set the buffer to 0.1 BDP: 0.88.",
        fields: { ...TODAY, name: "lesson-2-cubic" },
    },
    {
        title: "BBR",
        text: "BBR measures the rate of the path and its smallest RTT, and sends at this rate. Losses change it little.",
        look: "Pin the previous step: the mean queue is 8 instead of 51 packets, at an efficiency of 0.98. Every ten seconds, BBR sends almost nothing for 0.2 s to measure the RTT.",
        fields: { ...TODAY, name: "lesson-3-bbr", tcp: { profile: "linux-6", congestion: "bbr" } },
    },
    {
        title: "CUBIC against BBR",
        text: "One flow of each shares the link. Which of them gets more depends on the buffer.",
        look: "BBR gets 16.3 and CUBIC 2.7 Mbit/s. Set the buffer to 8 BDP: CUBIC fills it and gets 13.6, BBR 5.6 Mbit/s.",
        fields: { ...TODAY, name: "lesson-4-cubic-bbr", network: { ...path, group: CONTROLS } },
    },
    {
        title: "A GEO satellite",
        text: "The same link over a geostationary satellite: the RTT is 600 ms, and each doubling of the window takes as long.",
        look: "The link is full after 5.5 s; the efficiency over 30 s is 0.86. Set the trunk's delay to 18 ms: 1.00.",
        fields: { ...TODAY, name: "lesson-5-geo", duration: "30 s", network: { ...TODAY.network, trunk_delay: "298 ms" } },
    },
    {
        title: "Starlink",
        text: "A download as measured in Germany in 2023: every 15 s the path may have another satellite and another rate, and single packets are lost.",
        look: "Each loss reduces CUBIC's window: it gets 16 Mbit/s. BBR gets 184: longpipe run starlink.toml --set tcp.congestion=bbr.",
        // Python resolved its path.
        fields: DESCRIPTION.presets.find(({ name }) => name === "starlink")?.fields ?? TODAY,
    },
    {
        title: "Packets made of cells",
        text: "ATM carries a packet of 1500 bytes in 32 cells of 53 bytes. A full switch drops single cells. Each lost cell makes its whole packet useless, but the packet's other cells still use the link.",
        look: "Fifteen sources, a buffer of 1000 cells, plain UBR: the port is busy for 94 % of the time, but the efficiency is 0.85. Much of the difference is cells of incomplete packets.",
        fields: { ...CELLS, name: "lesson-7-cells", switch: { buffer: "1000 cells", policy: "tail-drop" } },
    },
    {
        title: "Why Early Packet Discard helps",
        text: "Early Packet Discard (EPD) drops whole packets once the buffer is 80 % full, so that the link carries only complete packets.",
        look: "Pin the previous step and compare: the efficiency is 0.99 instead of 0.85 with the same link and buffer. The port drops more cells, 8.99 % instead of 2.55 %, but they belong to whole packets. Run 20 seeds of each to see whether the difference is significant. Then reduce the buffer until EPD fails, too.",
        fields: { ...CELLS, name: "lesson-8-epd", switch: { buffer: "1000 cells", policy: "epd" } },
    },
];
