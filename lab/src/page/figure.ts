/** Pictures as files: panels below each other with a common time axis, title and legend, as SVG and PNG. */
import type { Chart } from "./models";
import type { View } from "./protocol";
import { pointTimes } from "./series";

const [LEFT, WIDE, RIGHT] = [70, 820, 20];
const HEAD = 54;
const GAP = 14;
const ROW = 18;
const KEYS = 3;
/** Pixels of a PNG for each unit of the SVG. */
const SHARP = 2;

/** Title of a figure, above its panels. */
export interface Title {
    title: string;
    subtitle: string;
    /** What the pinned run is, if there is one. */
    pinned?: string | null;
}

/** Returns the panels as SVG, and the size of the figure. */
export function svgOf(charts: Chart[], view: View, { title, subtitle, pinned }: Title): { text: string; width: number; height: number } {
    const high = charts.length === 1 ? 300 : 170;
    const [x0, x1] = [view.from_s, view.to_s];
    const atX = (value: number): string => (LEFT + ((value - x0) / (x1 - x0)) * WIDE).toFixed(1);
    const times = pointTimes(view);
    const parts = [
        `<text x="${LEFT}" y="22" font-size="16" font-weight="bold">${escape(title)}</text>`,
        `<text x="${LEFT}" y="41" fill="#4c5566">${escape(subtitle)}</text>`,
    ];
    let top = HEAD;
    if (pinned && charts.some((chart) => chart.lines.some(({ label: name }) => name.startsWith("pinned")))) {
        parts.push(`<text x="${LEFT}" y="${HEAD + 4}" fill="#4c5566">${escape(pinned)}</text>`);
        top += ROW;
    }
    for (const [i, chart] of charts.entries()) {
        const last = i === charts.length - 1;
        parts.push(...panel(chart, { x0, x1, atX, times, top, high, last }));
        top += high + (last ? 54 : GAP);
        const keys = keysOf(chart, top);
        parts.push(...keys.parts);
        top += keys.height + GAP;
    }
    const [width, height] = [LEFT + WIDE + RIGHT, top];
    const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
    const body = `<rect width="${width}" height="${height}" fill="#fff"/>${parts.join("")}`;
    const text = `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12" fill="#1d2430">${body}</svg>\n`;
    return { text, width, height };
}

interface Frame {
    x0: number;
    x1: number;
    atX(value: number): string;
    times: Float64Array;
    top: number;
    high: number;
    last: boolean;
}

function panel(chart: Chart, { x0, x1, atX, times, top, high, last }: Frame): string[] {
    const maximum = 1.05 * (chart.lines.reduce((all, line) => line.values.reduce<number>((peak, value) => Math.max(peak, value ?? 0), all), 0) || 1);
    const atY = (value: number): string => (top + high - (value / maximum) * high).toFixed(1);
    const parts: string[] = [];
    for (const value of ticks(x0, x1)) {
        parts.push(`<path d="M${atX(value)} ${top}v${high}" stroke="#eee"/>`);
        if (last) parts.push(`<text x="${atX(value)}" y="${top + high + 16}" text-anchor="middle">${label(value)}</text>`);
    }
    for (const value of ticks(0, maximum)) {
        parts.push(`<path d="M${LEFT} ${atY(value)}h${WIDE}" stroke="#ddd"/>`);
        parts.push(`<text x="${LEFT - 8}" y="${atY(value)}" dy="4" text-anchor="end">${label(value)}</text>`);
    }
    for (const line of chart.lines) {
        let [path, begin] = ["", true];
        for (let k = 0; k < line.values.length; k++) {
            const value = line.values[k];
            if (value == null) begin = true;
            else {
                path += `${begin ? "M" : "L"}${atX(times[k] as number)} ${atY(value)}`;
                begin = false;
            }
        }
        const dash = line.dash === undefined ? "" : ` stroke-dasharray="${line.dash.join(" ")}"`;
        parts.push(`<path d="${path}" fill="none" stroke="${line.color}" stroke-width="${line.width ?? 1.2}"${dash}><title>${escape(line.label)}</title></path>`);
    }
    for (const { marks, scale, color, shape } of chart.marks ?? []) {
        let path = "";
        for (let k = 0; k < marks.time_s.length; k++) {
            const [x, y] = [Number(atX(marks.time_s[k] as number)), Number(atY((marks.sequence_bytes[k] as number) * scale))];
            path += shape === "dot" ? `M${x - 1.5} ${y}h3` : `M${x - 3} ${y - 3}l6 6m0 -6l-6 6`;
        }
        parts.push(`<path d="${path}" fill="none" stroke="${color}" stroke-width="${shape === "dot" ? 3 : 1.5}"/>`);
    }
    const middle = top + high / 2;
    parts.push(`<text transform="translate(16 ${middle}) rotate(-90)" text-anchor="middle">${escape(`${chart.title} [${chart.unit}]`)}</text>`);
    if (last) parts.push(`<text x="${LEFT + WIDE / 2}" y="${top + high + 34}" text-anchor="middle">time [s]</text>`);
    return parts;
}

/** Returns the legend of a panel, which is drawn below it. */
function keysOf(chart: Chart, top: number): { parts: string[]; height: number } {
    const lines = chart.lines.map((line) => ({ label: line.label, color: line.color, sign: `h18` }));
    const marks = (chart.marks ?? []).map(({ label, color, shape }) => ({ label, color, sign: shape === "dot" ? "m8 0h3" : "m6 -3l6 6m0 -6l-6 6" }));
    const parts = [...lines, ...marks].map(({ label, color, sign }, i) => {
        const [x, y] = [LEFT + ((i % KEYS) * WIDE) / KEYS, top + ROW * Math.floor(i / KEYS)];
        return `<path d="M${x} ${y - 4}${sign}" stroke="${color}" stroke-width="${sign === "h18" ? 3 : sign.startsWith("m8") ? 4 : 2}" fill="none"/><text x="${x + 24}" y="${y}">${escape(label)}</text>`;
    });
    return { parts, height: ROW * Math.ceil(parts.length / KEYS) };
}

/** Returns an SVG as a PNG of twice its size. */
export async function pngOf({ text, width, height }: { text: string; width: number; height: number }): Promise<Blob> {
    const image = new Image();
    const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    try {
        image.src = url;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [SHARP * width, SHARP * height];
        canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
        return await new Promise((resolve, reject) =>
            canvas.toBlob((blob) => (blob === null ? reject(new Error("the picture is too large")) : resolve(blob))),
        );
    } finally {
        URL.revokeObjectURL(url);
    }
}

function ticks(low: number, high: number): number[] {
    const raw = (high - low) / 6 || 1;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((factor) => factor >= raw) ?? raw;
    const ticks: number[] = [];
    for (let value = Math.ceil(low / step) * step; value <= high + step / 1e6; value += step) ticks.push(value);
    return ticks;
}

function label(value: number): string {
    return String(Number(value.toPrecision(6)));
}

function escape(text: string): string {
    return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
