/** Messages between the page and its workers. */

/** A run: a resolved scenario as JSON, a seed as decimal digits, and the picture to draw, if any. */
export interface Job {
    id: number;
    core: string;
    seed: string;
    view: View | null;
    /** Set if the scenario records the traces that `Detail` needs. */
    detail?: Recording | undefined;
}

/** TCP of the flow whose segments are shown: whether it uses ECN, and recovery by RACK. */
export interface Recording {
    marks: boolean;
    rack: boolean;
}

/** Content of a picture: intervals of time [s], flows, and the flow whose segments are shown. */
export interface View {
    from_s: number;
    to_s: number;
    bins: number;
    flows: number;
    sequence: number;
}

/** Minimum, maximum and latest value in each interval, or nan if it has no value. */
export interface Course {
    low: Float64Array;
    high: Float64Array;
    last: Float64Array;
    before: number;
}

/** Times [s] and sequence numbers [byte]. */
export interface Marks {
    time_s: Float64Array;
    sequence_bytes: Float64Array;
}

/** The windows of a flow, and the amount of its data that reached the receiver. */
export interface FlowPicture {
    cwnd_bytes: Course;
    ssthresh_bytes: Course;
    arrived_bytes: Float64Array;
}

/** Data for the plots of a run (see crates/wasm/src/picture.rs). */
export interface Picture {
    flows: FlowPicture[];
    ports: (Course | null)[];
    arrived_bytes: Float64Array;
    sequence: { sent: Course; acknowledged: Course; resent: Marks; lost: Marks };
}

/**
 * A reduction of the congestion window. `own` is a cause that only the congestion control knows, or the end of a
 * recovery.
 */
export interface Reduction {
    time_s: number;
    from_bytes: number;
    to_bytes: number;
    ssthresh_bytes: number;
    cause: "timeout" | "loss" | "mark" | "idle" | "own";
}

/** RTTs and window reductions of the flow whose segments are shown. */
export interface Detail {
    rtt_s: Course;
    reductions: Reduction[];
}

/** Columns by name. */
export type Columns = Record<string, Float64Array | Uint32Array | Uint8Array | string[]>;

/** Counters of a run (see crates/wasm/src/columns.rs). */
export interface Counted {
    flows: Columns;
    ports: Columns;
    classes: Columns;
    web: Columns;
    streams: Columns;
    state_hash: string;
    events: number;
    /** Lines about values of modules that were out of range. */
    replaced: string[];
    picture?: Picture;
    traces?: Record<string, Columns>;
    detail?: Detail;
}

/** A congestion controller from a file, which jobs name by its digest. */
export interface ControlFile {
    name: string;
    digest: string;
    content: Uint8Array<ArrayBuffer>;
}

/** Messages to a worker: first the engine, then jobs, each after the modules that it names; `cancel` ends a job. */
export type Order = { engine: WebAssembly.Module } | { module: ControlFile } | { job: Job } | { cancel: number };

/** Messages from a worker. */
export type Reply =
    | { id: number; progress: number; picture: Picture | null }
    | { id: number; counted: Counted; run_ms: number }
    | { id: number; error: string; defect: boolean }
    | { id: number; cancelled: true };
