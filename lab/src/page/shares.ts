/** Max-min fair shares of the flows' demands, as in longpipe.metrics.shares. */
import type { Json, JsonTable } from "../scenario/json";
import { NUMBERS } from "../scenario/model";

const OVER_TCP = ["greedy", "transfer", "stream", "web"];

const table = (value: Json | undefined): JsonTable => value as JsonTable;
const tables = (value: Json | undefined): JsonTable[] => value as JsonTable[];
const whole = (value: Json | undefined): number => Number(value);
const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);

/**
 * Returns the indexes of a dumbbell's trunk among the links of the core's scenario, from switch1 to switch2 and from switch2
 * to switch1, if data are sent in this direction; empty for a graph.
 */
export function trunksOf(core: JsonTable): number[] {
    const names = tables(core["nodes"]).map((node) => node["name"]);
    const between = (from: string, to: string): number =>
        tables(core["links"]).findIndex((link) => names[whole(link["from"])] === from && names[whole(link["to"])] === to);
    const routes = routesOf(core);
    return [between("switch1", "switch2"), between("switch2", "switch1")].filter((trunk) => routes.some((route) => route.includes(trunk)));
}

/** Returns the links on the route of each flow's data. */
export function routesOf(core: JsonTable): number[][] {
    return tables(core["flows"]).map((flow) => (flow["route"] as Json[]).map(whole));
}

/**
 * Returns Jain's index of the throughputs [bit/s], or of throughput divided by fair share if the demands of TCP flows
 * differ.
 */
export function fairness(
    core: JsonTable,
    rates: number[],
    { written, durationS, trunkBps }: { written: Map<string, number>; durationS: number; trunkBps: number | null },
): number {
    // The last part of a split connection delivers its data, and the other parts follow all flows.
    const flows = tables(core["flows"]).filter((flow) => flow["onward"] === undefined);
    const demands = flows.map((flow) => {
        const traffic = table(flow["traffic"]);
        if (!isOverTcp(flow)) return Number.NaN;
        const size = written.get(String(flow["name"])) ?? traffic["size_bytes"];
        return size === undefined || size === null ? Number.POSITIVE_INFINITY : (8 * Number(size)) / durationS;
    });
    const overTcp = flows.map((_, i) => i).filter((i) => !Number.isNaN(demands[i]));
    if (new Set(overTcp.map((i) => demands[i])).size <= 1) return jain(overTcp.map((i) => rates[i] as number));
    const left = tables(core["links"]).map((link) => whole(link["rate_bps"]));
    if (trunkBps !== null) left[trunksOf(core)[0] as number] = trunkBps;
    const routes = routesOf(core);
    for (const [i, route] of routes.entries()) {
        if (Number.isNaN(demands[i])) for (const link of route) left[link] = (left[link] as number) - (rates[i] as number);
    }
    const wire = flows.map((flow) => wirePerByte(core, flow));
    const demandsOnWire = overTcp.map((i) => (demands[i] as number) * (wire[i] as number));
    const capacities = left.map((rate) => Math.max(rate, 0));
    const shares = maxMin(demandsOnWire, capacities, overTcp.map((i) => routes[i] as number[]));
    const got = overTcp.map((i) => (rates[i] as number) * (wire[i] as number));
    return jain(got.map((rate, i) => rate / (shares[i] as number)).filter((_, i) => (shares[i] as number) > 0));
}

/** Returns whether a flow uses TCP, not datagrams. */
export function isOverTcp(flow: JsonTable): boolean {
    return OVER_TCP.includes(String(table(flow["traffic"])["kind"]));
}

/** Returns the bytes on the wire per payload byte of a full segment. */
export function wirePerByte(core: JsonTable, flow: JsonTable): number {
    const tcp = table(flow["tcp"]);
    const mss = whole(tcp["mss_bytes"]);
    const stamps = table(tcp["timer"])["timestamps"] === true;
    const packet = mss + NUMBERS.header_bytes + (stamps ? NUMBERS.timestamp_bytes : 0);
    if (core["framing"] === "ip") return packet / mss;
    return (NUMBERS.cell_bytes * Math.ceil((packet + NUMBERS.overhead_bytes) / NUMBERS.cell_payload_bytes)) / mss;
}

function jain(values: number[]): number {
    const squares = values.length * sum(values.map((value) => value * value));
    // A rounding error would give equal throughputs an index above 1.
    return squares > 0 ? Math.min(1, sum(values) ** 2 / squares) : Number.NaN;
}

/**
 * Returns max-min fair shares of demands [bit/s]: all shares increase together, until a flow's demand is met or a link
 * is full.
 */
function maxMin(demands: number[], capacities: number[], routes: number[][]): number[] {
    const shares = demands.map(() => 0);
    const left = [...capacities];
    let rising = demands.map((_, flow) => flow);
    while (rising.length > 0) {
        const users = left.map(() => 0);
        for (const flow of rising) for (const link of routes[flow] as number[]) users[link] = (users[link] as number) + 1;
        const levels = left.map((rate, link) => ((users[link] as number) > 0 ? rate / (users[link] as number) : Number.POSITIVE_INFINITY));
        const full = Math.min(...levels);
        let settled = rising.filter((flow) => (demands[flow] as number) <= full);
        for (const flow of settled) shares[flow] = demands[flow] as number;
        if (settled.length === 0) {
            settled = rising.filter((flow) => (routes[flow] as number[]).some((link) => levels[link] === full));
            for (const flow of settled) shares[flow] = full;
        }
        for (const flow of settled) {
            for (const link of routes[flow] as number[]) left[link] = Math.max((left[link] as number) - (shares[flow] as number), 0);
        }
        const over = new Set(settled);
        rising = rising.filter((flow) => !over.has(flow));
    }
    return shares;
}
