/** Scenarios that the engine checks and resolves (see crates/scenario/src/described). */
import { Described } from "../../build/engine/engine";
import { ScenarioError } from "./errors";
import { type JsonTable, exact, ofFields, ofParts } from "./json";
import { DESCRIPTION } from "./model";
import { changedModules } from "./modules";
import type { Part } from "./part";
import { ofFile } from "./toml";

/** A scenario that can be run: its checked parts, and the resolved scenario for the core. */
export interface Resolved {
    scenario: Part;
    core: JsonTable;
    /** Names of the flows. */
    flows: string[];
    /** Longest RTT [ms] of all flows without queues. */
    longestRoundTripMs: number;
    /** Whether Python resolved it when the page was built; its fields then cannot be changed. */
    fixed?: true;
}

let described: Described | undefined;

/** Creates a scenario from its fields, or from those of a file, with a schema. Throws ScenarioError with all problems. */
export function resolve(given: Record<string, unknown>): Resolved {
    return resolved(given);
}

/**
 * Creates a scenario from fields that the page cannot resolve, and their form for the core, which Python has made of them.
 * The scenario contains the parts that the page can show. Throws ScenarioError if the form belongs to other fields.
 */
export function resolveExpanded(fields: Record<string, unknown>, core: string): Resolved {
    return { ...resolved(fields, core), fixed: true };
}

function resolved(given: Record<string, unknown>, expanded?: string): Resolved {
    if (described === undefined) {
        const { presets, exercises, ...parts } = DESCRIPTION;
        described = new Described(JSON.stringify(parts, (_, value: unknown) => (typeof value === "number" && !Number.isInteger(value) ? { "\0": String(value) } : value)));
    }
    for (const { name, digest, parameters } of changedModules()) described.add_module(name, digest, [...parameters.keys()]);
    const fields = ofFields("schema" in given ? ofFile(given) : given);
    try {
        const made = expanded === undefined ? described.resolve(fields) : described.resolve_expanded(fields, expanded);
        const core = exact(made.core) as JsonTable;
        // A connection that a proxy splits ends with its own flow, and the other parts are no flows of the scenario.
        const flows = (core["flows"] as JsonTable[]).filter((flow) => flow["onward"] === undefined).map((flow) => String(flow["name"]));
        const scenario = ofParts(made.parts) as Part;
        const { longest_round_trip_ms: longestRoundTripMs } = made;
        made.free();
        return { scenario, core, flows, longestRoundTripMs };
    } catch (error) {
        if (!(error instanceof Error) || error instanceof WebAssembly.RuntimeError) throw error;
        throw new ScenarioError(error.message.split("\n"));
    }
}
