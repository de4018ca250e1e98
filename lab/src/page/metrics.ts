/** Metrics of a run, as defined in ATM Forum/96-1761 section 3.2 and in longpipe.metrics.atm_forum. */
import type { JsonTable } from "../scenario/json";
import { valueOf } from "../scenario/part";
import type { Resolved } from "../scenario/resolve";
import { TIME } from "../scenario/units";
import { attainableBps, trunkBps } from "./efficiency";
import type { Counted } from "./protocol";
import { fairness, routesOf, trunksOf } from "./shares";

/** A metric that the page shows; nan if it is undefined. */
export interface Metric {
    id: string;
    label: string;
    unit: string;
    tip: string;
    show(value: number): string;
    /** Whether the page shows the metric only for runs in which it is defined. */
    isOptional?: boolean;
}

const fixed = (digits: number) => (value: number) => (Number.isNaN(value) ? "–" : value.toFixed(digits));
const percent = (digits: number) => (value: number) => (Number.isNaN(value) ? "–" : `${(100 * value).toFixed(digits)} %`);
const whole = (value: number): string => (Number.isNaN(value) ? "–" : Math.round(value).toLocaleString("en"));

export const METRICS: Metric[] = [
    { id: "throughput", label: "throughput", unit: "Mbit/s", tip: "Data that all flows delivered to applications per second, over the whole run.", show: fixed(3) },
    { id: "efficiency", label: "efficiency", unit: "", tip: "Payload delivered over the trunk, divided by the maximum payload that the trunk could carry: 0 to 1. If data are sent in both directions, from switch1 to switch2.", show: fixed(4) },
    { id: "efficiency_back", label: "efficiency back", unit: "", tip: "Efficiency from switch2 to switch1: payload delivered over the trunk in this direction, divided by the maximum that it could carry.", show: fixed(4), isOptional: true },
    { id: "fairness", label: "fairness", unit: "", tip: "Jain's index of the throughputs: 1 if all n are equal, 1/n if one flow has everything. If flows have different amounts of data to send, each throughput is first divided by its max-min fair share.", show: fixed(4) },
    { id: "loss", label: "bottleneck loss", unit: "", tip: "Loss rate at the bottleneck, the switch port that lost most: the share of the cells or packets arriving there that were lost, in its buffer or on its link.", show: percent(2) },
    { id: "resent", label: "resent", unit: "", tip: "Share of the transmitted segments that were retransmissions.", show: percent(2) },
    { id: "timeouts", label: "timeouts", unit: "", tip: "Number of expirations of retransmission timers (RTO), over all flows.", show: whole },
    { id: "fast_retransmits", label: "fast retransmits", unit: "", tip: "Number of recoveries started by duplicate ACKs instead of a timeout, over all flows.", show: whole },
    { id: "peak_queue", label: "peak queue", unit: "", tip: "Maximum queue length of any switch port, in cells or packets.", show: whole },
    { id: "mean_queue", label: "mean queue", unit: "", tip: "Time average of the queue of the port with the longest mean queue, in cells or packets.", show: fixed(1) },
    { id: "utilization", label: "busiest port", unit: "", tip: "Share of the time in which the busiest switch port was sending.", show: percent(1) },
];

export type Numbers = Record<string, number>;

/** The simulated time [s]. */
export function durationS(resolved: Resolved): number {
    return Number(TIME.parse(String(valueOf(resolved.scenario, "duration")))) / 1e12;
}

/** Returns the unit of the counters of ports: cells or packets. */
export function counted(resolved: Resolved): "cells" | "packets" {
    return valueOf(resolved.scenario, "framing") === "ip" ? "packets" : "cells";
}

/** Throughput of each flow [bit/s]. */
export function throughputs(resolved: Resolved, run: Counted): number[] {
    const duration = durationS(resolved);
    return numbers(run, "flows", "delivered_bytes").map((bytes) => (bytes * 8) / duration);
}

