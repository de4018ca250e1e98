/**
 * For the tests: reads TOML texts as a JSON list from stdin, and writes to stdout, for each, the scenario for the core
 * or its errors. Arguments are files of modules that the page has.
 */
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { initSync } from "../../build/engine/engine";
import { toJson } from "./core";
import { ScenarioError } from "./errors";
import { keepModule } from "./modules";
import { resolve } from "./resolve";
import { fromToml } from "./toml";

// Node 18 provides it only as a module.
if (globalThis.crypto === undefined) Object.assign(globalThis, { crypto: webcrypto });
initSync({ module: readFileSync(new URL("engine/engine_bg.wasm", import.meta.url)) });
for (const file of process.argv.slice(2)) await keepModule(basename(file), new Uint8Array(readFileSync(file)));
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
