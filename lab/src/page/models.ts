/** Contents of the charts: the lines and marks of each, computed from the data of a run. */
import type { Course, Reduction, FlowPicture, Marks, Picture, View } from "./protocol";
import { byteUnit, nondecreasingLine, peak, queueLine, rates, samples, spread, stepLine } from "./series";

/** A run to draw, and its progress [0, 1]. */
export interface Drawn {
    picture: Picture;
    view: View;
    progress: number;
    flowNames: string[];
    /** Name of each flow's TCP variant; null for datagram flows, which have no window and no ACKs. */
    tcpNames: (string | null)[];
    portNames: string[];
    counted: "cells" | "packets";
    /** Rate of each port [cells/s or full packets/s]. */
    portRates: number[];
    /** Maximum queue of each port; during a run the size of its buffer. */
    portPeaks: number[];
    /** Rate of the slowest link on each flow's route, and the sum over all such links [bit/s]; infinite if it varies. */
    flowRates: number[];
    totalRate: number;
    /** RTT samples of the flow whose segments are shown; null if they are not recorded. */
    rtt: Course | null;
    reductions: Reduction[];
}

/** A line of a chart. */
export interface Line {
    label: string;
    color: string;
    values: (number | null)[];
    dash?: number[];
    width?: number;
}

/** A chart: its lines over time, and points. */
export interface Chart {
    title: string;
    unit: string;
    lines: Line[];
    marks?: { marks: Marks; scale: number; color: string; shape: "cross" | "dot"; label: string }[];
}

/** Colors of lines, of a run for comparison, and of totals. */
export interface Palette {
    lines: string[];
    pinned: string;
    ink: string;
}

export const CHARTS = ["window", "queue", "rtt", "throughput", "sequence"] as const;
export type ChartName = (typeof CHARTS)[number];

/** Okabe and Ito's palette, as in longpipe.pictures: distinguishable with color vision deficiencies. */
export const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b37700", "#2d8fc4", "#b0548a", "#857a00", "#5a4fa2"];
export const DARK = ["#56b4e9", "#ff8b3d", "#2bc79b", "#e69f00", "#8fd0f5", "#e09abf", "#e0d145", "#a79df0"];
/** Colors of saved files, whose background is white. */
export const PRINTED: Palette = { lines: LIGHT, pinned: "#9aa1ad", ink: "#1d2430" };
/** Maximum number of flows in a chart. */
export const MAX_FLOWS = 8;
const MAX_PORTS = 3;

/** Returns all charts of a run, with another run in the background for comparison. */
export function chartsOf(now: Drawn, pinned: Drawn | null, sequence: number, palette: Palette): Record<ChartName, Chart> {
    const flows = shownFlows(now, sequence, palette.lines);
    return {
        window: windows(now, pinned, palette, flows),
        queue: queues(now, pinned, palette),
        rtt: roundTrips(now, pinned, palette),
        throughput: throughput(now, pinned, palette, flows),
        sequence: sequences(now, sequence, palette.lines),
    };
}

/** Returns the number of bins of the view that the run has reached. */
function reachedBins(drawn: Drawn): number {
    const { view, progress } = drawn;
    // During a run the whole run is visible, so the end of the view is that of the run.
    const binsInProgress = ((progress * view.to_s - view.from_s) / (view.to_s - view.from_s)) * view.bins;
    return progress >= 1 ? view.bins : binsInProgress - 1;
}

/** A flow that the charts show. */
interface ShownFlow {
    /** Index among all flows of the run. */
    index: number;
    flow: FlowPicture;
    name: string;
    overTcp: boolean;
    color: string;
}

/** Returns the first flows; the flow whose segments are shown replaces the last one if it is not among them. */
function shownFlows(now: Drawn, sequence: number, colors: string[]): ShownFlow[] {
    const indices = now.picture.flows.map((_, i) => i).slice(0, MAX_FLOWS);
    if (sequence >= MAX_FLOWS && now.picture.flows[sequence] !== undefined) indices[MAX_FLOWS - 1] = sequence;
    return indices.map((index, i) => ({
        index,
        flow: now.picture.flows[index] as FlowPicture,
        name: nameOf(now, index),
        overTcp: now.tcpNames[index] !== null,
        color: colors[i % colors.length] as string,
    }));
}

/**
 * Returns a flow's name, followed by that of its TCP variant if it is the only flow, or if the variants of the flows
 * differ.
 */
function nameOf(drawn: Drawn, index: number): string {
    const [name, tcp] = [drawn.flowNames[index] ?? "", drawn.tcpNames[index] ?? null];
    const variants = new Set(drawn.tcpNames.filter((variant) => variant !== null));
    return tcp !== null && (variants.size > 1 || drawn.flowNames.length === 1) ? `${name}, ${tcp}` : name;
}

/** Returns the name of a flow of the run for comparison, followed by that of its TCP variant, if any. */
function pinnedName(pinned: Drawn, index: number): string {
    return ["pinned " + (pinned.flowNames[index] ?? ""), pinned.tcpNames[index]].filter((part) => part != null).join(", ");
}

