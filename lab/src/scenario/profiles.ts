/**
 * Options of congestion controllers that a profile sets and the scenario does not set, from `rules` of the description.
 */
import { str } from "./errors";
import { DESCRIPTION, field, model } from "./model";

type Options = Record<string, unknown>;

/**
 * Returns the options of a congestion controller according to its profile, overridden by the written ones; undefined if the
 * profile has no rules for it, or the scenario sets other rules.
 */
export function byRules(profile: string, kind: string, said: Options): Options | undefined {
    const options = DESCRIPTION.rules[profile]?.[kind];
    if (options === undefined || ("rules" in said && said["rules"] !== options["rules"])) return undefined;
    return { ...options, ...said };
}

/**
 * Returns the congestion controller of a table of TCP, with its options in former fields of TCP, which its own options
 * override; undefined if these set no option. Files of earlier versions contain the defaults of these fields; they count as
 * unspecified, except in a table with Linux's rules.
 */
export function formerOptions(tcp: Options): Options | undefined {
    const congestion = tcp["congestion"] ?? field("Tcp", "congestion")?.default;
    const { kind, ...said }: Options = isTable(congestion) ? congestion : { kind: congestion };
    let options: Options = {};
    for (const [former, of] of Object.entries(DESCRIPTION.former)) {
        const value = tcp[former];
        if (of !== kind || value === undefined) continue;
        options = { ...options, ...(isTable(value) ? value : { [former]: value }) };
    }
    const controls = field("Tcp", "congestion")?.type;
    const name = controls?.is === "kinds" && Object.hasOwn(controls.kinds, str(kind)) ? controls.kinds[str(kind)] : undefined;
    if (options["rules"] !== "linux" && name !== undefined) {
        const defaults = new Map(model(name).fields.map((one) => [one.name, one.default]));
        options = Object.fromEntries(Object.entries(options).filter(([option, value]) => !equal(value, defaults.get(option))));
    }
    return Object.keys(options).length === 0 ? undefined : { kind, ...options, ...said };
}

/** Returns whether a value is a table; TOML also has lists and dates. */
export function isTable(value: unknown): value is Options {
    return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Compares a value with a default. Integers from TOML are bigints, integers of the description are numbers. */
function equal(one: unknown, other: unknown): boolean {
    return one === other || (typeof one === "bigint" && Number(one) === other);
}
