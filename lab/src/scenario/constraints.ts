/** Constraints across the fields of a part, evaluated from the description (see scenario/constraints.py). */
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

function mostWindowScale(): number {
    const type = field("Tcp", "window_scale")?.type;
    if (type?.is !== "integer or word") throw new Error("window_scale: not an integer");
    return type.high;
}

/** Yields field and message of each constraint that a part violates. */
export function* violations(part: Part): Generator<[string, string]> {
    for (const one of model(part.part).constraints ?? []) {
        if (!one.clauses.every((clause) => holds(clause, part))) continue;
        yield [one.field, one.message.replace(/\{([a-z_.]+)\}/g, (_, path: string) => shown(written(part, path)))];
    }
}

function holds(clause: Clause, part: Part): boolean {
    const [first, second] = clause.fields;
    const kind = dimensionOf(part, (second ?? first) as string);
    let left = value(part, first as string);
    let right: unknown = clause.constant ?? null;
    if (clause.field !== undefined) right = value(part, clause.field);
    else if (kind !== undefined && typeof right === "string") right = dimension(kind).parse(right);
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
    let at: Part | null = part;
    for (const name of names) at = at !== null && name in at.values ? (at.values[name] as Part | null) : null;
    return at === null ? null : [at, last];
}

/** Returns the value of a field as specified; null if the part does not have it. */
function written(part: Part, path: string): unknown {
    const found = owner(part, path);
    if (found === null) return null;
    const [at, name] = found;
    const derived = DERIVED[name];
    if (derived !== undefined) return derived(at);
    return name in at.values ? valueOf(at, name) : null;
}

/** Returns the value of a field for comparisons: quantities in base units. */
function value(part: Part, path: string): unknown {
    const [text, kind] = [written(part, path), dimensionOf(part, path)];
    return kind === undefined || typeof text !== "string" || text === UNLIMITED ? text : dimension(kind).parse(text);
}

function dimensionOf(part: Part, path: string): string | undefined {
    const found = owner(part, path);
    const type = found === null ? undefined : field(found[0].part, found[1])?.type;
    return type?.is === "quantity" ? type.dimension : undefined;
}

function shown(value: unknown): string {
    return typeof value === "number" ? String(Number(value.toPrecision(6))) : String(value);
}
