/** The four pictures: window, queue, throughput and sequence numbers, with a common, zoomable time axis. */
import uPlot from "uplot";
import type { FlowPicture, Marks, Picture, View } from "./protocol";
import { byteUnit, growing, instants, line, peak, queueLine, rates } from "./series";

/** A run to draw, and its progress [0, 1]. */
export interface Drawn {
    picture: Picture;
    view: View;
    progress: number;
    flowNames: string[];
    /** Which flows use TCP, with windows and ACKs; others are datagrams. */
    overTcp: boolean[];
    portNames: string[];
    counted: "cells" | "packets";
    /** Rate of each port [cells/s or full packets/s]. */
    portRates: number[];
}

interface Line {
    label: string;
    colour: string;
    values: (number | null)[];
    dash?: number[];
    width?: number;
}

interface Chart {
    title: string;
    unit: string;
    lines: Line[];
    marks?: { marks: Marks; scale: number; colour: string; shape: "cross" | "dot"; label: string }[];
}

/** Okabe and Ito's palette, as in longpipe.pictures: distinguishable with colour vision deficiencies. */
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b37700", "#2d8fc4", "#b0548a", "#857a00", "#5a4fa2"];
const DARK = ["#56b4e9", "#ff8b3d", "#2bc79b", "#e69f00", "#8fd0f5", "#e09abf", "#e0d145", "#a79df0"];
const MOST_FLOWS = 8;
const MOST_PORTS = 3;
export const CHARTS = ["window", "queue", "throughput", "sequence"] as const;
export type ChartName = (typeof CHARTS)[number];

/** Creates the pictures in an element; calls `zoomed` with a dragged time span [s]. */
export class Charts {
    private readonly plots = new Map<ChartName, { plot: uPlot; signature: string }>();
    private latest: { now: Drawn; pinned: Drawn | null; sequence: number } | null = null;
    private readonly sync = uPlot.sync("time");

    constructor(
        private readonly places: Record<ChartName, HTMLElement>,
        private readonly zoomed: (from: number, to: number) => void,
    ) {
        new ResizeObserver(() => this.resize()).observe(places.window);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    }

    /** Draws a run, and another one behind it for comparison. */
    draw(now: Drawn, pinned: Drawn | null, sequence: number): void {
        this.latest = { now, pinned, sequence };
        const colours = colour("--dark").trim() === "1" ? DARK : LIGHT;
        const flows = shownFlows(now, sequence, colours);
        this.put("window", windows(now, pinned, colours, flows), now.view);
        this.put("queue", queues(now, pinned, colours), now.view);
        this.put("throughput", throughput(now, pinned, flows), now.view);
        this.put("sequence", sequences(now, sequence, colours), now.view);
    }

    /** Redraws with the current colours. */
    redraw(): void {
        for (const { plot } of this.plots.values()) plot.destroy();
        this.plots.clear();
        if (this.latest !== null) this.draw(this.latest.now, this.latest.pinned, this.latest.sequence);
    }

    /** The pixels of a picture. */
    canvas(name: ChartName): HTMLCanvasElement | null {
        return this.plots.get(name)?.plot.ctx.canvas ?? null;
    }

    /** The data of a picture, for other formats. */
    shown(name: ChartName): uPlot | null {
        return this.plots.get(name)?.plot ?? null;
    }

    /** Marks of a picture: losses and retransmissions. */
    marks(name: ChartName): { time_s: Float64Array; sequence_bytes: Float64Array; scale: number; colour: string }[] {
        const marks = (this.plots.get(name)?.plot as Marked | undefined)?.marks ?? [];
        return marks.map((one) => ({ ...one.marks, scale: one.scale, colour: one.colour }));
    }

    private put(name: ChartName, chart: Chart, view: View): void {
        const data: uPlot.AlignedData = [instants(view), ...chart.lines.map((one) => one.values)];
        const marks = (chart.marks ?? []).map((one) => `${one.label}${one.scale}`);
        const signature = JSON.stringify([chart.title, chart.unit, chart.lines.map((one) => [one.label, one.colour]), marks]);
        const known = this.plots.get(name);
        const place = this.places[name];
        describe(place, chart);
        if (known?.signature === signature) {
            (known.plot as Marked).marks = chart.marks ?? [];
            known.plot.setData(data);
            return;
        }
        known?.plot.destroy();
        place.replaceChildren();
        const plot = new uPlot(this.options(chart, width(place)), data, place);
        (plot as Marked).marks = chart.marks ?? [];
        plot.redraw();
        this.plots.set(name, { plot, signature });
    }

