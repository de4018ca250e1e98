/** The engine in workers: runs, which are cancelled when they are obsolete. */
import { initSync, keep_panics } from "../../build/engine/engine";
import { modulesOf } from "../scenario/modules";
import { byId } from "./dom";
import { compiledEngine } from "./packed_engine";
import type { ControlFile, Counted, Job, Order, Picture, Recording, Reply, View } from "./protocol";

declare const WORKER: string;

/** A failed run; `defect` is set if the cause is a bug in longpipe. */
export class RunFailed extends Error {
    constructor(
        message: string,
        readonly defect: boolean,
    ) {
        super(message);
    }
}

/** A cancelled run. */
export class Cancelled extends Error {}

/** A run in progress. */
export interface Running {
    /** The counters of the run, and its duration [ms]. Rejects with RunFailed or Cancelled. */
    done: Promise<{ counted: Counted; run_ms: number }>;
    cancel(): void;
}

type OnProgress = (progress: number, picture: Picture | null) => void;

interface Waiting {
    job: Job;
    /** Congestion controllers of the job that are modules, whose calls may never return. */
    modules: ControlFile[];
    cancelled: boolean;
    onProgress: OnProgress;
    resolve(result: { counted: Counted; run_ms: number }): void;
    reject(error: Error): void;
}

/** Interval of the checks that a run with modules still reports [ms]. */
const TICK_MS = 500;
/** Checks without a report after which a call counts as endless: 10 s, or 1 s once the run is cancelled. */
const SILENT_TICKS = 20;
const CANCELLED_TICKS = 2;

let compiled: Promise<WebAssembly.Module> | null = null;
let latestId = 0;

/** The engine, decompressed and compiled once. */
function engineModule(): Promise<WebAssembly.Module> {
    compiled ??= compiledEngine();
    return compiled;
}

/** Prepares the engine of the page itself, which resolves scenarios; must be awaited once. */
export async function prepare(): Promise<void> {
    initSync({ module: await engineModule() });
    keep_panics();
}

/** A worker and its runs. */
export class EngineWorker {
    private starting: Promise<Worker> | null = null;
    private worker: Worker | null = null;
    /** Unfinished runs, the present one first. */
    private readonly waiting = new Map<number, Waiting>();
    /** Digests of the modules that the worker has. */
    private readonly sent = new Set<string>();
    /** Number of checks since the worker last reported. */
    private silent = 0;
    private clock: number | undefined;

    /** Number of unfinished runs. */
    get busy(): number {
        return this.waiting.size;
    }

    /** Starts a run after all pending ones. */
    run(core: string, seed: string, view: View | null, onProgress: OnProgress = () => undefined, detail?: Recording): Running {
        const job: Job = { id: ++latestId, core, seed, view, detail };
        const done = new Promise<{ counted: Counted; run_ms: number }>((resolve, reject) => {
            const modules = modulesOf(core);
            const waiting = { job, modules, cancelled: false, onProgress, resolve, reject };
            this.waiting.set(job.id, waiting);
            this.post(waiting);
            if (modules.length > 0) this.clock ??= window.setInterval(() => this.endSilentWorker(), TICK_MS);
        });
        return { done, cancel: () => this.cancel(job.id) };
    }

    private cancel(id: number): void {
        const waiting = this.waiting.get(id);
        if (waiting === undefined) return;
        waiting.cancelled = true;
        void this.order({ cancel: id });
    }

    /** Sends a job to the worker, after the modules that the worker lacks. */
    private post({ job, modules, reject }: Waiting): void {
        const orders: Order[] = [];
        for (const { name, digest, content } of modules) {
            if (!this.sent.has(digest)) orders.push({ module: { name, digest, content } });
            this.sent.add(digest);
        }
        for (const order of [...orders, { job }]) {
            this.order(order).catch((error: unknown) => {
                this.waiting.delete(job.id);
                reject(new RunFailed(`the engine cannot be started here: ${String(error)}`, false));
            });
        }
    }

    /** Ends the worker if its run has modules and has been silent for too long. */
    private endSilentWorker(): void {
        const [first] = this.waiting.values();
        if (first === undefined) {
            clearInterval(this.clock);
            this.clock = undefined;
        }
        if (first === undefined || first.modules.length === 0 || this.worker === null) {
            this.silent = 0;
            return;
        }
        if (++this.silent < (first.cancelled ? CANCELLED_TICKS : SILENT_TICKS)) return;
        this.waiting.delete(first.job.id);
        const names = first.modules.map(({ name }) => name).join(", ");
        const failure = `a call of the module did not return within ${(SILENT_TICKS * TICK_MS) / 1000} s; the run is lost`;
        first.reject(first.cancelled ? new Cancelled("cancelled") : new RunFailed(`${names}: ${failure}`, false));
        this.renew(this.worker);
    }

    /** If the worker exists, the job is sent synchronously, because awaiting a promise would wait for all pending work. */
    private async order(order: Order): Promise<void> {
        if (this.worker === null) {
            this.starting ??= this.start();
            this.worker = await this.starting;
        }
        this.worker.postMessage(order);
    }

    private async start(): Promise<Worker> {
        const module = await engineModule();
        const url = URL.createObjectURL(new Blob([byId("engine-bindings").textContent, WORKER], { type: "text/javascript" }));
        const worker = new Worker(url);
        URL.revokeObjectURL(url);
        worker.addEventListener("message", ({ data }: MessageEvent<Reply>) => this.onReply(data, worker));
        worker.postMessage({ engine: module });
        return worker;
    }

    private onReply(reply: Reply, worker: Worker): void {
        this.silent = 0;
        const waiting = this.waiting.get(reply.id);
        if (waiting === undefined) return;
        if ("progress" in reply) {
            waiting.onProgress(reply.progress, reply.picture);
            return;
        }
        this.waiting.delete(reply.id);
        if ("counted" in reply) waiting.resolve(reply);
        else if ("cancelled" in reply) waiting.reject(new Cancelled("cancelled"));
        else {
            waiting.reject(new RunFailed(reply.error, reply.defect));
            // An engine cannot be used after a trap.
            if (reply.defect) this.renew(worker);
        }
    }

    /** Replaces the worker by a new one, which gets the jobs that have not begun. */
    private renew(worker: Worker): void {
        worker.terminate();
        this.starting = this.worker = null;
        this.sent.clear();
        this.silent = 0;
        for (const [id, waiting] of [...this.waiting]) {
            if (!waiting.cancelled) {
                this.post(waiting);
                continue;
            }
            this.waiting.delete(id);
            waiting.reject(new Cancelled("cancelled"));
        }
    }
}

const CORES = Math.max(1, Math.min(4, (navigator.hardwareConcurrency || 2) - 1));
const pool = Array.from({ length: CORES }, () => new EngineWorker());

/** Executes many jobs without drawing them; calls `onFinished` with the number of finished jobs. `signal` cancels them. */
export async function runAll(
    jobs: { core: string; seed: string }[],
    onFinished: (count: number) => void,
    signal: AbortSignal,
): Promise<Counted[]> {
    let finished = 0;
    const running: Running[] = [];
    const all = jobs.map(async ({ core, seed }, i) => {
        const run = (pool[i % pool.length] as EngineWorker).run(core, seed, null);
        running.push(run);
        const { counted } = await run.done;
        onFinished(++finished);
        return counted;
    });
    const stop = (): void => running.forEach((run) => run.cancel());
    signal.addEventListener("abort", stop);
    try {
        return await Promise.all(all);
    } catch (error) {
        stop();
        throw error;
    } finally {
        signal.removeEventListener("abort", stop);
        await Promise.allSettled(all);
    }
}
