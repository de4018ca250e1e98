/** Files that the page saves. */
import type { Columns } from "./protocol";

/** Makes the browser save a file. */
export function save(name: string, content: Blob): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Returns columns as CSV, with the names of `longpipe run --csv`; nan is an empty field. */
export function csv(columns: Columns): Blob {
    const names = Object.keys(columns);
    const rows = Array.from({ length: columns[names[0] ?? ""]?.length ?? 0 }, (_, i) =>
        names.map((name) => cell(columns[name]?.[i])).join(","),
    );
    return new Blob([`${[names.join(","), ...rows].join("\n")}\n`], { type: "text/csv" });
}

function cell(value: string | number | undefined): string {
    if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
    return value === undefined ? "" : /[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
