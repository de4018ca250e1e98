/** Additional traces of one flow, from which the worker computes RTTs and reductions of the window. */
import { type JsonTable, toJson } from "../scenario/json";
import type { Resolved } from "../scenario/resolve";
import { costOf } from "./cost";
import { coreKind } from "./names";
import type { Recording } from "./protocol";
import { isOverTcp } from "./shares";

/** Maximum number of segments in a run whose traces are recorded, because each segment takes about 100 bytes. */
const MAX_RECORDED = 300_000;

/** Numbers of segments sent in finished runs, by the scenario; other runs are estimated from the capacity of the links. */
const SENT = new WeakMap<JsonTable, number>();

/** Keeps the number of segments that a run sent. */
export function keepSent({ core }: Resolved, segments: number): void {
    SENT.set(core, segments);
}

/** Returns the traces to record for a flow; none for datagrams and for long runs. */
export function recordingOf(of: Resolved, flow: number): Recording | undefined {
    const its = (of.core["flows"] as JsonTable[])[flow];
    if (its === undefined || !isOverTcp(its) || (SENT.get(of.core) ?? costOf(of).segments) > MAX_RECORDED) return undefined;
    const tcp = its["tcp"] as JsonTable;
    return { marks: "ecn" in tcp, rack: coreKind(tcp["recovery"]) === "rack" };
}

/** Returns the reason for which nothing is recorded for a flow, as the end of a sentence. */
export function notRecorded(flow: JsonTable): string {
    return isOverTcp(flow) ? `is not recorded in runs of more than ${MAX_RECORDED.toLocaleString("en")} segments` : "needs a flow over TCP";
}

/** Returns the scenario for the engine, with the traces to be recorded. */
export function recorded({ core }: Resolved, recording: Recording | undefined): string {
    if (recording === undefined) return toJson(core);
    return toJson({ ...core, traces: { ...(core["traces"] as JsonTable), cwnd: true, sequence: true } });
}
