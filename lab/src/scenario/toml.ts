/** Scenarios as TOML text. */
import { TomlError, parse, stringify } from "smol-toml";
import { ScenarioError } from "./errors";

/** Parses the fields of a file. Throws ScenarioError if it is not TOML. */
export function fromToml(text: string, name: string): Record<string, unknown> {
    try {
        return parse(text, { integersAsBigInt: true }) as Record<string, unknown>;
    } catch (error) {
        if (!(error instanceof TomlError)) throw error;
        const words = error.message.split("\n")[0]?.replace(/^Invalid TOML document: /, "") ?? "";
        const where = `(at line ${error.line}, column ${error.column})`;
        throw new ScenarioError([`${name}: not TOML, ${words} ${where}; needs lines such as: duration = "10 s"`]);
    }
}

/** Formats fields as TOML text, with integral numbers as integers. */
export function toToml(fields: Record<string, unknown>): string {
    return `${stringify(fields).trim()}\n`;
}
