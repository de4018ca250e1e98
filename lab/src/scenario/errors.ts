/** Errors of rejected scenarios, with the same texts as on the command line. */
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
    if (typeof value === "number") return reprFloat(value);
    if (typeof value === "string") return reprText(value);
    if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
    if (value instanceof Date) return value.toISOString();
    const items = Object.entries(value as Record<string, unknown>).map(([key, item]) => `${repr(key)}: ${repr(item)}`);
    return `{${items.join(", ")}}`;
}

function reprText(text: string): string {
    const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
    const escaped = text
        .replaceAll("\\", "\\\\")
        .replaceAll("\n", "\\n")
        .replaceAll("\t", "\\t")
        .replaceAll("\r", "\\r");
    return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

/** Formats a float as Python does. */
export function reprFloat(value: number): string {
    if (Number.isNaN(value)) return "nan";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    if (Object.is(value, -0)) return "-0.0";
    const exponent = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
    if (exponent >= 16 || exponent < -4) {
        const [digits, power] = value.toExponential().split("e") as [string, string];
        return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
    }
    return Number.isInteger(value) ? value.toFixed(1) : String(value);
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

/** Returns the clause that lists accepted values; it starts with the closest name if there is one. */
export function nearest(word: string, names: string[]): string {
    let best: string | null = null;
    // Less similar names are not offered (cutoff of Python's difflib.get_close_matches).
    let highest = 0.6;
    for (const name of names) {
        const likeness = ratio(name, word);
        if (likeness >= highest && (best === null || likeness > highest || (likeness === highest && name > best))) {
            [best, highest] = [name, likeness];
        }
    }
    return `${best === null ? "" : `did you mean ${repr(best)}? `}accepts ${names.join(", ")}`;
}

/** Returns advice on a name that other programs use: the name or the field here, or what comes closest; null if there is none. */
function adviceOnName(word: string, accepted: string[]): string | null {
    const name = word.trim().toLowerCase();
    const { names, called } = DESCRIPTION.absent;
    const here = called[name];
    if (here !== undefined && accepted.includes(here)) return `it is ${repr(here)} here`;
    const home = DESCRIPTION.homes.find(({ names }) => names.includes(name));
    if (home !== undefined) {
        const reno = home.field === "tcp.recovery" && accepted.includes(DESCRIPTION.reno);
        const window = reno ? `; the window that goes with it is ${repr(DESCRIPTION.reno)}` : "";
        return `it is ${home.what}, ${home.field} = ${repr(name)}${window}`;
    }
    const absent = names[name];
    if (absent === undefined) return null;
    const [what, instead] = absent;
    return `${what} that longpipe does not have (README.md, 'What it does not have'), nearest is ${instead}`;
}

/** Returns the similarity of two words [0, 1], as Python's difflib does (Ratcliff and Obershelp). */
function ratio(a: string, b: string): number {
    return a.length + b.length === 0 ? 1 : (2 * matches(a, b)) / (a.length + b.length);
}

/** Returns the number of letters in common blocks: the longest common substring, and recursively those on both sides of it. */
function matches(a: string, b: string): number {
    let [best, startA, startB] = [0, 0, 0];
    for (let i = 0; i < a.length; i++) {
        for (let j = 0; j < b.length; j++) {
            let size = 0;
            while (i + size < a.length && j + size < b.length && a[i + size] === b[j + size]) size++;
            if (size > best) [best, startA, startB] = [size, i, j];
        }
    }
    if (best === 0) return 0;
    const left = matches(a.slice(0, startA), b.slice(0, startB));
    return best + left + matches(a.slice(startA + best), b.slice(startB + best));
}
