/** Small helpers for the page's elements. */

/** Returns the element with this id, which exists. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
    const element = document.getElementById(id);
    if (element === null) throw new Error(`no element ${id}`);
    return element as T;
}

/** Creates an element with properties and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    properties: Partial<HTMLElementTagNameMap[K]> & { data?: Record<string, string> } = {},
    ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
    const { data, ...own } = properties;
    const element = Object.assign(document.createElement(tag), own);
    Object.assign(element.dataset, data);
    element.append(...children);
    return element;
}

/**
 * Shows an applied value in a text field. `defaultValue` keeps this value, so that a text that was edited and not applied
 * differs from it.
 */
export function fill(input: HTMLInputElement | HTMLTextAreaElement, text: string): void {
    if (input.value !== text) input.value = text;
    input.defaultValue = text;
}

/** Returns whether an element is a text field with a text that was edited and not applied. */
export function isEdited(target: unknown): boolean {
    const writes = target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type !== "range");
    return writes && target.value !== target.defaultValue;
}

/** Creates a table of text; the first column names the rows. */
export function table(head: (Node | string)[], rows: (Node | string)[][], className = ""): HTMLTableElement {
    const top = make("tr", {}, ...head.map((cell) => make("th", { scope: "col" }, cell)));
    const body = rows.map((row) =>
        make("tr", {}, ...row.map((cell, i) => (i === 0 ? make("th", { scope: "row" }, cell) : toCell(cell)))),
    );
    return make("table", { className }, make("thead", {}, top), make("tbody", {}, ...body));
}

function toCell(cell: Node | string): Node {
    return cell instanceof HTMLTableCellElement ? cell : make("td", {}, cell);
}
