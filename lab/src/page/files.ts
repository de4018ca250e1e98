/** Files that the page saves. */
import type uPlot from "uplot";
import type { Columns } from "./protocol";

/** Makes the browser save a file. */
export function save(name: string, content: Blob): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Columns as CSV, with the names of `longpipe run --csv`; nan is an empty field. */
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

/** A picture as PNG, with the background of the page. */
export async function png(canvas: HTMLCanvasElement, paper: string): Promise<Blob> {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [canvas.width, canvas.height];
    const context = copy.getContext("2d");
    if (context === null) throw new Error("this browser draws no pictures");
    context.fillStyle = paper;
    context.fillRect(0, 0, copy.width, copy.height);
    context.drawImage(canvas, 0, 0);
    return new Promise((resolve, reject) =>
        copy.toBlob((blob) => (blob === null ? reject(new Error("the picture is too large")) : resolve(blob))),
    );
}

/** A picture as SVG: its lines and marks as paths, its axes as text. */
export function svg(plot: uPlot, marks: { time_s: ArrayLike<number>; sequence_bytes: ArrayLike<number>; scale: number; colour: string }[]): Blob {
    const [left, top, wide, high] = [70, 12, 820, 300];
    const [x, y] = [plot.scales["x"], plot.scales["y"]];
    const span = (scale: uPlot.Scale | undefined): [number, number] => [scale?.min ?? 0, scale?.max ?? 1];
    const [[x0, x1], [y0, y1]] = [span(x), span(y)];
    const atX = (value: number): string => (left + ((value - x0) / (x1 - x0)) * wide).toFixed(1);
    const atY = (value: number): string => (top + high - ((value - y0) / (y1 - y0)) * high).toFixed(1);
    const times = plot.data[0] as ArrayLike<number>;
    const parts: string[] = [];
    for (const value of ticks(x0, x1)) {
        parts.push(`<text x="${atX(value)}" y="${top + high + 18}" text-anchor="middle">${label(value)}</text>`);
    }
    for (const value of ticks(y0, y1)) {
        parts.push(`<path d="M${left} ${atY(value)}h${wide}" stroke="#ddd"/>`);
        parts.push(`<text x="${left - 8}" y="${atY(value)}" dy="4" text-anchor="end">${label(value)}</text>`);
    }
    for (const [i, series] of plot.series.entries()) {
        if (i === 0) continue;
        const stroke = typeof series.stroke === "function" ? series.stroke(plot, i) : series.stroke;
        const values = plot.data[i] as (number | null)[];
        let path = "";
        let begin = true;
        for (let k = 0; k < values.length; k++) {
            const [value, time] = [values[k], times[k] as number];
            if (value == null || time < x0 || time > x1) begin = true;
            else {
                path += `${begin ? "M" : "L"}${atX(time)} ${atY(value)}`;
                begin = false;
            }
        }
        parts.push(`<path d="${path}" fill="none" stroke="${String(stroke)}"><title>${escape(String(series.label))}</title></path>`);
    }
    for (const { time_s, sequence_bytes, scale, colour } of marks) {
        let path = "";
        for (let k = 0; k < time_s.length; k++) path += `M${atX(time_s[k] as number)} ${atY((sequence_bytes[k] as number) * scale)}h3`;
        parts.push(`<path d="${path}" stroke="${colour}" stroke-width="3"/>`);
    }
    const names = plot.axes.map((axis) => escape(String(axis.label)));
    parts.push(`<text x="${left + wide / 2}" y="${top + high + 38}" text-anchor="middle">${names[0]}</text>`);
    parts.push(`<text transform="translate(16 ${top + high / 2}) rotate(-90)" text-anchor="middle">${names[1]}</text>`);
    const key = plot.series.slice(1).map((series, i) => {
        const stroke = typeof series.stroke === "function" ? series.stroke(plot, i + 1) : series.stroke;
        const [column, row] = [i % 5, Math.floor(i / 5)];
        return `<text x="${left + column * 165}" y="${top + high + 60 + 16 * row}" fill="${String(stroke)}">${escape(String(series.label))}</text>`;
    });
    const size = `viewBox="0 0 ${left + wide + 20} ${top + high + 72 + 16 * Math.floor(key.length / 5)}"`;
    const style = 'font-family="sans-serif" font-size="12"';
    const text = `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${style}>${parts.join("")}${key.join("")}</svg>\n`;
    return new Blob([text], { type: "image/svg+xml" });
}

function ticks(low: number, high: number): number[] {
    const raw = (high - low) / 6 || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= raw) ?? raw;
    const found: number[] = [];
    for (let value = Math.ceil(low / step) * step; value <= high + step / 1e6; value += step) found.push(value);
    return found;
}

function label(value: number): string {
    return String(Number(value.toPrecision(6)));
}

function escape(text: string): string {
    return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
