/** Converts parts for the core according to the types of their fields: names with units, and integers. */
import { in_parts } from "../../build/engine/engine";
import { fieldsOf } from "./check";
import { reprFloat } from "./errors";
import { DESCRIPTION, type Field, type Type, model } from "./model";
import { type Part, type Value, kindOf } from "./part";
import { UNLIMITED, dimension } from "./units";

/** JSON values, including integers that a float cannot represent. */
export type Json = string | number | bigint | boolean | null | Json[] | { [name: string]: Json };
export type JsonTable = { [name: string]: Json };

/** Returns the fields of a part and of its nested parts, except those in `without`. */
export function coreFields(part: Part, without: readonly string[] = []): JsonTable {
    const made: JsonTable = {};
    for (const field of fieldsOf(part)) {
        if (without.includes(field.name)) continue;
        const value = part.values[field.name] ?? null;
        if (field.later === true && isDefault(field, value)) continue;
        const suffix = suffixOf(field.type);
        made[suffix === "" || suffix === field.name ? field.name : `${field.name}_${suffix}`] = core(field.type, value);
    }
    return made;
}

/** Writes JSON text with exact integers. */
export function toJson(value: Json): string {
    if (typeof value === "bigint") return value.toString();
    if (Array.isArray(value)) return `[${value.map(toJson).join(",")}]`;
    if (typeof value === "object" && value !== null) {
        const items = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}:${toJson(one)}`);
        return `{${items.join(",")}}`;
    }
    return JSON.stringify(value);
}

function suffixOf(type: Type): string {
    return type.is === "list" ? suffixOf(type.of) : (type.suffix ?? "");
}

function core(type: Type, value: Value): Json {
    if (value === null) return null;
    switch (type.is) {
        case "quantity": {
            const text = String(value);
            return text === UNLIMITED ? null : text === "auto" ? "auto" : dimension(type.dimension).parse(text);
        }
        case "float":
            return type.decimals === undefined ? Number(value) : in_parts(Number(value), type.decimals);
        case "list": {
            const items = (value as Value[]).map((one, i) => core(type.each?.[i] ?? type.of, one));
            return type.ascending ? ascending(items) : items;
        }
        case "values":
            return (value as [string, Value][]).map(([name, one]) => [name, textOf(one)]);
        case "part":
            return coreFields(value as Part);
        case "kinds": {
            const table = coreFields(value as Part);
            const kind = kindOf(value as Part);
            const byName = DESCRIPTION.first_kinds.includes(kind) || Object.keys(table).length === 1;
            return type.chosen && byName ? kind : table;
        }
        default:
            return value as Json;
    }
}

/** A parameter of a module as text: see scenario/own_control.py. */
function textOf(value: Value): string {
    return typeof value === "number" ? reprFloat(value) : String(value);
}

function ascending(items: Json[]): Json[] {
    const sorted = [...items].sort((a, b) => (BigInt(a as bigint) < BigInt(b as bigint) ? -1 : 1));
    return sorted.filter((one, i) => i === 0 || one !== sorted[i - 1]);
}

function isDefault(field: Field, value: Value): boolean {
    // Checked integers have a different type than integers of the description.
    if (field.type.is !== "part" && field.type.is !== "kinds") return String(value) === String(field.default);
    if (value === null || field.default === null) return value === field.default;
    const part = value as Part;
    if (field.type.is === "kinds" && kindOf(part) !== (field.default as { kind: string }).kind) return false;
    return model(part.part).fields.every((one) => part.values[one.name] === one.default);
}
