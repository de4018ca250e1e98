/**
 * Data from the traces of a flow for its charts: RTT samples, and the causes of window reductions. They are computed in
 * the worker.
 */
import type { Columns, Course, Detail, Reduction, Recording, View } from "./protocol";

/** Events of the sequence trace (see crates/network/src/observe/recorder.rs). */
const SENT = 0;
const ACKNOWLEDGED = 1;
const SACKED = 2;

/** Rows of one flow, in order of time. */
type Rows = { [name: string]: number[] };

function rowsOf(table: Columns | undefined, flow: number): Rows {
    const rows: Rows = {};
    if (table === undefined) return rows;
    const flows = table["flow"] as Uint32Array;
    for (const [name, column] of Object.entries(table)) {
        const values: number[] = [];
        for (let i = 0; i < flows.length; i++) if (flows[i] === flow) values.push(column[i] as number);
        rows[name] = values;
    }
    return rows;
}

/** Returns the detail of one flow from the traces `cwnd` and `sequence`. */
export function detailOf(traces: Record<string, Columns>, view: View, tcp: Recording): Detail {
    const sequence = rowsOf(traces["sequence"], view.sequence);
    return { rtt_s: rttOf(sequence, view), reductions: reductionsOf(rowsOf(traces["cwnd"], view.sequence), sequence, tcp) };
}

/**
 * Returns RTT samples: from a segment's only transmission to the first ACK or SACK block that covers it (Karn's rule,
 * RFC 6298 section 3).
 */
function rttOf(rows: Rows, view: View): Course {
    const { time_s = [], event = [], sequence_bytes = [], length_bytes = [], retransmission = [] } = rows;
    const empty = (): Float64Array => new Float64Array(view.bins).fill(Number.NaN);
    const course: Course = { low: empty(), high: empty(), last: empty(), before: Number.NaN };
    // Segments, sorted by sequence number; those before `head` are acknowledged.
    const [starts, times, used]: [number[], number[], boolean[]] = [[], [], []];
    let head = 0;
    const place = (sequence: number): number => {
        let [low, high] = [head, starts.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            if ((starts[middle] as number) < sequence) low = middle + 1;
            else high = middle;
        }
        return low;
    };
    const sample = (now: number, sent: number): void => {
        const rtt = now - sent;
        const bin = Math.min(view.bins - 1, Math.floor(((now - view.from_s) / (view.to_s - view.from_s)) * view.bins));
        if (now > view.to_s) return;
        if (bin < 0) {
            course.before = rtt;
            return;
        }
        course.low[bin] = Math.min(rtt, course.low[bin] || Infinity);
        course.high[bin] = Math.max(rtt, course.high[bin] || 0);
        course.last[bin] = rtt;
    };
    for (let i = 0; i < event.length; i++) {
        const [now, first] = [time_s[i] as number, sequence_bytes[i] as number];
        const end = first + (length_bytes[i] as number);
        if (event[i] === SENT && retransmission[i] === 0) {
            starts.push(first);
            times.push(now);
            used.push(false);
        } else if (event[i] === SENT) {
            for (let k = place(first); k < starts.length && (starts[k] as number) < end; k++) used[k] = true;
        } else if (event[i] === SACKED) {
            let newest = -1;
            for (let k = place(first); k < starts.length && (starts[k] as number) < end; k++) {
                if (!used[k]) newest = k;
                used[k] = true;
            }
            if (newest >= 0) sample(now, times[newest] as number);
        } else if (event[i] === ACKNOWLEDGED) {
            const next = place(first);
            // An ACK that fills a gap covers segments that arrived long before.
            if (next > head && !used.slice(head, next).includes(true)) sample(now, times[next - 1] as number);
            head = next;
        }
    }
    return course;
}

/** Actions of the sender at one time, and whether an ACK caused them. */
interface Instant {
    ack: boolean;
    /** Whether the ACK was a duplicate or had SACK blocks. */
    duplicate: boolean;
    resent: boolean;
    /** Highest acknowledged and highest sent sequence number. */
    acknowledged: number;
    sent: number;
}

/**
 * Reductions of the congestion window, each with its cause. A reduction begins where the sender reduces ssthresh or the window, and
 * lasts until the window grows, because proportional rate reduction (RFC 6937) reduces it in many steps.
 */
function reductionsOf(windows: Rows, sequence: Rows, tcp: Recording): Reduction[] {
    const { time_s = [], cwnd_bytes = [], ssthresh_bytes = [] } = windows;
    const instantAt = instants(sequence);
    const reductions: Reduction[] = [];
    let latest: Reduction | null = null;
    // Until this sequence number is acknowledged, the sender responds to the latest loss or mark.
    let repairs = -1;
    for (let i = 1; i < time_s.length; i++) {
        const [before, after] = [cwnd_bytes[i - 1] as number, cwnd_bytes[i] as number];
        if (after > before + 0.5) latest = null;
        const threshold = ssthresh_bytes[i] !== ssthresh_bytes[i - 1];
        const falling = after < before - 0.5;
        if (!falling && !threshold) continue;
        const now = time_s[i] as number;
        const seen = instantAt(now);
        const repairing = seen.acknowledged < repairs;
        const cause = causeOf(seen, threshold, repairing, tcp);
        const last = latest ?? (tcp.rack && repairing ? reductions[reductions.length - 1] : undefined);
        if (last !== undefined && cause === "own") {
            if (after < last.to_bytes) last.to_bytes = after;
            last.ssthresh_bytes = ssthresh_bytes[i] as number;
            continue;
        }
        // Losses and marks reduce the window at most once for what was in flight.
        if (cause !== "own" && cause !== "idle") repairs = seen.sent;
        latest = { time_s: now, from_bytes: before, to_bytes: after, ssthresh_bytes: ssthresh_bytes[i] as number, cause };
        reductions.push(latest);
    }
    return reductions.filter((reduction) => reduction.to_bytes < reduction.from_bytes - 0.5);
}

/** Returns a function that describes the events at a time; it must be called with increasing times. */
function instants({ time_s = [], event = [], sequence_bytes = [], length_bytes = [], retransmission = [] }: Rows): (now: number) => Instant {
    let at = 0;
    let [acknowledged, sent] = [-1, 0];
    return (now) => {
        for (; at < time_s.length && (time_s[at] as number) < now; at++) {
            const first = sequence_bytes[at] as number;
            if (event[at] === ACKNOWLEDGED) acknowledged = first;
            else if (event[at] === SENT) sent = Math.max(sent, first + (length_bytes[at] as number));
        }
        const seen: Instant = { ack: false, duplicate: false, resent: false, acknowledged, sent };
        let newest = acknowledged;
        for (let k = at; k < time_s.length && time_s[k] === now; k++) {
            if (event[k] === SENT) seen.resent ||= retransmission[k] === 1;
            else if (event[k] === SACKED) seen.duplicate = true;
            else {
                seen.ack = true;
                seen.duplicate ||= sequence_bytes[k] === newest;
                newest = sequence_bytes[k] as number;
            }
        }
        seen.acknowledged = newest;
        return seen;
    };
}

function causeOf({ ack, duplicate, resent }: Instant, threshold: boolean, repairing: boolean, { marks, rack }: Recording): Reduction["cause"] {
    if (!ack) return resent ? "timeout" : "idle";
    if (threshold && (duplicate || resent)) return "loss";
    // With RACK the whole recovery is one reduction. Its first step may leave ssthresh unchanged and precede the
    // retransmission.
    if (duplicate && (rack ? !repairing : resent)) return "loss";
    return marks && !repairing && !duplicate ? "mark" : "own";
}
