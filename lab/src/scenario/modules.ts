/** Congestion controllers from files that this page has: WebAssembly modules, by the digest that names them to the core. */
import { ScenarioError } from "./errors";
import { DESCRIPTION } from "./model";

/** A module. */
export interface ModuleContent {
    name: string;
    digest: string;
    content: Uint8Array<ArrayBuffer>;
    /** Types of its parameters by name. */
    parameters: ReadonlyMap<string, string>;
}

/** Modules of which the engine does not know the facts yet. */
const changed: ModuleContent[] = [];
const byDigest = new Map<string, ModuleContent>();

const NEEDS = "needs a WebAssembly module with a congestion controller";
const MAX_BYTES = 64 * 2 ** 20;
/** First bytes of a WebAssembly module. */
const MAGIC = [0, 0x61, 0x73, 0x6d];
/** Format of LONGPIPE_FACT in longpipe_control.h. */
const FACT = /\x01longpipe\x01([a-z-]+)=([\x20-\x7e]{1,200})\0/g;

/** Stores a module under its name, replacing an earlier one. Throws ScenarioError if the file is not a module. */
export async function keepModule(name: string, content: Uint8Array<ArrayBuffer>): Promise<ModuleContent> {
    if (!MAGIC.every((byte, i) => content[i] === byte)) throw new ScenarioError([`${name}: not WebAssembly; ${NEEDS}`]);
    if (content.length > MAX_BYTES) throw new ScenarioError([`${name}: ${content.length} bytes; needs at most ${MAX_BYTES}`]);
    const facts = factsOf(content);
    const version = facts.find(([key]) => key === "interface")?.[1];
    if (version === undefined) throw new ScenarioError([`${name}: not a congestion controller; ${NEEDS}`]);
    const supported = DESCRIPTION.module_interface;
    if (version !== supported) throw new ScenarioError([`${name}: interface version ${version}; needs ${supported}: rebuild it`]);
    const parameters = facts.filter(([key]) => key === "parameter").map(([, text]): [string, string] => {
        const at = text.lastIndexOf(":");
        return [text.slice(0, at), text.slice(at + 1)];
    });
    const source = facts.find(([key]) => key === "source")?.[1];
    const made = { name, digest: source ?? (await sha256(name, content)), content, parameters: new Map(parameters) };
    changed.push(made);
    byDigest.set(made.digest, made);
    return made;
}

/** Returns the modules that were stored since the previous call. */
export function changedModules(): ModuleContent[] {
    return changed.splice(0);
}

/** Returns the modules of a resolved scenario, which contains their digests as text. */
export function modulesOf(core: string): ModuleContent[] {
    return [...byDigest.values()].filter(({ digest }) => core.includes(digest));
}

/** Returns the name of the module with a digest. */
export function moduleName(digest: string): string {
    return byDigest.get(digest)?.name ?? digest;
}

/** The facts that a module states about itself. */
function factsOf(content: Uint8Array): [string, string][] {
    // Convert each byte to one character.
    const text = new TextDecoder("latin1").decode(content);
    return [...text.matchAll(FACT)].map(([, key, value]) => [key ?? "", value ?? ""]);
}

async function sha256(name: string, content: Uint8Array<ArrayBuffer>): Promise<string> {
    if (globalThis.crypto?.subtle === undefined) {
        throw new ScenarioError([`${name}: this browser has no SHA-256 for pages loaded over http; needs the page from a file or over https`]);
    }
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
