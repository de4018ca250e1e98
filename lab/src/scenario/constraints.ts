/** Constraints across the fields of a part, which the engine evaluates (see scenario/constraints.py). */
import { least_window_scale, rule_problems } from "../../build/engine/engine";
import { type Json, toJson } from "./core";
import { field, model } from "./model";
import { type Part, type Value, kindOf, valueOf } from "./part";

/** Returns the smallest window scale with which the receiver's window fits its 16-bit field. */
export function leastWindowScale(tcp: Part): number {
    return least_window_scale(String(valueOf(tcp, "receiver_window")), mostWindowScale());
}

/** Returns whether segments carry timestamps (RFC 7323). */
export function hasTimestamps(tcp: Part): boolean {
    const timer = valueOf(tcp, "timer") as Part;
    return kindOf(timer) === "fine" && valueOf(timer, "timestamps") === true;
}

/** Returns the largest window scale that the description accepts (RFC 7323: 14). */
function mostWindowScale(): number {
    const type = field("Tcp", "window_scale")?.type;
    if (type?.is !== "integer or word") throw new Error("window_scale: not an integer");
    return type.high;
}

/** Returns field and message of each constraint that a part violates. */
export function violations(part: Part): [string, string][] {
    const constraints = model(part.part).constraints ?? [];
    if (constraints.length === 0) return [];
    const derived = part.part === "Tcp" ? { least_window_scale: leastWindowScale(part), most_window_scale: mostWindowScale() } : {};
    const fields = toJson({ ...(plain(part) as object), ...derived });
    const problems = JSON.parse(rule_problems(JSON.stringify(constraints.map(([, ...rule]) => rule)), fields)) as [number, string][];
    return problems.map(([number, message]) => [(constraints[number] as [string, string, string])[0], message]);
}

/** Returns a value in which parts are tables. */
export function plain(value: Value): Json {
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value.values).map(([name, item]) => [name, plain(item)]));
}
