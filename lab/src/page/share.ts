/**
 * The settings of the page as the fragment of its address: a preset or a step of the lesson, changed fields, and the
 * seed.
 */
import { ScenarioError } from "../scenario/errors";
import { fromToml, toToml } from "../scenario/toml";

const CUT = "link: cannot be read, because a part of it is missing or changed; needs the complete link";

/** The origin of the scenario, and the scenario if it differs from its origin. */
export interface Settings {
    preset?: string | undefined;
    step?: number | undefined;
    exercise?: number | undefined;
    fields?: Record<string, unknown> | undefined;
    seed: string;
}

/** Returns the fragment for these settings. Scenarios are TOML, deflated and encoded. */
export async function toHash({ preset, step, exercise, fields, seed }: Settings): Promise<string> {
    const parts: string[] = [];
    if (preset !== undefined) parts.push(`preset=${encodeURIComponent(preset)}`);
    if (step !== undefined) parts.push(`step=${step}`);
    if (exercise !== undefined) parts.push(`exercise=${exercise}`);
    if (seed !== "1" || parts.length === 0) parts.push(`seed=${seed}`);
    if (fields !== undefined) {
        const bytes = await through(new TextEncoder().encode(toToml(fields)), new CompressionStream("deflate"));
        const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
        parts.push(`s=${letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`);
    }
    return `#${parts.join("&")}`;
}

/** Returns the settings of a fragment; null for other text. */
export async function fromHash(hash: string): Promise<Settings | null> {
    const parameters = new URLSearchParams(hash.replace(/^#/, ""));
    const number = (name: string): number | undefined => (parameters.has(name) ? Number(parameters.get(name)) : undefined);
    const settings: Settings = { preset: parameters.get("preset") ?? undefined, step: number("step"), exercise: number("exercise"), seed: parameters.get("seed") ?? "1" };
    const letters = parameters.get("s");
    if (letters === null) {
        if (settings.preset !== undefined || settings.step !== undefined || settings.exercise !== undefined) return settings;
        // Anchors of the page are not scenarios.
        if (!parameters.has("seed")) return null;
        throw new ScenarioError([CUT]);
    }
    let text: string;
    try {
        const packed = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
        text = new TextDecoder().decode(await through(packed, new DecompressionStream("deflate")));
    } catch {
        throw new ScenarioError([CUT]);
    }
    return { ...settings, fields: fromToml(text, "link") };
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
    const piped = new Blob([bytes]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
    return new Uint8Array(await new Response(piped).arrayBuffer());
}
