/** Menus that offer the choices that the scenario accepts, and state for the others what they need. */
import { ScenarioError } from "../scenario/errors";
import type { Type } from "../scenario/model";
import { resolve } from "../scenario/resolve";
import { KNOBS, changed, meant } from "./knobs";
import { called } from "./names";

type Table = Record<string, unknown>;

/** Makes all choices of a menu selectable, as before they were checked. */
export function reset(menu: HTMLSelectElement, path: string): void {
    delete menu.dataset["asked"];
    for (const option of menu.options) {
        option.disabled = false;
        option.textContent = called(path, option.value);
    }
}

/**
 * Disables the choices that this scenario rejects, each with the reason. They are checked once per scenario: see
 * `reset`.
 */
export function ask(menu: HTMLSelectElement, path: string, type: Type, fields: Table): void {
    if (menu.dataset["asked"] !== undefined) return;
    menu.dataset["asked"] = "";
    for (const option of menu.options) {
        // Do not check a module: it is rejected without its file, which the page requests after the choice.
        if (option.value === menu.value || option.value === "module") continue;
        const reason = refusal(path, meant(option.value, type), fields);
        option.disabled = reason !== null;
        if (reason !== null) option.textContent = `${called(path, option.value)}: ${reason}`;
    }
}

/** Returns the reason why the scenario rejects a value of a field; null if it accepts it. */
function refusal(path: string, value: unknown, fields: Table): string | null {
    try {
        resolve(changed(fields, path, value));
        return null;
    } catch (error) {
        if (!(error instanceof ScenarioError)) throw error;
        return reasonOf(path, error.problems[0] ?? "");
    }
}

/** Returns the short form of a problem: without the value, and without the list of accepted values. */
function reasonOf(path: string, problem: string): string {
    const field = problem.slice(0, problem.indexOf(": "));
    if (field.startsWith(`${path}.`)) return "needs values that this form does not offer; write it as text";
    const need = problem.slice(problem.indexOf("; ") + 2).replace(/(; longpipe run|, which|, whose|, because|, IP routers accept|, ATM switches accept|, ATM switches count) .*$/, "");
    if (field === path) return need;
    const knob = KNOBS.find((candidate) => field === candidate.path || field.startsWith(`${candidate.path}.`));
    return `${knob?.label ?? field} ${need}`;
}
