/** Scenarios as TOML text. */
import { TomlError, parse, stringify } from "smol-toml";
import { ScenarioError, repr } from "./errors";
import { DESCRIPTION } from "./model";

/** Version of the schema in which the page writes files. */
const SCHEMA = Math.max(...Object.keys(DESCRIPTION.schemas).map(Number));

/** Parses the fields of a scenario's file. Throws ScenarioError if it is not TOML, or has an unknown schema. */
export function fromToml(text: string, name: string): Record<string, unknown> {
    return ofFile(parsed(text, name));
}

/**
 * Returns the fields of a file without the version of the schema, which determines `defaults` unless that is given. A file
 * without `schema` has version 1. Throws ScenarioError for an unknown version.
 */
export function ofFile({ schema = 1n, ...fields }: Record<string, unknown>): Record<string, unknown> {
    const defaults = typeof schema === "bigint" || typeof schema === "number" ? DESCRIPTION.schemas[String(schema)] : undefined;
    if (defaults === undefined) throw new ScenarioError([`schema: ${repr(schema)}; accepts ${Object.keys(DESCRIPTION.schemas).join(", ")}`]);
    return defaults === DESCRIPTION.schemas[SCHEMA] ? fields : { defaults, ...fields };
}

/** Parses TOML. Throws ScenarioError if the text is not TOML. */
export function parsed(text: string, name: string): Record<string, unknown> {
    try {
        return parse(text, { integersAsBigInt: true }) as Record<string, unknown>;
    } catch (error) {
        if (!(error instanceof TomlError)) throw error;
        const words = error.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "") ?? "";
        const where = `(at line ${error.line}, column ${error.column})`;
        throw new ScenarioError([`${name}: not TOML, ${words} ${where}; needs lines such as: duration = "10 s"`]);
    }
}

/** Formats the fields of a scenario as TOML text, with integral numbers as integers. */
export function toToml(fields: Record<string, unknown>): string {
    return `${stringify({ schema: SCHEMA, ...fields }).trim()}\n`;
}
