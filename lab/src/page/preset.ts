/**
 * Scenarios with parts that the page cannot resolve, such as time-varying paths. Python resolves those of presets when the
 * page is built, and those of a link when the link is made.
 */
import { DESCRIPTION } from "../scenario/model";
import { type Resolved, resolve, resolveExpanded } from "../scenario/resolve";

type Table = Record<string, unknown>;

/** Forms for the core, as JSON text, of fields that the page cannot resolve, and can only run unchanged, with any seed. */
const CORES = new WeakMap<Table, string>();
for (const { fields, core } of DESCRIPTION.presets) if (core !== undefined) CORES.set(fields, core);

/** Keeps the form for the core of fields that a link contains. */
export function keepCore(fields: Table, core: string): void {
    CORES.set(fields, core);
}

/** Returns a valid scenario. */
export function resolveAny(fields: Table): Resolved {
    const core = CORES.get(fields);
    return core === undefined ? resolve(fields) : resolveExpanded(fields, core);
}
