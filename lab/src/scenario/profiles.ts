/**
 * Options of congestion controllers that a profile sets and the scenario does not set, from `rules` of the description.
 */
import { DESCRIPTION, model } from "./model";

type Options = Record<string, unknown>;

/**
 * Returns the options of a congestion controller according to its profile, overridden by the written ones; undefined if the
 * profile has no rules for it, or the scenario sets other rules. `beside` has the written options of `tcp.vegas`, which apply
 * to Vegas.
 */
export function byRules(profile: string, kind: string, said: Options, beside: Options): Options | undefined {
    const options = DESCRIPTION.rules[profile]?.[kind];
    if (options === undefined || ("rules" in said && said["rules"] !== options["rules"])) return undefined;
    return { ...options, ...(kind === "vegas" ? saidBeside(beside) : {}), ...said };
}

/**
 * Returns the written options of `tcp.vegas` that count: all by Linux's rules, else those that differ from the defaults,
 * because files that longpipe writes contain the defaults.
 */
function saidBeside(vegas: Options): Options {
    if (vegas["rules"] === "linux") return vegas;
    const defaults = new Map(model("VegasOptions").fields.map((field) => [field.name, field.default]));
    return Object.fromEntries(Object.entries(vegas).filter(([name, value]) => !equal(value, defaults.get(name))));
}

/** Compares a value with a default. Integers from TOML are bigints, integers of the description are numbers. */
function equal(one: unknown, other: unknown): boolean {
    return one === other || (typeof one === "bigint" && Number(one) === other);
}