/** Returns the chart of congestion windows, with ssthresh if one flow is shown, and the first TCP flow of the run for comparison. */
function windows(now: Drawn, pinned: Drawn | null, palette: Palette, shown: ShownFlow[]): Chart {
    const flows = shown.filter((flow) => flow.overTcp);
    const maxWindow = Math.max(...flows.map(({ flow }) => peak(flow.cwnd_bytes)), 1);
    const [unit, scale] = byteUnit(maxWindow);
    const lines: Line[] = [];
    const pinnedIndex = pinned?.tcpNames.findIndex((variant) => variant !== null) ?? -1;
    const pinnedFlow = pinned?.picture.flows[pinnedIndex];
    if (pinned !== null && pinnedFlow !== undefined) {
        const values = stepLine(pinnedFlow.cwnd_bytes, scale, reachedBins(pinned));
        lines.push({ label: pinnedName(pinned, pinnedIndex), color: palette.pinned, values, width: 2 });
    }
    for (const { flow, name, color } of flows) {
        lines.push({ label: name, color, values: stepLine(flow.cwnd_bytes, scale, reachedBins(now)) });
    }
    const onlyFlow = flows.length === 1 ? flows[0] : undefined;
    if (onlyFlow !== undefined) {
        // An initial ssthresh far above the window would hide the window.
        const limit = 4 * maxWindow * scale;
        const values = stepLine(onlyFlow.flow.ssthresh_bytes, scale, reachedBins(now)).map((value) => (value !== null && value > limit ? null : value));
        const otherColor = palette.lines.find((color) => color !== onlyFlow.color) as string;
        lines.push({ label: "ssthresh", color: otherColor, values, dash: [6, 4] });
    }
    return { title: "cwnd", unit, lines };
}

/** Returns the chart of the longest queues, with the longest one of the run for comparison. */
function queues(now: Drawn, pinned: Drawn | null, palette: Palette): Chart {
    const lines: Line[] = [];
    const pinnedPort = pinned === null ? undefined : ports(pinned)[0];
    if (pinned !== null && pinnedPort !== undefined) {
        lines.push({ label: `pinned ${pinned.portNames[pinnedPort]}`, color: palette.pinned, values: queueLength(pinned, pinnedPort), width: 2 });
    }
    for (const [i, port] of ports(now).entries()) {
        lines.push({ label: now.portNames[port] ?? "", color: palette.lines[i] as string, values: queueLength(now, port) });
    }
    return { title: "queue", unit: now.counted, lines };
}

/** Returns the queue length of a port in each bin; between two records it falls at the rate of the port. */
function queueLength(drawn: Drawn, port: number): (number | null)[] {
    const course = drawn.picture.ports[port];
    const { from_s, to_s, bins } = drawn.view;
    const drainPerBin = ((drawn.portRates[port] ?? 0) * (to_s - from_s)) / bins;
    return course ? queueLine(course, drainPerBin, reachedBins(drawn), drawn.portPeaks[port] ?? 0) : [];
}

/** Returns the ports with the longest queues. */
function ports(drawn: Drawn): number[] {
    const peaks = drawn.picture.ports.map((course) => (course === null ? 0 : peak(course)));
    const order = peaks.map((_, i) => i).filter((i) => (peaks[i] as number) > 1);
    return order.sort((a, b) => (peaks[b] as number) - (peaks[a] as number)).slice(0, MAX_PORTS);
}

/** Returns the chart of RTT samples of the flow whose segments are shown. */
function roundTrips(now: Drawn, pinned: Drawn | null, palette: Palette): Chart {
    const lines: Line[] = [];
    if (pinned !== null && pinned.rtt !== null) {
        lines.push({ label: pinnedName(pinned, pinned.view.sequence), color: palette.pinned, values: samples(pinned.rtt, 1e3, reachedBins(pinned), pinned.view), width: 2 });
    }
    if (now.rtt !== null) {
        lines.push({ label: nameOf(now, now.view.sequence), color: palette.lines[0] as string, values: samples(now.rtt, 1e3, reachedBins(now), now.view) });
    }
    return { title: "RTT", unit: "ms", lines };
}

/** Returns the chart of the throughput of all flows together, and of each shown flow if there are several. */
function throughput(now: Drawn, pinned: Drawn | null, palette: Palette, shown: ShownFlow[]): Chart {
    const lines: Line[] = [];
    if (pinned !== null) {
        const values = arriving(pinned, pinned.picture.arrived_bytes, pinned.totalRate);
        lines.push({ label: "pinned, all flows", color: palette.pinned, values, width: 2 });
    }
    lines.push({ label: "all flows", color: palette.ink, values: arriving(now, now.picture.arrived_bytes, now.totalRate), width: 2 });
    for (const { flow, name, color, index } of shown) {
        if (shown.length === 1) break;
        lines.push({ label: name, color, values: arriving(now, flow.arrived_bytes, now.flowRates[index] as number) });
    }
    return { title: "throughput", unit: "Mbit/s", lines };
}

/** Returns the throughput [Mbit/s] of data that arrived over links whose rates add up to `rateBps`. */
function arriving(drawn: Drawn, bytes: Float64Array, rateBps: number): (number | null)[] {
    return rates(spread(bytes, rateBps, drawn.view), drawn.view, reachedBins(drawn));
}

/** Returns the chart of the sequence numbers of one flow. */
function sequences(now: Drawn, flow: number, colors: string[]): Chart {
    const { sent, acknowledged, resent, lost } = now.picture.sequence;
    const [unit, scale] = byteUnit(Math.max(peak(sent), 1));
    return {
        title: "sequence",
        unit,
        lines: [
            { label: `${now.flowNames[flow] ?? ""} sent`, color: colors[0] as string, values: nondecreasingLine(sent, scale, reachedBins(now)) },
            { label: now.tcpNames[flow] === null ? "arrived" : "acknowledged", color: colors[2] as string, values: nondecreasingLine(acknowledged, scale, reachedBins(now)) },
        ],
        marks: [
            { marks: resent, scale, color: colors[3] as string, shape: "dot", label: "retransmitted" },
            { marks: lost, scale, color: colors[1] as string, shape: "cross", label: "lost" },
        ],
    };
}
