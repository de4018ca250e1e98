/** What the page and its workers say to each other. */

/** A run: a resolved scenario as JSON, a seed as decimal digits, and what to draw of it, if anything. */
export interface Job {
    id: number;
    core: string;
    seed: string;
    view: View | null;
}

/** What is drawn: intervals of time [s], flows, and the flow whose segments are shown. */
export interface View {
    from_s: number;
    to_s: number;
    bins: number;
    flows: number;
    sequence: number;
}

/** Least, most and latest value by interval; nan where nothing was said. */
export interface Course {
    low: Float64Array;
    high: Float64Array;
    last: Float64Array;
    before: number;
}

/** Instants [s] and sequence numbers [byte]. */
export interface Marks {
    time_s: Float64Array;
    sequence_bytes: Float64Array;
}

/** A flow's windows, and what reached its receiver. */
export interface FlowPicture {
    cwnd_bytes: Course;
    ssthresh_bytes: Course;
    arrived_bytes: Float64Array;
}

/** What a run looks like: see crates/wasm/src/picture.rs. */
export interface Picture {
    flows: FlowPicture[];
    ports: (Course | null)[];
    arrived_bytes: Float64Array;
    sequence: { sent: Course; acknowledged: Course; resent: Marks; lost: Marks };
}

/** Columns by name. */
export type Columns = Record<string, Float64Array | Uint32Array | Uint8Array | string[]>;

/** What a run counted: see crates/wasm/src/columns.rs. */
export interface Counted {
    flows: Columns;
    ports: Columns;
    classes: Columns;
    web: Columns;
    state_hash: string;
    events: number;
    picture?: Picture;
    traces?: Record<string, Columns>;
}

/** To a worker: the engine once, then jobs; `cancel` ends one. */
export type Order = { engine: WebAssembly.Module } | { job: Job } | { cancel: number };

/** From a worker. */
export type Reply =
    | { id: number; progress: number; picture: Picture | null }
    | { id: number; counted: Counted; run_ms: number }
    | { id: number; error: string; defect: boolean }
    | { id: number; cancelled: true };
