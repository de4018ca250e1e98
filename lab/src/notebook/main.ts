/**
 * The engine as a module for notebooks in the browser: see integrations/pyodide. Each run blocks the calling thread.
 */
import { Run, initSync, keep_panics, last_panic } from "../../build/engine/engine";
import { metricsOf } from "../page/metrics";
import { compiledEngine } from "../page/packed_engine";
import type { Columns, Counted } from "../page/protocol";
import { toJson } from "../scenario/json";
import { ScenarioError } from "../scenario/errors";
import { type Resolved, resolve } from "../scenario/resolve";
import { fromToml } from "../scenario/toml";

/** Results of a run; empty if the scenario is invalid. */
interface Found {
    problems: string[];
    state_hash?: string;
    metrics?: Record<string, number>;
    flows?: Columns;
    ports?: Columns;
}

/** Decompresses and compiles the engine; must be awaited once. */
export async function load(): Promise<void> {
    initSync({ module: await compiledEngine() });
    keep_panics();
}

/** Runs a scenario: the text of a TOML file, or its fields. */
export function run(scenario: string | Record<string, unknown>, seed: string): Found {
    let resolved: Resolved;
    try {
        resolved = resolve(typeof scenario === "string" ? fromToml(scenario, "TOML text") : scenario);
    } catch (error) {
        if (!(error instanceof ScenarioError)) throw error;
        return { problems: error.problems };
    }
    try {
        const running = new Run(toJson(resolved.core), BigInt(seed));
        while (running.advance(1_000_000));
        const counted = running.finish() as unknown as Counted;
        const { state_hash, flows, ports } = counted;
        return { problems: [], state_hash, flows, ports, metrics: metricsOf(resolved, counted) };
    } catch (error) {
        throw new Error(last_panic() || String(error));
    }
}
