/** Exercises over IP with checked answers: the engine runs all choices and finds the correct one. */
import { toJson } from "../scenario/core";
import { ScenarioError } from "../scenario/errors";
import { type Resolved, resolve } from "../scenario/resolve";
import { runAll } from "./engine";
import { changed, checkedAt, written } from "./knobs";
import { metricsOf, throughputs } from "./metrics";
import type { Counted } from "./protocol";

type Table = Record<string, unknown>;

/** A choice: its text, and the value of the field. */
export interface Choice {
    words: string;
    value: unknown;
}

/**
 * An exercise: the reader sets one field such that a measure satisfies a bound with the smallest or the largest
 * possible choice.
 */
export interface Exercise {
    title: string;
    text: string;
    task: string;
    look: string;
    /** Text that is shown with the correct answer, or one for each loss recovery. */
    why: string | Record<string, string>;
    fields: Table;
    path: string;
    label: string;
    choices: Choice[];
    wanted: "smallest" | "largest";
    measure: Measure;
}

/** A measure of a run, and its bound. */
export interface Measure {
    name: string;
    of(resolved: Resolved, run: Counted): number;
    show(value: number): string;
    least?: number;
    most?: number;
}

/** The result of a check. `measured` contains the value of each choice. */
export interface Verdict {
    right: boolean;
    words: string;
    measured: number[];
}

const TCP = { mss: "1460 B", receiver_window: "auto", recovery: "sack" };
const same = (values: string[]): Choice[] => values.map((value) => ({ words: value, value }));
const fixed = (digits: number) => (value: number) => value.toFixed(digits);
const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;
const efficiency: Omit<Measure, "least"> = { name: "efficiency", of: (resolved, run) => metricsOf(resolved, run)["efficiency"] as number, show: fixed(3) };

/** Numbers of the packets lost on the trunk: every third one within one window. */
const DROPS = [60, 63, 66, 69];

const SACKED = "SACK blocks show which segments are missing, so that the sender repairs several losses within an RTT, as far as its window allows (RFC 6675).";

export const EXERCISES: Exercise[] = [
    {
        title: "Bufferbloat",
        text: "A CUBIC download over 10 Mbit/s, and a router with a buffer of one second. CUBIC fills any buffer before it reduces its window, so the RTT grows from 41 ms to a second. A smaller buffer keeps the RTT short, but if the buffer is too small, the link is idle after each reduction.",
        task: "Find the smallest buffer with an efficiency of at least 0.95. Efficiency is the payload delivered over the trunk, divided by the maximum payload that the trunk could carry.",
        look: "The RTT and the queue: both shrink with the buffer. The efficiency stays close to 1 until the buffer is too small to keep the link busy.",
        why: "CUBIC reduces its window to 0.7 of the maximum (RFC 9438 section 4.6). A buffer of (1 − 0.7)/0.7 = 0.43 BDP keeps the link busy all the time, here 17.6 ms; a little less costs a few percent.",
        fields: {
            name: "exercise-1-bufferbloat",
            framing: "ip",
            duration: "60 s",
            network: { kind: "dumbbell", sources: 1, access_rate: "100 Mbit/s", trunk_rate: "10 Mbit/s", trunk_delay: "20 ms" },
            switch: { buffer: "1 s" },
            tcp: { ...TCP, congestion: "cubic" },
        },
        path: "switch.buffer",
        label: "Buffer",
        choices: same(["5 ms", "10 ms", "15 ms", "20 ms", "30 ms", "40 ms", "60 ms", "100 ms", "200 ms", "500 ms", "1 s"]),
        wanted: "smallest",
        measure: { ...efficiency, least: 0.95 },
    },
    {
        title: "RTT fairness",
        text: "Two Reno flows share a link of 10 Mbit/s whose router runs RED. Both increase their windows by one segment per RTT. The flow with the longer RTT adds fewer segments per second, and gets a smaller share of the link.",
        task: "Find the largest additional one-way delay with which the far flow still gets a quarter of the throughput.",
        look: "The windows and the throughput of both flows. With equal delays they are equal.",
        why: "The throughput of Reno is proportional to 1/RTT at the same loss probability (Mathis et al. 1997), and RED gives both flows the same probability. With 20 ms more in each direction, the far flow's RTT, including the queueing delay, is two to three times as long.",
        fields: {
            name: "exercise-2-rtt-fairness",
            framing: "ip",
            duration: "100 s",
            start: { kind: "random", over: "1 s" },
            network: {
                kind: "dumbbell",
                trunk_rate: "10 Mbit/s",
                trunk_delay: "10 ms",
                group: [
                    { name: "near", count: 1 },
                    { name: "far", count: 1, access_delay: "80 ms" },
                ],
            },
            switch: { buffer: "100 packets", policy: "red" },
            tcp: TCP,
        },
        path: "network.group.1.access_delay",
        label: "Additional delay",
        choices: same(["0 s", "5 ms", "10 ms", "20 ms", "40 ms", "80 ms"]),
        wanted: "largest",
        measure: {
            name: "the far flow's share",
            of: (resolved, run) => {
                const rates = throughputs(resolved, run);
                return (rates[1] as number) / rates.reduce((total, rate) => total + rate, 0);
            },
            show: percent,
            least: 0.25,
        },
    },
    {
        title: "ECN",
        text: "The router marks packets instead of dropping them (Explicit Congestion Notification, RFC 3168): each packet that finds K or more packets in the queue. The two senders run DCTCP (RFC 8257), which reduces its window in proportion to the share of marked packets. Nothing is lost, and the queue stays near K.",
        task: "Find the smallest marking threshold K with an efficiency of at least 0.98.",
        look: "The window is reduced often, but little. Pin this run, choose a smaller K, and compare the queues. No segment is retransmitted.",
        why: "RFC 8257 section 4.1 recommends more than C·RTT/7, here 12 packets, so that the queue never runs empty. A slightly smaller K costs only a percent or two.",
        fields: {
            name: "exercise-3-ecn",
            framing: "ip",
            duration: "10 s",
            network: { kind: "dumbbell", sources: 2, access_rate: "1 Gbit/s", trunk_rate: "100 Mbit/s", trunk_delay: "5 ms" },
            switch: { buffer: "250 packets", policy: { kind: "step-marking", threshold: 50 } },
            tcp: { ...TCP, congestion: "dctcp", ecn: "dctcp" },
        },
        path: "switch.policy.threshold",
        label: "K",
        choices: [1, 2, 3, 5, 8, 12, 20, 30, 50].map((value) => ({ words: value === 1 ? "1 packet" : `${value} packets`, value })),
        wanted: "smallest",
        measure: { ...efficiency, least: 0.98 },
    },
    {
        title: "Recovery from 1 to 4 drops",
        text: "The link loses one to four packets of one window (Fall and Floyd 1996), and no others. Reno repairs the first loss by fast retransmit. For each further loss it needs three more duplicate ACKs, and halves its window again.",
        task: "Find the largest number of drops that the chosen loss recovery repairs without a timeout. Begin with Reno, then select NewReno and SACK in the form, and check again.",
        look: "The sequence numbers around 1 s show which segments are lost and retransmitted, and for how long nothing is sent.",
        why: {
            tahoe: "After a fast retransmit, Tahoe slow-starts from one segment at the first lost one, and sends all further lost segments again.",
            reno: "After a partial ACK, Reno leaves fast recovery, and its halved window allows too few segments for three duplicate ACKs. Other recoveries repair more losses: try them.",
            newreno: "NewReno stays in recovery until all losses are repaired. Each partial ACK shows the next lost segment, so that it repairs one per RTT (RFC 6582).",
            sack: SACKED,
            rfc6675: SACKED,
            rack: "SACK blocks show which segments arrived; RACK declares a segment lost if one sent later arrived, and a quarter of the RTT has passed (RFC 8985). The losses are repaired together.",
        },
        fields: {
            name: "exercise-4-drops",
            framing: "ip",
            duration: "10 s",
            network: {
                kind: "dumbbell",
                sources: 1,
                access_rate: "100 Mbit/s",
                trunk_rate: "10 Mbit/s",
                trunk_delay: "50 ms",
                trunk_loss: { kind: "packets", indices: DROPS },
            },
            switch: { buffer: "unlimited" },
            tcp: { mss: "1460 B", receiver_window: "40 KB", recovery: "reno" },
        },
        path: "network.trunk_loss",
        label: "Drops",
        choices: DROPS.map((_, i) => ({ words: String(i + 1), value: { kind: "packets", indices: DROPS.slice(0, i + 1) } })),
        wanted: "largest",
        measure: { name: "timeouts", of: (resolved, run) => metricsOf(resolved, run)["timeouts"] as number, show: fixed(0), most: 0 },
    },
];