    private span(): [number, number] {
        const { from_s, to_s } = this.latest?.now.view ?? { from_s: 0, to_s: 1 };
        return [from_s, to_s];
    }

    private options(chart: Chart, size: number): uPlot.Options {
        const [ink, grid] = [colour("--ink"), colour("--grid")];
        const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
        return {
            width: size,
            height: size < 500 ? 190 : 220,
            cursor: { sync: { key: this.sync.key }, drag: { x: true, y: false, setScale: false } },
            legend: { live: true },
            scales: { x: { time: false, range: () => this.span() }, y: { range: (_, __, most) => [0, (most || 1) * 1.05] } },
            axes: [
                { ...axis, label: "time [s]", labelSize: 18, size: 34 },
                { ...axis, label: `${chart.title} [${chart.unit}]`, labelSize: 18, size: widest },
            ],
            series: [
                { label: "time", value: (_, value) => (value == null ? "–" : `${value.toFixed(3)} s`) },
                ...chart.lines.map((one) => ({
                    label: one.label,
                    stroke: one.colour,
                    // Browsers take ten times as long for lines wider than a pixel.
                    width: one.width ?? 1,
                    points: { show: false },
                    value: (_: uPlot, value: number | null) => (value == null ? "–" : String(Number(value.toPrecision(5)))),
                    ...(one.dash === undefined ? {} : { dash: one.dash }),
                })),
            ],
            hooks: { setSelect: [(plot) => this.select(plot)], draw: [drawMarks] },
        };
    }

    private select(plot: uPlot): void {
        const { left, width: wide } = plot.select;
        if (wide < 4) return;
        plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        this.zoomed(plot.posToVal(left, "x"), plot.posToVal(left + wide, "x"));
    }

    private resize(): void {
        for (const [name, { plot }] of this.plots) {
            const size = width(this.places[name]);
            if (Math.abs(size - plot.width) > 1) plot.setSize({ width: size, height: size < 500 ? 190 : 220 });
        }
    }
}

/** Width of the labels of an axis [pixel]. */
function widest(_: uPlot, values: string[] | null): number {
    return 22 + 7 * (values ?? []).reduce((most, one) => Math.max(most, one.length), 5);
}

type Marked = uPlot & { marks?: NonNullable<Chart["marks"]> };

function width(place: HTMLElement): number {
    return Math.max(240, place.clientWidth);
}

/** A colour of the page, which depends on the light or dark theme. */
export function colour(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name);
}

function until(drawn: Drawn, duration: number): number {
    const { view, progress } = drawn;
    const reached = ((progress * duration - view.from_s) / (view.to_s - view.from_s)) * view.bins;
    return progress >= 1 ? view.bins : reached - 1;
}

function reached(drawn: Drawn): number {
    // During a run the whole run is visible, so the end of the view is that of the run.
    return until(drawn, drawn.view.to_s);
}

interface ShownFlow {
    flow: FlowPicture;
    name: string;
    overTcp: boolean;
    colour: string;
}

/** The first flows; the flow whose segments are shown replaces the last one if it is not among them. */
function shownFlows(now: Drawn, sequence: number, colours: string[]): ShownFlow[] {
    const places = now.picture.flows.map((_, i) => i).slice(0, MOST_FLOWS);
    if (sequence >= MOST_FLOWS && now.picture.flows[sequence] !== undefined) places[MOST_FLOWS - 1] = sequence;
    return places.map((place, i) => ({
        flow: now.picture.flows[place] as FlowPicture,
        name: now.flowNames[place] ?? "",
        overTcp: now.overTcp[place] ?? true,
        colour: colours[i % colours.length] as string,
    }));
}

