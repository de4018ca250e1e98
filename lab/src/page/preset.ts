/**
 * Scenarios with parts that the page cannot resolve, such as time-varying paths. Python resolves those of presets when the
 * page is built, and those of a link when the link is made.
 */
import type { JsonTable } from "../scenario/core";
import { DESCRIPTION } from "../scenario/model";
import { type Resolved, resolve } from "../scenario/resolve";

type Table = Record<string, unknown>;

/** Forms for the core, as JSON text, of fields that the page cannot resolve, and can only run unchanged, with any seed. */
const CORES = new WeakMap<Table, string>();
for (const { fields, core } of DESCRIPTION.presets) if (core !== undefined) CORES.set(fields, core);

/** Keeps the form for the core of fields that a link contains. */
export function keepCore(fields: Table, core: string): void {
    CORES.set(fields, core);
}

/** Returns a valid scenario. Of fields that the page cannot resolve, it contains the parts that the page shows in its form. */
export function resolveAny(fields: Table): Resolved {
    const core = CORES.get(fields);
    if (core === undefined) return resolve(fields);
    const network = Object.entries(fields["network"] as Table).filter(([name]) => !(name in DESCRIPTION.beyond));
    const shown = resolve({ ...fields, network: Object.fromEntries(network) });
    return { ...shown, core: JSON.parse(core) as JsonTable, fixed: true };
}
