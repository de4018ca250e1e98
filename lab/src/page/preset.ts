/**
 * Presets with parts that the page cannot resolve: time-varying paths, resolved when the page was built.
 */
import type { JsonTable } from "../scenario/core";
import { DESCRIPTION, type Preset } from "../scenario/model";
import { type Resolved, resolve } from "../scenario/resolve";

type Table = Record<string, unknown>;

/** Returns whether a preset can only be run unchanged, with any seed. */
export function isFixed(preset: Preset): boolean {
    return preset.core !== undefined;
}

/**
 * Returns a preset with parts that the page cannot resolve: the scenario for the core, as resolved by Python, and the parts
 * that the page can show in its form.
 */
export function resolvePreset(preset: Preset): Resolved {
    const network = Object.entries(preset.fields["network"] as Table).filter(([name]) => !(name in DESCRIPTION.beyond));
    const shown = resolve({ ...preset.fields, network: Object.fromEntries(network) });
    return { ...shown, core: JSON.parse(preset.core ?? "{}") as JsonTable, fixed: true };
}
