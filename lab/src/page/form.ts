/**
 * The fields of the scenario as a form with labels, inputs and sliders; it is rebuilt when the kind of a part changes.
 */
import { type Field, fieldsOf } from "../scenario/model";
import { type Part, kindOf } from "../scenario/part";
import type { Resolved } from "../scenario/resolve";
import { byId, fill, make } from "./dom";
import { ask, reset } from "./menus";
import { called } from "./names";
import { KNOBS, type Knob, Scale, checkedAt, choices, meant, written } from "./knobs";

/**
 * Builds the form in an element; calls `turned` with the dotted name of a field, its value, and whether the control was
 * released, and `choose` for a file with a congestion controller.
 */
export class Form {
    private shape = "";
    private fields: Record<string, unknown> = {};

    constructor(
        private readonly place: HTMLElement,
        private readonly turned: (path: string, value: unknown, released: boolean) => void,
        private readonly choose: () => void,
    ) {
        place.addEventListener("submit", (event) => event.preventDefault());
    }

    /** Shows a scenario and a seed. */
    show(resolved: Resolved, fields: Record<string, unknown>, seed: string): void {
        this.fields = fields;
        const rows = KNOBS.filter((knob) => checkedAt(resolved, knob.path) !== null);
        const shape = rows.map((knob) => `${knob.path} ${this.kind(resolved, knob.path)}`).join(";");
        if (shape !== this.shape) this.build(resolved, rows, shape);
        for (const input of this.place.querySelectorAll<HTMLInputElement | HTMLSelectElement>("[data-path]")) this.refill(input, resolved);
        fill(byId<HTMLInputElement>("seed"), seed);
        const fixed = resolved.fixed === true;
        for (const input of this.place.querySelectorAll<HTMLInputElement>("[data-path], [data-slider]")) input.disabled = fixed;
        byId<HTMLButtonElement>("text-run").disabled = byId<HTMLTextAreaElement>("text").readOnly = fixed;
        byId("fixed").hidden = !fixed;
        this.mark([]);
    }

    /** Marks the fields that have problems. */
    mark(problems: string[]): void {
        for (const input of this.place.querySelectorAll<HTMLElement>("[data-path]")) {
            const path = input.dataset["path"] as string;
            const wrong = problems.some((problem) => problem.startsWith(`${path}:`) || problem.startsWith(`${path}.`));
            if (wrong) input.setAttribute("aria-invalid", "true");
            else input.removeAttribute("aria-invalid");
        }
    }

    private kind(resolved: Resolved, path: string): string {
        const value = checkedAt(resolved, path)?.value;
        return typeof value === "object" && value !== null && !Array.isArray(value) ? kindOf(value as Part) : "";
    }

    private build(resolved: Resolved, rows: Knob[], shape: string): void {
        const focused = (document.activeElement as HTMLElement | null)?.id;
        this.shape = shape;
        const groups = new Map<string, HTMLElement>();
        for (const knob of rows) {
            const group = groups.get(knob.group) ?? make("fieldset", {}, make("legend", {}, knob.group));
            groups.set(knob.group, group);
            group.append(...this.row(resolved, knob));
        }
        const input = make("input", { id: "seed", inputMode: "numeric" });
        input.addEventListener("change", () => this.turned("seed", input.value.trim(), true));
        const label = make("label", { htmlFor: "seed", data: { term: "seed" } }, "seed");
        groups.get("Run")?.append(make("div", { className: "knob" }, label, input));
        this.place.replaceChildren(...groups.values());
        if (focused) document.getElementById(focused)?.focus();
    }

    private row(resolved: Resolved, knob: Knob): HTMLElement[] {
        const checked = checkedAt(resolved, knob.path);
        if (checked === null) return [];
        const row = this.entry(knob.path, knob.label, checked.field);
        if (knob.span !== undefined) row.append(this.slider(resolved, knob, checked.field));
        const part = checked.value as Part | null;
        if (checked.field.type.is !== "kinds" || part === null) return [row];
        // The digest of a module is computed from its file.
        const fields = fieldsOf(part.part).filter((field) => field.name !== "digest");
        if (fields.length === 0) return [row];
        const parts = fields.map((field) => this.entry(`${knob.path}.${field.name}`, field.name.replaceAll("_", " "), field));
        if (part.part === "Module") {
            const other = make("button", { type: "button" }, "Choose another file…");
            other.addEventListener("click", () => this.choose());
            parts.push(make("div", { className: "knob" }, other));
        }
        // Fields without a default are always visible; the others can be expanded.
        const open = fields.some((field) => !("default" in field)) || fields.length <= 2;
        const box = make("details", { open }, make("summary", {}, `${knob.label}: ${kindOf(part)}`), ...parts);
        return [row, make("div", { className: "knob" }, make("div", { className: "parts" }, box))];
    }

