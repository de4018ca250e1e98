/** Errors of rejected scenarios. */
import { shown } from "../../build/engine/engine";
import { ofFields } from "./json";

/** Invalid input, with a line for each problem. */
export class ScenarioError extends Error {
    constructor(readonly problems: string[]) {
        super(problems.join("\n"));
    }
}

/** Formats a value for a message as Python does, in at most 60 characters. */
export function repr(value: unknown): string {
    return shown(ofFields(value));
}