function windows(now: Drawn, pinned: Drawn | null, colours: string[], shown: ShownFlow[]): Chart {
    const flows = shown.filter((one) => one.overTcp);
    const most = Math.max(...flows.map(({ flow }) => peak(flow.cwnd_bytes)), 1);
    const [unit, scale] = byteUnit(most);
    const lines: Line[] = [];
    const first = pinned?.overTcp.indexOf(true) ?? -1;
    const behind = pinned?.picture.flows[first];
    if (pinned !== null && behind !== undefined) {
        const values = line(behind.cwnd_bytes, scale, reached(pinned));
        lines.push({ label: `pinned ${pinned.flowNames[first]}`, colour: colour("--pinned"), values, width: 2 });
    }
    for (const { flow, name, colour: own } of flows) {
        lines.push({ label: name, colour: own, values: line(flow.cwnd_bytes, scale, reached(now)) });
    }
    const only = flows[0]?.flow;
    if (only !== undefined && flows.length === 1) {
        const values = line(only.ssthresh_bytes, scale, reached(now)).map((one) => (one !== null && one > 4 * most * scale ? null : one));
        const other = colours.find((one) => one !== flows[0]?.colour) as string;
        lines.push({ label: "ssthresh", colour: other, values, dash: [6, 4] });
    }
    return { title: "cwnd", unit, lines };
}

function queues(now: Drawn, pinned: Drawn | null, colours: string[]): Chart {
    const busiest = ports(now);
    const lines: Line[] = [];
    const behind = pinned === null ? undefined : ports(pinned)[0];
    if (pinned !== null && behind !== undefined) {
        const values = heldAt(pinned, behind);
        lines.push({ label: `pinned ${pinned.portNames[behind]}`, colour: colour("--pinned"), values, width: 2 });
    }
    for (const [i, port] of busiest.entries()) {
        lines.push({ label: now.portNames[port] ?? "", colour: colours[i] as string, values: heldAt(now, port) });
    }
    return { title: "queue", unit: now.counted, lines };
}

function heldAt(drawn: Drawn, port: number): (number | null)[] {
    const course = drawn.picture.ports[port];
    const { from_s, to_s, bins } = drawn.view;
    const drain = ((drawn.portRates[port] ?? 0) * (to_s - from_s)) / bins;
    return course ? queueLine(course, drain, reached(drawn)) : [];
}

/** Ports with the longest queues. */
function ports(drawn: Drawn): number[] {
    const peaks = drawn.picture.ports.map((course) => (course === null ? 0 : peak(course)));
    const order = peaks.map((_, i) => i).filter((i) => (peaks[i] as number) > 1);
    return order.sort((a, b) => (peaks[b] as number) - (peaks[a] as number)).slice(0, MOST_PORTS);
}

function throughput(now: Drawn, pinned: Drawn | null, shown: ShownFlow[]): Chart {
    const lines: Line[] = [];
    if (pinned !== null) {
        const values = rates(pinned.picture.arrived_bytes, pinned.view, reached(pinned));
        lines.push({ label: "pinned, all flows", colour: colour("--pinned"), values, width: 2 });
    }
    lines.push({ label: "all flows", colour: colour("--ink"), values: rates(now.picture.arrived_bytes, now.view, reached(now)), width: 2 });
    for (const { flow, name, colour: own } of shown) {
        if (shown.length === 1) break;
        lines.push({ label: name, colour: own, values: rates(flow.arrived_bytes, now.view, reached(now)) });
    }
    return { title: "throughput", unit: "Mbit/s", lines };
}

function sequences(now: Drawn, flow: number, colours: string[]): Chart {
    const { sent, acknowledged, resent, lost } = now.picture.sequence;
    const [unit, scale] = byteUnit(Math.max(peak(sent), 1));
    const name = now.flowNames[flow] ?? "";
    return {
        title: "sequence",
        unit,
        lines: [
            { label: `${name} sent`, colour: colours[0] as string, values: growing(sent, scale, reached(now)) },
            { label: now.overTcp[flow] === false ? "arrived" : "acknowledged", colour: colours[2] as string, values: growing(acknowledged, scale, reached(now)) },
        ],
        marks: [
            { marks: resent, scale, colour: colours[3] as string, shape: "dot", label: "retransmitted" },
            { marks: lost, scale, colour: colours[1] as string, shape: "cross", label: "lost" },
        ],
    };
}

function drawMarks(plot: uPlot): void {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const size = 3 * devicePixelRatio;
    for (const { marks, scale, colour: ink, shape } of (plot as Marked).marks ?? []) {
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
    const lines = chart.lines.map((one) => one.label).join(", ");
    const most = chart.lines.reduce((high, one) => one.values.reduce<number>((all, value) => Math.max(all, value ?? 0), high), 0);
    const words = `${chart.title} [${chart.unit}] over time, up to ${Number(most.toPrecision(4))}`;
    place.setAttribute("aria-label", `${words}: ${[lines, ...marks].join(", ")}`);
}
