/**
 * Writes the settings of the page as the fragment of its address, and reads them: a preset or a step of the lesson,
 * changed fields, and the seed. A scenario that the page cannot resolve is written in its resolved form.
 */
import { ScenarioError } from "../scenario/errors";
import { fromToml, toToml } from "../scenario/toml";

const CUT = "link: cannot be read, because a part of it is missing or changed; needs the complete link";

/** The origin of the scenario, and the scenario if it differs from its origin. */
export interface Settings {
    preset?: string | undefined;
    step?: number | undefined;
    exercise?: number | undefined;
    /** Whether the exercise is homework: its answer is handed in, and the page does not check it. */
    homework?: boolean | undefined;
    /** The form for the core, as JSON text, of fields that the page cannot resolve. */
    core?: string | undefined;
    fields?: Record<string, unknown> | undefined;
    seed: string;
}

/** Returns the fragment for these settings. Scenarios are TOML, and their forms for the core JSON, deflated and encoded. */
export async function toHash({ preset, step, exercise, homework, core, fields, seed }: Settings): Promise<string> {
    const parts: string[] = [];
    if (preset !== undefined) parts.push(`preset=${encodeURIComponent(preset)}`);
    if (step !== undefined) parts.push(`step=${step}`);
    if (exercise !== undefined) parts.push(`exercise=${exercise}`);
    if (homework === true) parts.push("homework=1");
    if (seed !== "1" || parts.length === 0) parts.push(`seed=${seed}`);
    if (fields !== undefined) parts.push(`s=${await packed(toToml(fields))}`);
    if (core !== undefined) parts.push(`core=${await packed(core)}`);
    return `#${parts.join("&")}`;
}

/** Returns the settings of a fragment; null for other text. */
export async function fromHash(hash: string): Promise<Settings | null> {
    const parameters = new URLSearchParams(hash.replace(/^#/, ""));
    const number = (name: string): number | undefined => (parameters.has(name) ? Number(parameters.get(name)) : undefined);
    const settings: Settings = {
        preset: parameters.get("preset") ?? undefined,
        step: number("step"),
        exercise: number("exercise"),
        homework: parameters.has("homework") || undefined,
        seed: parameters.get("seed") ?? "1",
    };
    const letters = parameters.get("s");
    if (letters === null) {
        if (settings.preset !== undefined || settings.step !== undefined || settings.exercise !== undefined) return settings;
        // Anchors of the page are not scenarios.
        if (!parameters.has("seed")) return null;
        throw new ScenarioError([CUT]);
    }
    const core = parameters.get("core");
    return { ...settings, core: core === null ? undefined : await unpacked(core), fields: fromToml(await unpacked(letters), "link") };
}

async function packed(text: string): Promise<string> {
    const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate"));
    const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    return letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function unpacked(letters: string): Promise<string> {
    try {
        const bytes = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
        return new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate")));
    } catch {
        throw new ScenarioError([CUT]);
    }
}

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
    const piped = new Blob([bytes]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>);
    return new Uint8Array(await new Response(piped).arrayBuffer());
}
