/** The pictures on the page: window, queue, RTT, throughput and sequence numbers, over one zoomable time axis. */
import uPlot from "uplot";
import { CHARTS, type Chart, type ChartName, DARK, type Drawn, LIGHT, PRINTED, type Palette, chartsOf } from "./models";
import type { View } from "./protocol";
import { pointTimes } from "./series";

/** Width of the value axes [pixel], equal for all charts so that equal times are aligned vertically. */
const AXIS = 72;
/** Maximum horizontal movement of a press that counts as a click [pixel]. */
const STILL = 4;

/**
 * Creates the pictures in elements; calls `zoomed` with the selected time span [s], and `clicked` with the time of a
 * click in the window chart [s].
 */
export class Charts {
    private readonly plots = new Map<ChartName, { plot: uPlot; signature: string }>();
    private latest: { now: Drawn; pinned: Drawn | null; sequence: number } | null = null;
    private readonly sync = uPlot.sync("time");

    constructor(
        private readonly places: Record<ChartName, HTMLElement>,
        private readonly zoomed: (from: number, to: number) => void,
        private readonly clicked: (at: number) => void,
    ) {
        new ResizeObserver(() => this.resize()).observe(places.window);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    }

    /** Draws a run, and another one in the background for comparison. */
    draw(now: Drawn, pinned: Drawn | null, sequence: number): void {
        this.latest = { now, pinned, sequence };
        const dark = color("--dark").trim() === "1";
        const palette: Palette = { lines: dark ? DARK : LIGHT, pinned: color("--pinned"), ink: color("--ink") };
        const charts = chartsOf(now, pinned, sequence, palette);
        for (const name of CHARTS) {
            // RTTs are known only at the end of a run; until then, those of the previous run are shown.
            if (name !== "rtt" || now.progress >= 1 || !this.plots.has(name)) this.put(name, charts[name], now.view);
        }
    }

    /**
     * The pictures for a file, on a white background, and the span of time that they show; null before the first run.
     */
    printed(): { charts: Record<ChartName, Chart>; view: View } | null {
        if (this.latest === null) return null;
        const { now, pinned, sequence } = this.latest;
        return { charts: chartsOf(now, pinned, sequence, PRINTED), view: now.view };
    }

    /** Redraws with the current colors. */
    redraw(): void {
        for (const { plot } of this.plots.values()) plot.destroy();
        this.plots.clear();
        if (this.latest !== null) this.draw(this.latest.now, this.latest.pinned, this.latest.sequence);
    }

    /** Updates a chart's data, or creates the chart if its lines, colors or unit have changed. */
    private put(name: ChartName, chart: Chart, view: View): void {
        const data: uPlot.AlignedData = [pointTimes(view), ...chart.lines.map((line) => line.values)];
        const marks = (chart.marks ?? []).map((mark) => `${mark.label}${mark.scale}`);
        const signature = JSON.stringify([chart.title, chart.unit, chart.lines.map((line) => [line.label, line.color]), marks]);
        const existing = this.plots.get(name);
        const place = this.places[name];
        describe(place, chart);
        if (existing?.signature === signature) {
            (existing.plot as Marked).marks = chart.marks ?? [];
            existing.plot.setData(data);
            return;
        }
        existing?.plot.destroy();
        place.replaceChildren();
        const plot = new uPlot(this.options(name, chart, width(place)), data, place);
        if (name === "window") this.listen(plot);
        (plot as Marked).marks = chart.marks ?? [];
        plot.redraw();
        this.plots.set(name, { plot, signature });
    }

    private span(): [number, number] {
        const { from_s, to_s } = this.latest?.now.view ?? { from_s: 0, to_s: 1 };
        return [from_s, to_s];
    }

