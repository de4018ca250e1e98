/** JSON with exact integers. */

/** JSON values, including integers that a float cannot represent. */
export type Json = string | number | bigint | boolean | null | Json[] | { [name: string]: Json };
export type JsonTable = { [name: string]: Json };

/** Writes JSON text with exact integers. */
export function toJson(value: Json): string {
    if (typeof value === "bigint") return value.toString();
    if (Array.isArray(value)) return `[${value.map(toJson).join(",")}]`;
    if (typeof value === "object" && value !== null) {
        const items = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${toJson(item)}`);
        return `{${items.join(",")}}`;
    }
    return JSON.stringify(value);
}

/** Parses JSON, in which quantities and integers that a float may be unable to represent become bigints. */
export function exact(text: string): unknown {
    let quoted = text.replaceAll(/("(?:\w+_bps|\w+_ps|limit)":)(\d+)/g, '$1"\\u0000$2"');
    if (/[:,[]-?\d{16,}/.test(quoted)) {
        quoted = quoted.replaceAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) => (/^-?\d{16,}$/.test(token) ? `"\\u0000${token}"` : token));
    }
    return JSON.parse(quoted, (_, value: unknown) => (typeof value === "string" && value.startsWith("\0") ? BigInt(value.slice(1)) : value));
}

/** Parses the parts of a scenario, in which whole numbers among the parameters of a module become bigints, unlike floats. */
export function ofParts(text: string): unknown {
    const values = /"parameters":\[(?:\["(?:[^"\\]|\\.)*",(?:"(?:[^"\\]|\\.)*"|[^"\]]*)\],?)*\]/g;
    const marked = text.replaceAll(values, (list) => list.replaceAll(/("(?:[^"\\]|\\.)*"),(-?\d+)\]/g, '$1,"\\u0000$2"]'));
    return JSON.parse(marked, (_, value: unknown) => (typeof value === "string" && value.startsWith("\0") ? BigInt(value.slice(1)) : value));
}

/**
 * Writes the fields of a scenario as JSON text, in which integers are bigints and other numbers are floats. A table with the key
 * "\0" stands for a float, or a value that JSON does not have, by its text.
 */
export function ofFields(value: unknown): string {
    const opaque = (text: string): string => JSON.stringify({ "\0": text });
    if (Array.isArray(value)) return `[${value.map(ofFields).join(",")}]`;
    if (value instanceof Date) return opaque(value.toISOString().replace(".000", ""));
    if (typeof value === "bigint") return BigInt.asIntN(64, value) === value ? value.toString() : opaque(value.toString());
    // The engine reads other floats exactly only from text.
    if (typeof value === "number") return Number.isSafeInteger(value) ? `${value}.0` : opaque(value.toExponential());
    if (typeof value === "object" && value !== null) {
        const items = Object.entries(value).filter(([, item]) => item !== undefined);
        return `{${items.map(([key, item]) => `${JSON.stringify(key)}:${ofFields(item)}`).join(",")}}`;
    }
    return JSON.stringify(value);
}