    private entry(path: string, name: string, field: Field): HTMLElement {
        const id = `knob-${path}`;
        const input = this.input(id, path, field);
        const label = make("label", { htmlFor: id, data: { tip: words(path, field) } }, name);
        return make("div", { className: "knob" }, label, input);
    }

    private input(id: string, path: string, field: Field): HTMLElement {
        const data = { path };
        const among = field.type.is === "bool" ? ["true", "false"] : choices(field.type);
        const input =
            among === null
                ? make("input", { id, data, spellcheck: false })
                : this.menu(id, path, field, among);
        input.addEventListener("change", () => {
            if (path !== "tcp.congestion" || input.value !== "module") {
                this.turned(path, meant(input.value, field.type), true);
                return;
            }
            // The menu shows the current choice until a file is chosen.
            input.value = input.dataset["shown"] ?? "";
            this.choose();
        });
        return input;
    }

    private menu(id: string, path: string, field: Field, among: string[]): HTMLSelectElement {
        const options = among.map((choice) => make("option", { value: choice }, called(path, choice)));
        const menu = make("select", { id, data: { path } }, ...options);
        // Called before the menu opens, because checking whether the scenario accepts a choice takes milliseconds for
        // each choice.
        for (const name of ["pointerenter", "pointerdown", "focus"]) {
            menu.addEventListener(name, () => ask(menu, path, field.type, this.fields));
        }
        return menu;
    }

    private slider(resolved: Resolved, knob: Knob, field: Field): HTMLElement {
        const slider = make("input", { type: "range", min: "0", max: "200", data: { slider: knob.path } });
        slider.setAttribute("aria-label", `${knob.label}, slider`);
        const scale = (): Scale | null => Scale.of(knob, field.type, byId<HTMLInputElement>(`knob-${knob.path}`).value);
        const move = (released: boolean): void => {
            const text = scale()?.text(Number(slider.value) / 200);
            if (text === undefined) return;
            byId<HTMLInputElement>(`knob-${knob.path}`).value = text;
            slider.setAttribute("aria-valuetext", text);
            this.turned(knob.path, meant(text, field.type), released);
        };
        slider.addEventListener("input", () => move(false));
        slider.addEventListener("change", () => move(true));
        slider.hidden = Scale.of(knob, field.type, written(checkedAt(resolved, knob.path)?.value)) === null;
        return slider;
    }

    private refill(input: HTMLInputElement | HTMLSelectElement, resolved: Resolved): void {
        const path = input.dataset["path"] as string;
        const checked = checkedAt(resolved, path);
        if (checked === null) return;
        const text = written(checked.value, checked.field.type);
        if (input instanceof HTMLSelectElement) {
            reset(input, path);
            input.value = input.dataset["shown"] = text;
        } else fill(input, text);
        const slider = this.place.querySelector<HTMLInputElement>(`[data-slider="${path}"]`);
        const knob = KNOBS.find((candidate) => candidate.path === path);
        if (slider === null || knob === undefined) return;
        const scale = Scale.of(knob, checked.field.type, text);
        slider.hidden = scale === null;
        if (scale === null) return;
        slider.setAttribute("aria-valuetext", text);
        if (document.activeElement !== slider) slider.value = String(200 * scale.position(text));
    }
}

/** Meaning, unit, default and source of a field. */
function words(path: string, field: Field): string {
    const fallback = field.default;
    const defaultName = typeof fallback === "object" && fallback !== null ? (fallback as { kind?: string }).kind : fallback;
    const defaultText = defaultName === undefined || defaultName === null ? "" : ` Default: ${String(defaultName)}${field.source ? ` (${field.source})` : ""}.`;
    return `${field.meaning ?? ""}${field.unit ? ` [${field.unit}]` : ""}.${defaultText} In a file: ${path}`;
}
