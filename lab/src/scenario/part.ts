/** Checked parts of a scenario. */

/** A checked part: its model, its fields, and the names of those that were specified. */
export interface Part {
    part: string;
    values: Record<string, Value>;
    written: string[];
}

/** A checked value: quantities as text. */
export type Value = string | number | boolean | null | Part | Value[];

/** Returns the value of a field of a checked part, by name. */
export function valueOf(part: Part, name: string): Value {
    const value = part.values[name];
    if (value === undefined) throw new Error(`no field ${name} of ${part.part}`);
    return value;
}

/** Returns the kind of a part that has several kinds. */
export function kindOf(part: Part): string {
    return String(valueOf(part, "kind"));
}
