/** Menus that offer what the scenario accepts, and say of the rest what it needs. */
import { ScenarioError } from "../scenario/errors";
import type { Type } from "../scenario/model";
import { resolve } from "../scenario/resolve";
import { KNOBS, changed, meant } from "./knobs";
import { called } from "./names";

type Table = Record<string, unknown>;

/** Makes all choices of a menu selectable, as before the scenario was asked. */
export function reset(menu: HTMLSelectElement, path: string): void {
    delete menu.dataset["asked"];
    for (const option of menu.options) {
        option.disabled = false;
        option.textContent = called(path, option.value);
    }
}

/** Disables the choices that this scenario refuses, each with the reason. Asks once per scenario: see `reset`. */
export function ask(menu: HTMLSelectElement, path: string, type: Type, fields: Table): void {
    if (menu.dataset["asked"] !== undefined) return;
    menu.dataset["asked"] = "";
    for (const option of menu.options) {
        if (option.value === menu.value) continue;
        const reason = refusal(path, meant(option.value, type), fields);
        option.disabled = reason !== null;
        if (reason !== null) option.textContent = `${called(path, option.value)}: ${reason}`;
    }
}

/** Returns why the scenario refuses a value of a field; null if it accepts it. */
function refusal(path: string, value: unknown, fields: Table): string | null {
    try {
        resolve(changed(fields, path, value));
        return null;
    } catch (error) {
        if (!(error instanceof ScenarioError)) throw error;
        return reasonOf(path, error.problems[0] ?? "");
    }
}

/** The short form of a problem: without the value, and without a list of what else is accepted. */
function reasonOf(path: string, problem: string): string {
    const field = problem.slice(0, problem.indexOf(": "));
    if (field.startsWith(`${path}.`)) return "needs values that this form lacks; write it as text";
    const said = problem.slice(problem.indexOf("; ") + 2).replace(/(; longpipe run|, which|, whose|, IP routers accept|, ATM switches accept|, ATM switches count) .*$/, "");
    if (field === path) return said;
    const knob = KNOBS.find((one) => field === one.path || field.startsWith(`${one.path}.`));
    return `${knob?.label ?? field} ${said}`;
}
