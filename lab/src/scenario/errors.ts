/** Errors of rejected scenarios, with the same texts as on the command line. */
import { nearest, repr as reprOfText, repr_of_float } from "../../build/engine/engine";
import { DESCRIPTION } from "./model";

/** Invalid input, with a line for each problem. */
export class ScenarioError extends Error {
    constructor(readonly problems: string[]) {
        super(problems.join("\n"));
    }
}

/** Formats a value as Python does, so that both report equal errors for a file. */
export function repr(value: unknown): string {
    if (value === null || value === undefined) return "None";
    if (typeof value === "boolean") return value ? "True" : "False";
    if (typeof value === "bigint") return value.toString();
    if (typeof value === "number") return repr_of_float(value);
    if (typeof value === "string") return reprOfText(value);
    if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
    if (value instanceof Date) return value.toISOString().replace(".000", "");
    const items = Object.entries(value as Record<string, unknown>).map(([key, item]) => `${repr(key)}: ${repr(item)}`);
    return `{${items.join(", ")}}`;
}

/** Returns a text without quotes, and any other value as Python writes it. */
export function str(value: unknown): string {
    return typeof value === "string" ? value : repr(value);
}

/** Formats a value as Python does, and shortens long text. */
export function shown(value: unknown): string {
    const text = repr(value);
    return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

/**
 * Returns the clause that lists accepted values; it starts with advice on a well-known name, otherwise with the closest
 * name.
 */
export function accepts(word: string, names: string[]): string {
    const lower = word.toLowerCase();
    const advice = !names.includes(word) && names.includes(lower) ? `it is ${repr(lower)} here` : adviceOnName(word, names);
    return advice === null ? nearest(word, names) : `${advice}; accepts ${names.join(", ")}`;
}

/**
 * Returns advice on a name that other programs use: the field of longpipe with this meaning, or the most similar field; null
 * if there is none.
 */
function adviceOnName(word: string, accepted: string[]): string | null {
    // Linux's modules have this prefix.
    const lower = word.trim().toLowerCase();
    const name = lower.replace(/^tcp[_-]/, "");
    if (name !== lower && accepted.includes(name)) return `it is ${repr(name)} here`;
    const { names, called } = DESCRIPTION.absent;
    const here = Object.hasOwn(called, name) ? called[name] : undefined;
    if (here !== undefined && accepted.includes(here)) return `it is ${repr(here)} here`;
    const home = DESCRIPTION.homes.find(({ names }) => names.includes(name));
    if (home !== undefined) {
        const { kind, window } = DESCRIPTION.reno;
        const isControl = home.field === "tcp.recovery" && accepted.includes(kind);
        return `it is ${home.what}, ${home.field} = ${repr(name)}${isControl ? `; ${window}` : ""}`;
    }
    const absent = Object.hasOwn(names, name) ? names[name] : undefined;
    if (absent === undefined) return null;
    const [what, instead] = absent;
    return `${what} that longpipe does not have (README.md, 'What it does not have'), nearest is ${instead}`;
}
