/** Scenarios as TOML text. */
import { TomlError, parse, stringify } from "smol-toml";
import { SCHEMA, ofFile } from "./defaults";
import { ScenarioError } from "./errors";

/** Parses the fields of a scenario's file. Throws ScenarioError if it is not TOML, or has an unknown schema. */
export function fromToml(text: string, name: string): Record<string, unknown> {
    return ofFile(parsed(text, name));
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