/** Returns all metrics of a run by their ids. */
export function metricsOf(resolved: Resolved, run: Counted): Numbers {
    const unit = counted(resolved);
    const rates = throughputs(resolved, run);
    const trunks = varies(resolved.core) ? [] : trunksOf(resolved.core);
    const trunkRates = trunks.map((trunk) => trunkBps(resolved.core, trunk, run, durationS(resolved)));
    const [efficiency, back] = trunks.map((trunk, i) => {
        const ratesOverTrunk = rates.filter((_, flow) => routesOf(resolved.core)[flow]?.includes(trunk));
        return sum(ratesOverTrunk) / attainableBps(resolved.core, trunk, run, trunkRates[i] as number, durationS(resolved));
    });
    const kinds = run.ports["kind"] as string[];
    const ofSwitches = (name: string): number[] => numbers(run, "ports", name).filter((_, i) => kinds[i] === "switch");
    const lost = Object.keys(run.ports).filter((name) => name.startsWith(`${unit}_lost_`));
    const total = sum(rates);
    return {
        throughput: total / 1e6,
        efficiency: efficiency ?? Number.NaN,
        efficiency_back: back ?? Number.NaN,
        fairness: fairness(resolved.core, rates, { written: writtenOf(run), durationS: durationS(resolved), trunkBps: trunkRates[0] ?? null }),
        loss: bottleneckLoss(lost.map(ofSwitches), ofSwitches(`${unit}_in`)),
        resent: sum(numbers(run, "flows", "retransmitted_segments")) / sum(numbers(run, "flows", "sent_segments")),
        timeouts: sum(numbers(run, "flows", "timeouts")),
        fast_retransmits: sum(numbers(run, "flows", "fast_retransmits")),
        peak_queue: maximum(ofSwitches(`peak_queue_${unit}`)),
        mean_queue: maximum(ofSwitches(`mean_queue_${unit}`)),
        utilization: maximum(ofSwitches("utilization")),
    };
}

/** Returns the metrics that the page shows for runs with these numbers. */
export function shownMetrics(runs: Numbers[]): Metric[] {
    return METRICS.filter(({ id, isOptional }) => isOptional !== true || runs.some((run) => !Number.isNaN(run[id])));
}

/** Returns the loss rate of the port that lost most, as in the first row of `longpipe run`'s table of ports. */
function bottleneckLoss(causes: number[][], arrived: number[]): number {
    const lost = arrived.map((_, port) => sum(causes.map((cause) => cause[port] as number)));
    const port = lost.indexOf(Math.max(...lost));
    return sum(arrived) > 0 && lost[port] === 0 ? 0 : (lost[port] as number) / (arrived[port] as number);
}

/** Returns whether a link's capacity varies; the page then computes no efficiency. */
function varies(core: JsonTable): boolean {
    return (core["links"] as JsonTable[]).some((link) => "motion" in link);
}

/** A column of numbers. */
export function numbers(run: Counted, table: "flows" | "ports" | "streams" | "web", name: string): number[] {
    return Array.from((run[table][name] ?? []) as ArrayLike<number>);
}

function sum(values: number[]): number {
    return values.reduce((total, value) => total + value, 0);
}

/** Returns the largest number, at least 0; NaN values are left out. */
function maximum(values: number[]): number {
    return values.filter((value) => !Number.isNaN(value)).reduce((largest, value) => Math.max(largest, value), 0);
}

/** Returns the bytes that web servers and applications with a rate wrote, by flow, as in longpipe.verdicts.demands. */
function writtenOf(run: Counted): Map<string, number> {
    const tables = [["web", "scheduled_bytes"], ["streams", "written_bytes"]] as const;
    return new Map(
        tables.flatMap(([table, counter]) => {
            const written = numbers(run, table, counter);
            return Array.from((run[table]["flow"] ?? []) as string[], (flow, i) => [flow, written[i] as number] as const);
        }),
    );
}
