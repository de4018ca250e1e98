/**
 * For the tests: reads a JSON list from stdin, whose items are TOML text and, if the page cannot resolve it, its form for the
 * core. Writes to stdout, for each, the scenario for the core or its errors. Arguments are files of modules that the page has.
 */
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { initSync } from "../../build/engine/engine";
import { toJson } from "./json";
import { ScenarioError } from "./errors";
import { keepModule } from "./modules";
import { resolve, resolveExpanded } from "./resolve";
import { fromToml } from "./toml";

// Node 18 provides it only as a module.
if (globalThis.crypto === undefined) Object.assign(globalThis, { crypto: webcrypto });
initSync({ module: readFileSync(new URL("engine/engine_bg.wasm", import.meta.url)) });
for (const file of process.argv.slice(2)) await keepModule(basename(file), new Uint8Array(readFileSync(file)));
for (const [text, core] of JSON.parse(readFileSync(0, "utf8")) as [string, string?][]) {
    let line: string;
    try {
        const fields = fromToml(text, "TOML text");
        line = toJson({ core: (core === undefined ? resolve(fields) : resolveExpanded(fields, core)).core });
    } catch (error) {
        if (!(error instanceof ScenarioError)) throw error;
        line = JSON.stringify({ problems: error.problems });
    }
    process.stdout.write(`${line}\n`);
}
