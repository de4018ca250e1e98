/**
 * For the tests: reads TOML texts as a JSON list from stdin, and writes to stdout, for each, the scenario for the core
 * or its errors.
 */
import { readFileSync } from "node:fs";
import { toJson } from "./core";
import { ScenarioError } from "./errors";
import { resolve } from "./resolve";
import { fromToml } from "./toml";

for (const text of JSON.parse(readFileSync(0, "utf8")) as string[]) {
    let line: string;
    try {
        line = toJson({ core: resolve(fromToml(text, "TOML text")).core });
    } catch (error) {
        if (!(error instanceof ScenarioError)) throw error;
        line = JSON.stringify({ problems: error.problems });
    }
    process.stdout.write(`${line}\n`);
}
