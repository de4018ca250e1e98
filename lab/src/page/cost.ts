/** Estimated cost of a run. */
import type { JsonTable } from "../scenario/json";
import { type Part, kindOf, valueOf } from "../scenario/part";
import type { Resolved } from "../scenario/resolve";
import { counted, durationS } from "./metrics";
import { wirePerByte } from "./shares";

/** Estimates for a run: segments sent, time [s], memory [byte]. */
export interface Cost {
    segments: number;
    seconds: number;
    bytes: number;
}

export const MAX_SECONDS = 60;
export const MAX_BYTES = 1e9;
/** Time per segment and its ACK in an observed run [s], used until this page has measured it. */
const PER_SEGMENT = { cells: 2e-6, packets: 0.8e-6 };
/** Memory per segment in flight, including that of hosts and ports [byte]. */
const BYTES_PER_SEGMENT = 100;
/** Mean demand of a web user [byte/s], with the defaults of ATM Forum/98-0876. */
const WEB_BPS = 60_000 * 8;
const FIXED_BYTES = 5e7;

const measured = { ...PER_SEGMENT };

/** Updates the estimated speed of this machine from a run. */
export function learn(resolved: Resolved, segments: number, seconds: number): void {
    // Short runs are ignored, because they spend most of their time on starting.
    if (segments > 20_000) measured[counted(resolved)] = seconds / segments;
}

/** Returns the estimate for a scenario. */
export function costOf(resolved: Resolved): Cost {
    const links = resolved.core["links"] as JsonTable[];
    const flows = resolved.core["flows"] as JsonTable[];
    const on = new Map<number, number>();
    for (const flow of flows) for (const k of flow["route"] as number[]) on.set(k, (on.get(k) ?? 0) + 1);
    const unit = counted(resolved);
    let [segments, waiting] = [0, 0];
    for (const [i, flow] of flows.entries()) {
        const tcp = flow["tcp"] as JsonTable;
        const mss = Number(tcp["mss_bytes"]);
        const wire = 8 * mss * wirePerByte(resolved.core, flow);
        const route = flow["route"] as number[];
        const rate = Math.min(...route.map((k) => Number((links[k] as JsonTable)["rate_bps"]) / (on.get(k) ?? 1)));
        const traffic = flow["traffic"] as JsonTable;
        const wanted = traffic["kind"] === "web" ? Math.min(rate, WEB_BPS) : rate;
        const maxSegments = traffic["kind"] === "transfer" ? Number(traffic["size_bytes"]) / mss : Number.POSITIVE_INFINITY;
        segments += Math.min(maxSegments, (wanted * durationS(resolved)) / wire);
        const window = Number(tcp["receiver_window_bytes"]) / mss;
        waiting += Math.min(window, maxSegments, segments);
        if (i > 20_000) break;
    }
    return { segments, seconds: segments * measured[unit], bytes: FIXED_BYTES + waiting * BYTES_PER_SEGMENT };
}

/** Returns a line about an estimate that is too large; null if there is no problem. */
export function tooMuch(resolved: Resolved): string | null {
    const { seconds, bytes, segments } = costOf(resolved);
    const [time, memory] = [shownTime(seconds), `${(bytes / 1e9).toPrecision(2)} GB`];
    if (seconds <= MAX_SECONDS && bytes <= MAX_BYTES) return null;
    const network = valueOf(resolved.scenario, "network") as Part;
    const rate = kindOf(network) === "dumbbell" ? `, network.trunk_rate ${String(valueOf(network, "trunk_rate"))}` : "";
    const why = `duration ${String(valueOf(resolved.scenario, "duration"))}${rate}`;
    const what = `some ${Number(segments.toPrecision(2)).toLocaleString("en")} segments, ${time} and ${memory} in this page`;
    return `${why}: would take ${what}; needs at most a minute and 1 GB: reduce the duration or the rate, or increase the segment size`;
}

function shownTime(seconds: number): string {
    if (seconds < 120) return `${seconds.toFixed(0)} s`;
    return seconds < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${Number((seconds / 3600).toPrecision(2)).toLocaleString("en")} h`;
}

/** Returns the number of segments that a run sent. */
export function segmentsOf(sent: number[]): number {
    return sent.reduce((total, value) => total + value, 0);
}

