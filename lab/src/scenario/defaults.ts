/** Defaults of absent fields: those of the field `defaults`, and those of each version of the schema of files. */
import { ScenarioError, shown } from "./errors";
import { DESCRIPTION } from "./model";
import { isTable } from "./profiles";

type Table = Record<string, unknown>;

/** Version of the schema in which the page writes files. */
export const SCHEMA = Math.max(...Object.keys(DESCRIPTION.schemas).map(Number));

/**
 * Returns the fields of a file without the version of the schema, which determines `defaults` unless that is given. A file
 * without `schema` has version 1. Throws ScenarioError for an unknown version.
 */
export function ofFile({ schema = 1n, ...fields }: Table): Table {
    const defaults = typeof schema === "bigint" || typeof schema === "number" ? DESCRIPTION.schemas[String(schema)] : undefined;
    if (defaults === undefined) throw new ScenarioError([`schema: ${shown(schema)}; accepts ${Object.keys(DESCRIPTION.schemas).join(", ")}`]);
    return defaults === DESCRIPTION.schemas[SCHEMA] ? fields : { defaults, ...fields };
}

/** Returns the fields of a scenario with the defaults that its field `defaults` names. */
export function withDefaults(fields: Table): Table {
    const named = fields["defaults"] ?? DESCRIPTION.schemas[SCHEMA];
    const chosen = typeof named === "string" && Object.hasOwn(DESCRIPTION.defaults, named) ? DESCRIPTION.defaults[named] : undefined;
    if (chosen === undefined) return fields;
    const whole: Table = { ...chosen.scenario, tcp: {}, ...fields };
    if (isTable(whole["tcp"])) whole["tcp"] = { ...chosen.tcp, ...whole["tcp"] };
    const network = fields["network"] === undefined || fields["network"] === "dumbbell" ? { kind: "dumbbell" } : fields["network"];
    if (isTable(network) && network["kind"] === "dumbbell") {
        const { sources, ...others } = chosen.network;
        // The number of sources is computed from the groups.
        whole["network"] = { ...others, ...("group" in network || sources === undefined ? {} : { sources }), ...network };
    }
    return whole;
}
