/** Web worker: runs jobs one after another, reports progress, and checks for cancellation between chunks. */
import { Run, initSync, keep_panics, last_panic, register_module } from "../../build/engine/engine";
import { detailOf } from "./detail";
import { ModuleFile } from "./guest";
import type { Counted, Job, Order, Picture, Reply } from "./protocol";

/** Number of events between two checks of the clock. */
const CHUNK = 20_000;
/** Interval of checks for messages [ms], after each of which progress is reported. */
const CHECK_MS = 25;
/** Interval of updates of the picture [ms]. A shorter run sends only its final picture. */
const PICTURE_MS = 120;
/** Memory limit of the engine [byte]: browsers allow a tab little more. */
const MAX_BYTES = 2 ** 30;

const cancelled = new Set<number>();
let memory: WebAssembly.Memory | null = null;

const channel = new MessageChannel();

/** Allows pending messages to be processed; a timer would delay this by 4 ms. */
function processMessages(): Promise<void> {
    return new Promise((resolve) => {
        channel.port1.onmessage = () => resolve();
        channel.port2.postMessage(null);
    });
}

function reply(message: Reply): void {
    postMessage(message);
}

function createRun(job: Job): Run {
    const seed = BigInt(job.seed);
    if (job.view === null) return new Run(job.core, seed);
    const { from_s, to_s, bins, flows, sequence } = job.view;
    return Run.watched(job.core, seed, from_s, to_s, bins, flows, sequence);
}

async function runJob(job: Job): Promise<void> {
    const began = performance.now();
    let run: Run | null = null;
    try {
        run = createRun(job);
        let [lastCheck, lastPicture] = [began, began];
        while (run.advance(CHUNK)) {
            const now = performance.now();
            if (now - lastCheck < CHECK_MS) continue;
            lastCheck = now;
            if ((memory?.buffer.byteLength ?? 0) > MAX_BYTES) {
                throw new Error(
                    "memory: 1.1 GB are not enough; needs smaller windows or buffers, fewer flows, or a shorter duration",
                );
            }
            await processMessages();
            if (cancelled.delete(job.id)) {
                run.free();
                reply({ id: job.id, cancelled: true });
                return;
            }
            let picture: Picture | null = null;
            if (now - lastPicture > PICTURE_MS) {
                picture = (run.picture() ?? null) as unknown as Picture | null;
                lastPicture = now;
            }
            reply({ id: job.id, progress: run.progress(), picture });
        }
        const counted = run.finish() as unknown as Counted;
        if (job.detail !== undefined && job.view !== null) {
            counted.detail = detailOf(counted.traces ?? {}, job.view, job.detail);
        }
        // Traces can be longer than all other data together, and the page does not show them.
        delete counted.traces;
        reply({ id: job.id, counted, run_ms: performance.now() - began });
    } catch (error) {
        const panic = last_panic();
        const isTrap = error instanceof WebAssembly.RuntimeError;
        const words = error instanceof Error ? error.message : String(error);
        reply({ id: job.id, error: panic === "" ? words : panic, defect: isTrap });
    }
}

let queue = Promise.resolve();

addEventListener("message", ({ data }: MessageEvent<Order>) => {
    if ("engine" in data) {
        memory = initSync({ module: data.engine }).memory;
        keep_panics();
    } else if ("module" in data) {
        register_module(data.module.digest, data.module.name, new ModuleFile(data.module.content));
    } else if ("cancel" in data) {
        cancelled.add(data.cancel);
    } else {
        queue = queue.then(() => (cancelled.delete(data.job.id) ? reply({ id: data.job.id, cancelled: true }) : runJob(data.job)));
    }
});
