/** A scenario and its seed as the fragment of an address: TOML, deflated and encoded. */
import { ScenarioError } from "../scenario/errors";
import { fromToml, toToml } from "../scenario/toml";

const CUT = "link: it can't be read, for a part of it is missing or changed; needs the whole of it";

/** Returns the fragment for this scenario. */
export async function toHash(fields: Record<string, unknown>, seed: string): Promise<string> {
    const bytes = await through(new TextEncoder().encode(toToml(fields)), new CompressionStream("deflate"));
    const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    return `#seed=${seed}&s=${letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** Content of a fragment: a scenario, the name of a preset, or a step of the lesson; null for other text. */
export async function fromHash(
    hash: string,
): Promise<{ fields?: Record<string, unknown>; preset?: string; step?: number; seed: string } | null> {
    const said = new URLSearchParams(hash.replace(/^#/, ""));
    const seed = said.get("seed") ?? "1";
    const [preset, step, letters] = [said.get("preset"), said.get("step"), said.get("s")];
    if (preset !== null) return { preset, seed };
    if (step !== null) return { step: Number(step), seed };
    if (letters === null) {
        // Anchors of the page are not scenarios.
        if (!said.has("seed")) return null;
        throw new ScenarioError([CUT]);
    }
    let text: string;
    try {
        const packed = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
        text = new TextDecoder().decode(await through(packed, new DecompressionStream("deflate")));
    } catch {
        throw new ScenarioError([CUT]);
    }
    return { fields: fromToml(text, "link"), seed };
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
    const piped = new Blob([bytes]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
    return new Uint8Array(await new Response(piped).arrayBuffer());
}