    private options(name: ChartName, chart: Chart, size: number): uPlot.Options {
        const [ink, grid] = [color("--ink"), color("--grid")];
        const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
        return {
            width: size,
            height: heightOf(size),
            cursor: { sync: { key: this.sync.key }, drag: { x: true, y: false, setScale: false } },
            legend: { live: true },
            scales: { x: { time: false, range: () => this.span() }, y: { range: (_, __, highest) => [0, (highest || 1) * 1.05] } },
            axes: [
                { ...axis, size: 34, ...(name === CHARTS.at(-1) ? { label: "time [s]", labelSize: 18 } : {}) },
                { ...axis, label: `${chart.title} [${chart.unit}]`, labelSize: 18, size: AXIS },
            ],
            series: [
                { label: "time", value: (_, value) => (value == null ? "–" : `${value.toFixed(3)} s`) },
                ...chart.lines.map((line) => ({
                    label: line.label,
                    stroke: line.color,
                    // Browsers take ten times as long to draw lines that are wider than a pixel.
                    width: line.width ?? 1,
                    points: { show: false },
                    value: (_: uPlot, value: number | null) => (value == null ? "–" : String(Number(value.toPrecision(5)))),
                    ...(line.dash === undefined ? {} : { dash: line.dash }),
                })),
            ],
            hooks: { setSelect: [(plot) => this.select(plot)], draw: [drawMarks] },
        };
    }

    /** Zooms to the selected time span. */
    private select(plot: uPlot): void {
        const { left, width: selected } = plot.select;
        if (selected < STILL) return;
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        this.zoomed(plot.posToVal(left, "x"), plot.posToVal(left + selected, "x"));
    }

    /** Reports clicks that do not select a span. */
    private listen(plot: uPlot): void {
        let pressed = 0;
        plot.over.addEventListener("pointerdown", (event) => (pressed = event.clientX));
        plot.over.addEventListener("click", (event) => {
            if (Math.abs(event.clientX - pressed) < STILL) this.clicked(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
        });
    }

    private resize(): void {
        for (const [name, { plot }] of this.plots) {
            const size = width(this.places[name]);
            if (Math.abs(size - plot.width) > 1) plot.setSize({ width: size, height: heightOf(size) });
        }
    }
}

function heightOf(size: number): number {
    return size < 500 ? 170 : 200;
}

/** A plot with marks, which `drawMarks` draws over its lines. */
type Marked = uPlot & { marks?: NonNullable<Chart["marks"]> };

function width(place: HTMLElement): number {
    return Math.max(240, place.clientWidth);
}

/** A color of the page, which depends on the light or dark theme. */
export function color(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name);
}

/** Draws the marks of a plot: dots, or crosses. */
function drawMarks(plot: uPlot): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const size = 3 * devicePixelRatio;
    for (const { marks, scale, color: ink, shape } of (plot as Marked).marks ?? []) {
        ctx.beginPath();
        let [lastX, lastY] = [-9, -9];
        for (let i = 0; i < marks.time_s.length; i++) {
            const x = plot.valToPos(marks.time_s[i] as number, "x", true);
            const y = plot.valToPos((marks.sequence_bytes[i] as number) * scale, "y", true);
            // Identical marks are drawn once.
            if (Math.abs(x - lastX) < 1 && Math.abs(y - lastY) < 1) continue;
            [lastX, lastY] = [x, y];
            if (shape === "dot") ctx.rect(x - size / 2, y - size / 2, size, size);
            else {
                ctx.moveTo(x - size, y - size);
                ctx.lineTo(x + size, y + size);
                ctx.moveTo(x - size, y + size);
                ctx.lineTo(x + size, y - size);
            }
        }
        ctx.lineWidth = 1.5 * devicePixelRatio;
        ctx[shape === "dot" ? "fillStyle" : "strokeStyle"] = ink;
        if (shape === "dot") ctx.fill();
        else ctx.stroke();
    }
    ctx.restore();
}

/** Text alternative of a picture. */
function describe(place: HTMLElement, chart: Chart): void {
    const marks = (chart.marks ?? []).map(({ marks: { time_s }, label }) => `${time_s.length} ${label}`);
    const lines = chart.lines.map((line) => line.label).join(", ");
    const highest = chart.lines.reduce((high, line) => line.values.reduce<number>((max, value) => Math.max(max, value ?? 0), high), 0);
    const words = `${chart.title} [${chart.unit}] over time, up to ${Number(highest.toPrecision(4))}`;
    place.setAttribute("aria-label", `${words}: ${[lines, ...marks].join(", ")}`);
}
