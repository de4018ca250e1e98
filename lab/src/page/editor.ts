/**
 * The scenario as text, for fields without a control in the form: VBR, groups, graphs, and all fields with defaults.
 */
import { fromToml, toToml } from "../scenario/toml";
import { byId, fill } from "./dom";

/**
 * Connects the text editor and its button; calls `taken` with the parsed text. Returns a function that displays fields
 * as text.
 */
export function prepareEditor(taken: (read: () => Record<string, unknown>) => void): (fields: Record<string, unknown>) => void {
    const text = byId<HTMLTextAreaElement>("text");
    const use = (): void => taken(() => fromToml(text.value, "text"));
    byId("text-run").addEventListener("click", use);
    text.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) use();
    });
    return (fields) => {
        fill(text, toToml(fields));
        text.rows = Math.min(24, text.value.split("\n").length + 1);
    };
}