/** Returns the choice that a scenario contains; -1 for any other value. */
export function chosen(exercise: Exercise, fields: Table): number {
    let value: unknown = fields;
    for (const name of exercise.path.split(".")) value = (value as Table | undefined)?.[name];
    return exercise.choices.findIndex((choice) => text(choice.value) === text(value));
}

/** Returns the JSON of a value; integers that were read from TOML are bigints. */
function text(value: unknown): string | undefined {
    return JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? Number(one) : one));
}

/** Returns the explanation of the correct answer in a scenario. */
export function whyOf({ why }: Exercise, fields: Table): string {
    return typeof why === "string" ? why : (why[written(checkedAt(resolve(fields), "tcp.recovery")?.value)] ?? "");
}

/**
 * Runs the scenario with each choice and checks the current one. Throws ScenarioError if it is not one of the choices.
 */
export async function check(exercise: Exercise, fields: Table, seed: string, signal: AbortSignal): Promise<Verdict> {
    const own = chosen(exercise, fields);
    if (own < 0) throw new ScenarioError([`${exercise.path}: not one of the choices; needs a value from the menu ${exercise.label}`]);
    const all = exercise.choices.map((choice) => resolve(changed(fields, exercise.path, choice.value)));
    const runs = await runAll(all.map((choice) => ({ core: toJson(choice.core), seed })), () => undefined, signal);
    return judge(exercise, own, runs.map((run, i) => exercise.measure.of(all[i] as Resolved, run)));
}

/** Checks a choice against the measured value of each choice. */
export function judge(exercise: Exercise, own: number, measured: number[]): Verdict {
    const { measure, choices, wanted } = exercise;
    const meets = measured.map((value) => value >= (measure.least ?? -Infinity) && value <= (measure.most ?? Infinity));
    const right = wanted === "smallest" ? meets.indexOf(true) : meets.lastIndexOf(true);
    const measuredText = `${choices[own]?.words ?? ""}: ${measure.name} ${measure.show(measured[own] as number)}`;
    const bound = measure.least !== undefined ? `at least ${measure.show(measure.least)}` : `at most ${measure.show(measure.most ?? 0)}`;
    if (right < 0) return { right: false, words: `With these settings no choice has ${measure.name} of ${bound}.`, measured };
    if (own === right) return { right: true, words: `Right. ${measuredText}.`, measured };
    if (!meets[own]) return { right: false, words: `${measuredText}; needs ${bound}. Try a ${wanted === "smallest" ? "larger" : "smaller"} one.`, measured };
    return { right: false, words: `${measuredText}, which is ${bound}. But a ${wanted === "smallest" ? "smaller" : "larger"} one suffices, too.`, measured };
}
