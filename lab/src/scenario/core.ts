/** Converts parts for the core according to the types of their fields: names with units, and integers. */
import { in_parts } from "../../build/engine/engine";
import { repr } from "./errors";
import { DESCRIPTION, type Field, type Type, model } from "./model";
import { type Part, type Value, kindOf } from "./part";
import { UNLIMITED, dimension } from "./units";

/** JSON values, including integers that a float cannot represent. */
export type Json = string | number | bigint | boolean | null | Json[] | { [name: string]: Json };
export type JsonTable = { [name: string]: Json };

/** Returns the fields of a part and of its nested parts, except those in `without`. */
export function coreFields(part: Part, without: readonly string[] = []): JsonTable {
    const names = model(part.part).fields.map((field) => field.name).filter((name) => !without.includes(name));
    return Object.fromEntries(coreRows(part, names).map(([, key, value]) => [key, value]));
}

/** Returns the name, the name in the core, and the value there of fields of a part. */
export function coreRows(part: Part, names: readonly string[]): [string, string, Json][] {
    return model(part.part).fields.flatMap((field): [string, string, Json][] => {
        const value = part.values[field.name] ?? null;
        if (!names.includes(field.name) || (field.later === true && isDefault(field, value))) return [];
        const suffix = suffixOf(field.type);
        const key = suffix === "" || suffix === field.name ? field.name : `${field.name}_${suffix}`;
        return [[field.name, key, core(field.type, value)]];
    });
}

/** Returns the fields of a part of a link; the core reads the distribution of jitter as a table. */
export function coreOfLink(part: Part): JsonTable {
    const { distribution, ...fields } = coreFields(part);
    const steps = distribution === undefined ? [] : (DESCRIPTION.distributions[String(distribution)] ?? []);
    let sum = 0;
    return steps.length === 0 ? fields : { ...fields, table: steps.map((step) => (sum += step)) };
}

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

/** Returns what follows a field's name in the core: its unit, as in "delay_ps"; "" if there is none. */
function suffixOf(type: Type): string {
    return type.is === "list" ? suffixOf(type.of) : (type.suffix ?? "");
}

/** Converts a checked value of a type for the core: quantities become integers in base units, parts become tables. */
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
            const items = (value as Value[]).map((item, i) => core(type.each?.[i] ?? type.of, item));
            return type.ascending ? ascending(items) : items;
        }
        case "values":
            return (value as [string, Value][]).map(([name, item]) => [name, textOf(item)]);
        case "part":
            return coreFields(value as Part);
        case "kinds": {
            const table = coreFields(value as Part);
            const kind = kindOf(value as Part);
            // A kind without parameters is written as its name where the core accepts a name.
            const byName = DESCRIPTION.first_kinds.includes(kind) || Object.keys(table).length === 1;
            return type.chosen && byName ? kind : table;
        }
        default:
            return value as Json;
    }
}

/** A parameter of a module as text: see scenario/own_control.py. */
function textOf(value: Value): string {
    return typeof value === "number" ? repr(value) : String(value);
}

/** Returns whole numbers in ascending order, without duplicates. */
function ascending(items: Json[]): Json[] {
    const sorted = [...items].sort((a, b) => (BigInt(a as bigint) < BigInt(b as bigint) ? -1 : 1));
    return sorted.filter((item, i) => i === 0 || item !== sorted[i - 1]);
}

/** Returns whether a value is the default of its field, which the resolved form then omits if the field is `later`. */
function isDefault(field: Field, value: Value): boolean {
    // Checked integers have a different type than integers of the description.
    if (field.type.is !== "part" && field.type.is !== "kinds") return String(value) === String(field.default);
    if (value === null || field.default === null) return value === field.default;
    const part = value as Part;
    if (field.type.is === "kinds" && kindOf(part) !== (field.default as { kind: string }).kind) return false;
    return model(part.part).fields.every((inner) => part.values[inner.name] === inner.default);
}

/** Returns a value in which parts are tables. */
export function plain(value: Value): Json {
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value.values).map(([name, item]) => [name, plain(item)]));
}
