/**
 * Constraints across the fields of a part, evaluated from the description (see scenario/constraints.py). A constraint is
 * violated if all of its clauses hold. A clause compares a field, or the product of two fields, with a constant or with
 * another field.
 */
import { type Clause, field, model } from "./model";
import { type Part, valueOf } from "./part";
import { SIZE, UNLIMITED, dimension } from "./units";

/** Values of a part in addition to its fields. */
const DERIVED: Record<string, (part: Part) => number> = {
    least_window_scale: leastWindowScale,
    most_window_scale: mostWindowScale,
};

/** Returns the smallest window scale with which the receiver's window fits its 16-bit field. */
export function leastWindowScale(tcp: Part): number {
    const bits = SIZE.parse(String(valueOf(tcp, "receiver_window"))).toString(2).length;
    return Math.min(Math.max(0, bits - 16), mostWindowScale());
}

/** Returns the largest window scale that the description accepts (RFC 7323: 14). */
function mostWindowScale(): number {
    const type = field("Tcp", "window_scale")?.type;
    if (type?.is !== "integer or word") throw new Error("window_scale: not an integer");
    return type.high;
}

/** Yields field and message of each constraint that a part violates. */
export function* violations(part: Part): Generator<[string, string]> {
    for (const { clauses, field, message } of model(part.part).constraints ?? []) {
        if (!clauses.every((clause) => holds(clause, part))) continue;
        yield [field, message.replace(/\{([a-z_.]+)\}/g, (_, path: string) => shown(written(part, path)))];
    }
}

/** Returns whether a clause holds for a part; a comparison by size with an absent or 'unlimited' value does not. */
function holds(clause: Clause, part: Part): boolean {
    const [first, second] = clause.fields;
    // If there are two fields, the first is a number and the second a quantity, so the product has its dimension.
    const quantity = dimensionOf(part, (second ?? first) as string);
    let left = value(part, first as string);
    let right: unknown = clause.constant ?? null;
    if (clause.field !== undefined) right = value(part, clause.field);
    else if (quantity !== undefined && typeof right === "string") right = dimension(quantity).parse(right);
    if (clause.compare === "is" || clause.compare === "is not") return same(left, right) === (clause.compare === "is");
    if (second !== undefined) left = product(left, value(part, second));
    if (!isNumber(left) || !isNumber(right)) return false;
    switch (clause.compare) {
        case "<":
            return left < right;
        case "<=":
            return left <= right;
        case ">":
            return left > right;
        default:
            return left >= right;
    }
}

/** Returns the product of two numbers; null if one of them is absent or 'unlimited'. */
function product(left: unknown, right: unknown): number | bigint | null {
    if (typeof left === "bigint" && typeof right === "bigint") return left * right;
    return isNumber(left) && isNumber(right) ? Number(left) * Number(right) : null;
}

/** Returns whether two values are equal; a bigint equals a number of the same value. */
function same(left: unknown, right: unknown): boolean {
    return isNumber(left) && isNumber(right) ? Number(left) === Number(right) : left === right;
}

function isNumber(value: unknown): value is number | bigint {
    return typeof value === "number" || typeof value === "bigint";
}

/** Returns the part that has the last field of a path, and that field; null if there is a part of another kind. */
function owner(part: Part, path: string): [Part, string] | null {
    const names = path.split(".");
    const last = names.pop() as string;
    let current: Part | null = part;
    for (const name of names) {
        current = current !== null && name in current.values ? (current.values[name] as Part | null) : null;
    }
    return current === null ? null : [current, last];
}

/** Returns the value of a field as specified; null if the part does not have it. */
function written(part: Part, path: string): unknown {
    const owned = owner(part, path);
    if (owned === null) return null;
    const [owningPart, name] = owned;
    const derived = DERIVED[name];
    if (derived !== undefined) return derived(owningPart);
    return name in owningPart.values ? valueOf(owningPart, name) : null;
}

/** Returns the value of a field for comparisons: quantities in base units. */
function value(part: Part, path: string): unknown {
    const [text, quantity] = [written(part, path), dimensionOf(part, path)];
    if (quantity === undefined || typeof text !== "string" || text === UNLIMITED) return text;
    return dimension(quantity).parse(text);
}

/** Returns the name of the dimension of a field; undefined if the field is no quantity. */
function dimensionOf(part: Part, path: string): string | undefined {
    const owned = owner(part, path);
    if (owned === null) return undefined;
    const [owningPart, name] = owned;
    const type = field(owningPart.part, name)?.type;
    return type?.is === "quantity" ? type.dimension : undefined;
}

/** Formats a value for a message; numbers have at most six significant digits. */
function shown(value: unknown): string {
    return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
}
