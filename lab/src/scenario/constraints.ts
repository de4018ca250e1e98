/** Constraints across the fields of a part, which the engine evaluates (see scenario/constraints.py). */
import { rule_problems } from "../../build/engine/engine";
import { plain, toJson } from "./core";
import { model } from "./model";
import { type Part, kindOf, valueOf } from "./part";

/** Returns whether segments carry timestamps (RFC 7323). */
export function hasTimestamps(tcp: Part): boolean {
    const timer = valueOf(tcp, "timer") as Part;
    return kindOf(timer) === "fine" && valueOf(timer, "timestamps") === true;
}

/** Returns field and message of each constraint that a part violates. */
export function violations(part: Part): [string, string][] {
    const constraints = model(part.part).constraints ?? [];
    if (constraints.length === 0) return [];
    const rules = JSON.stringify(constraints.map(([, ...rule]) => rule));
    const problems = JSON.parse(rule_problems(rules, toJson(plain(part)))) as [number, string][];
    return problems.map(([number, message]) => [(constraints[number] as [string, string, string])[0], message]);
}
