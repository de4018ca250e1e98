/** What the parts of a scenario, each right by itself, can't be together: see scenario/checks.py. */
import { type Part, kindOf, valueOf } from "./check";
import { ScenarioError, repr } from "./errors";
import { flowField } from "./graph";
import { NUMBERS } from "./model";
import { leastWindowScale } from "./resolve";
import { type Topology, between, isFifo } from "./topology";
import { RATE, SIZE, TICKS, TIME, UNLIMITED } from "./units";

const OF_CELLS = "tail-drop, partial-packet-discard, epd, selective-drop, fba, red";
const CHOOSING = ["drr", "sfq", "fq", "strict-priority", "weighted-priority", "dualpi2", "ack-filter"];
const ACTIVE = new Set(["red", "pie", "step-marking", "blue", "codel", "fq-codel", ...CHOOSING]);
const OVER_TCP = new Set(["greedy", "transfer", "web"]);
// Resolved by Python alone: presets, files, and real stacks.
const ELSEWHERE = new Set(["voice", "arrivals", "stack"]);
const OF_PACKETS = `tail-drop, selective-drop, fba, ${[...ACTIVE].join(", ")}`;

/** ScenarioError for connections and framing that can't be; `tcps` are those of the flows, in their order. */
export function checkTogether(scenario: Part, topology: Topology, tcps: Part[]): void {
    const last = new Map(tcps.map((tcp, i) => [tcp, i]));
    const network = valueOf(scenario, "network") as Part;
    const framing = valueOf(scenario, "framing");
    const problems: string[] = [];
    for (const [tcp, i] of last) {
        for (const [name, problem] of tcpProblems(tcp)) {
            problems.push(`${tcpField(network, topology, i, name)}: ${problem}`);
        }
    }
    for (const [tcp, i] of framing === "aal5" ? last : []) {
        const ecn = kindOf(valueOf(tcp, "ecn") as Part);
        if (ecn === "off") continue;
        problems.push(`${tcpField(network, topology, i, "ecn")}: ${ecn}; needs off under AAL5, whose cells carry no marks of IP`);
    }
    problems.push(...framingProblems(scenario, topology), ...pathProblems(topology));
    if (problems.length > 0) throw new ScenarioError([...new Set(problems)]);
}

/** What links and nodes may have that the page does not, and what it does. */
const NOT_HERE = {
    pep: "splits connections",
    path: "moves",
    return_path: "moves",
    host_policy: "queues at hosts",
    host_buffer: "queues at hosts",
    conditioners: "polices, shapes, delays or repeats",
    return_conditioners: "polices, shapes, delays or repeats",
};

/** ScenarioError where a link moves, a proxy splits connections or a host queues: asked of what was written, of which the page knows no more. */
export function checkStands(network: unknown): void {
    const whole = tableIn(network);
    const parts: [string, Record<string, unknown>][] = [["network", whole]];
    for (const list of ["nodes", "links"]) {
        const items = whole[list];
        if (Array.isArray(items)) parts.push(...items.map((one, i): [string, Record<string, unknown>] => [`network.${list}[${i}]`, tableIn(one)]));
    }
    for (const [field, part] of parts) {
        for (const [name, does] of Object.entries(NOT_HERE)) {
            const value = part[name] ?? null;
            if (value === null || (Array.isArray(value) && value.length === 0)) continue;
            throw new ScenarioError([`${field}.${name}: ${does}, which this page can't show; longpipe run can`]);
        }
    }
}

function tableIn(given: unknown): Record<string, unknown> {
    return typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
}

/** ScenarioError for datagrams that the page does not have. */
export function checkDatagrams(scenario: Part, flows: Part[]): void {
    const network = valueOf(scenario, "network") as Part;
    for (const [i, flow] of flows.entries()) {
        const own = valueOf(flow, "traffic") as Part | null;
        const kind = kindOf(own ?? (valueOf(scenario, "traffic") as Part));
        const field = own === null ? "traffic" : `${flowField(network, i)}.traffic`;
        if (OVER_TCP.has(kind)) continue;
        if (ELSEWHERE.has(kind)) throw new ScenarioError([`${field}: ${kind}; is not on this page; longpipe run has it`]);
    }
}

/** ScenarioError for a flow whose class is beyond those of a port on its way. */
export function checkClasses(scenario: Part, topology: Topology): void {
    const usual = valueOf(valueOf(scenario, "switch") as Part, "policy") as Part;
    for (const [i, flow] of topology.graph.flows.entries()) {
        for (const at of topology.routes[i]?.flat() ?? []) {
            const link = topology.graph.links[Math.floor(at / 2)] as Part;
            const ends = between(link);
            const [a, b] = at % 2 === 0 ? ends : ([...ends].reverse() as [string, string]);
            const back = at % 2 === 0 ? null : (valueOf(link, "return_policy") as Part | null);
            const policy = back ?? (valueOf(link, "policy") as Part | null) ?? usual;
            const classes = classesOf(policy);
            const own = Number(valueOf(flow, "class"));
            if (topology.kinds.get(a) === "switch" && classes !== null && own >= classes) {
                const field = `${flowField(valueOf(scenario, "network") as Part, i)}.class`;
                const accepted = `needs less than ${classes}, the classes of ${kindOf(policy)} at ${a}->${b}`;
                throw new ScenarioError([`${field}: ${own}; ${accepted}`]);
            }
        }
    }
}

function classesOf(policy: Part): number | null {
    if (kindOf(policy) === "strict-priority") return Number(valueOf(policy, "classes"));
    return kindOf(policy) === "weighted-priority" ? (valueOf(policy, "weights") as unknown[]).length : null;
}

/** ScenarioError unless something can begin at this instant [ps]. */
export function checkBegin(duration: string, field: string, at: bigint): void {
    if (at >= TIME.parse(duration)) {
        throw new ScenarioError([`${field}: ${TIME.format(at)}; needs less than the duration, ${duration}`]);
    }
}

/** ScenarioError unless switches have a queue for VBR, and each source a host and a rate that suit it. */
export function checkVbr(scenario: Part, topology: Topology): void {
    const { vbr } = topology.graph;
    const switches = valueOf(scenario, "switch") as Part;
    if (vbr.length > 0 && isFifo(valueOf(switches, "scheduler") as Part)) {
        throw new ScenarioError(["switch.scheduler: fifo has no queue for VBR; needs priority or guaranteed-rate"]);
    }
    const used = new Set(topology.routes.flatMap(([there, back]) => [...there, ...back]));
    const firsts = topology.vbrRoutes.map((route) => route[0] as number);
    for (const [i, source] of vbr.entries()) {
        const route = topology.vbrRoutes[i] as number[];
        const dumbbell = kindOf(valueOf(scenario, "network") as Part) === "dumbbell";
        const field = dumbbell ? "network.vbr" : `network.vbr[${i}]`;
        const first = route[0] as number;
        if (used.has(first) || firsts.filter((one) => one === first).length > 1) {
            const problem = `${repr(valueOf(source, "from"))} sends other cells too; needs a host of its own`;
            throw new ScenarioError([`${field}.from: ${problem}`]);
        }
        const [rate, slowest] = [valueOf(source, "rate"), topology.slowestRate(route)];
        if (rate !== null && RATE.parse(String(rate)) > RATE.parse(slowest)) {
            const problem = `${String(rate)}; needs at most the rate of its slowest link, ${slowest}`;
            throw new ScenarioError([`${field}.rate: ${problem}`]);
        }
    }
}

function tcpField(network: Part, topology: Topology, i: number, name: string): string {
    const own = valueOf(topology.graph.flows[i] as Part, "tcp") as Part | null;
    const its = own?.written.has(name.split(".")[0] as string) === true;
    return its ? `${flowField(network, i)}.tcp.${name}` : `tcp.${name}`;
}

function* tcpProblems(tcp: Part): Generator<[string, string]> {
    const get = (name: string): string => String(valueOf(tcp, name));
    const mss = SIZE.parse(get("mss"));
    if (SIZE.parse(get("receiver_window")) < mss) {
        yield ["receiver_window", `${get("receiver_window")}; needs at least one segment (${get("mss")})`];
    }
    const [scale, least] = [get("window_scale"), leastWindowScale(tcp)];
    if (scale !== "as needed" && Number(scale) < least) {
        const accepted = `needs ${least} to ${NUMBERS.most_window_scale} for a window of ${get("receiver_window")}`;
        yield ["window_scale", `${scale}; ${accepted}`];
    }
    const ssthresh = get("initial_ssthresh");
    if (ssthresh !== UNLIMITED && SIZE.parse(ssthresh) < mss) {
        yield ["initial_ssthresh", `${ssthresh}; needs at least one segment (${get("mss")})`];
    }
    const [recovery, congestion] = ["recovery", "congestion"].map((part) => kindOf(valueOf(tcp, part) as Part));
    if (valueOf(tcp, "handshake") === true && TIME.parse(get("initial_rtt")) > 0n) {
        yield ["initial_rtt", `${get("initial_rtt")}; needs 0 s with a handshake, which measures it`];
    }
    const ecn = kindOf(valueOf(tcp, "ecn") as Part);
    if (congestion === "dctcp" && ecn !== "dctcp" && ecn !== "accurate") {
        yield ["ecn", `${ecn}; needs dctcp or accurate for congestion = 'dctcp', which uses the share of marks`];
    }
    const timer = valueOf(tcp, "timer") as Part;
    if (congestion === "ledbat" && (kindOf(timer) === "coarse" || valueOf(timer, "timestamps") !== true)) {
        const accepted = "needs fine, with timestamps, for congestion = 'ledbat', which measures one-way delays";
        yield ["timer", `${kindOf(timer)} without timestamps; ${accepted}`];
    }
    if ((congestion === "bbr" || congestion === "bbr3") && recovery !== "rack") {
        yield ["recovery", `${recovery}; needs 'rack' with congestion '${congestion}', which needs a report of each loss`];
    }
    for (const [name, problem] of timerProblems(timer)) yield [`timer.${name}`, problem];
}

function* timerProblems(timer: Part): Generator<[string, string]> {
    const get = (name: string): string => String(valueOf(timer, name));
    const coarse = kindOf(timer) === "coarse";
    const unit = coarse ? TICKS : TIME;
    const [low, initial, high] = ["min_rto", "initial_rto", "max_rto"].map((name) => unit.parse(get(name)));
    if ((high as bigint) < (low as bigint)) {
        yield ["max_rto", `${get("max_rto")}; needs at least min_rto, ${get("min_rto")}`];
    } else if ((initial as bigint) < (low as bigint) || (initial as bigint) > (high as bigint)) {
        yield ["initial_rto", `${get("initial_rto")}; needs ${get("min_rto")} to ${get("max_rto")}`];
    }
    if (!coarse) return;
    const tick = TIME.parse(get("tick"));
    if ((high as bigint) * tick > TIME.parse(NUMBERS.longest_rto)) {
        yield ["max_rto", `${get("max_rto")} of ${get("tick")}; needs at most ${NUMBERS.longest_rto} in all`];
    }
    const phase = valueOf(timer, "phase") as Part;
    if (kindOf(phase) === "fixed" && TIME.parse(String(valueOf(phase, "at"))) >= tick) {
        yield ["phase.at", `${String(valueOf(phase, "at"))}; needs less than one tick (${get("tick")})`];
    }
}

function* framingProblems(scenario: Part, topology: Topology): Generator<string> {
    const cells = valueOf(scenario, "framing") === "aal5";
    const switches = valueOf(scenario, "switch") as Part;
    const policies: [string, Part][] = [["switch.policy", valueOf(switches, "policy") as Part]];
    for (const [i, link] of topology.graph.links.entries()) {
        const own = valueOf(link, "policy") as Part | null;
        const back = valueOf(link, "return_policy") as Part | null;
        const dumbbell = kindOf(valueOf(scenario, "network") as Part) === "dumbbell";
        if (own !== null) policies.push([`network.links[${i}].policy`, own]);
        if (back !== null) policies.push([dumbbell ? "network.return_policy" : `network.links[${i}].return_policy`, back]);
    }
    for (const [field, policy] of policies) {
        const kind = kindOf(policy);
        for (const [name, problem] of queueProblems(policy)) yield `${field}.${name}: ${problem}`;
        const wrong = misplaced(cells, kind, policy);
        if (wrong !== null) yield `${field}${wrong}`;
    }
    if (cells) return;
    const scheduler = valueOf(switches, "scheduler") as Part;
    if (!isFifo(scheduler)) yield `switch.scheduler: ${kindOf(scheduler)}; serves cells, IP routers accept fifo`;
    if (valueOf(switches, "ties") === "rotating") {
        yield "switch.ties: rotating; turns every cell time, IP routers accept port-order, random";
    }
    if (topology.graph.vbr.length > 0) {
        yield "network.vbr: sends cells, which IP links do not carry; needs framing 'aal5'";
    }
}

/** What is wrong with a policy where links carry cells, or packets, behind the name of its field. */
function misplaced(cells: boolean, kind: string, policy: Part): string | null {
    if (kind === "red") {
        const unit = String(valueOf(policy, "unit"));
        if (cells === (unit === "cells")) return null;
        return cells
            ? `.unit: ${unit}; is for IP packets, ATM switches count cells`
            : ".unit: cells; is for ATM switches, IP routers count packets or bytes";
    }
    if (cells && ACTIVE.has(kind)) return `: ${kind}; is for IP packets, ATM switches accept ${OF_CELLS}`;
    if (!cells && (kind === "partial-packet-discard" || kind === "epd")) {
        return `: ${kind}; is for cells, IP routers accept ${OF_PACKETS}`;
    }
    return null;
}

function* queueProblems(policy: Part): Generator<[string, string]> {
    const kind = kindOf(policy);
    const get = (name: string): string => String(valueOf(policy, name));
    if (kind === "red") {
        const [min, max] = [Number(valueOf(policy, "min")), Number(valueOf(policy, "max"))];
        if (min >= max) yield ["max", `${Number(max.toPrecision(6))}; needs more than min, ${Number(min.toPrecision(6))}`];
        if (get("gap") === "drawn" && (valueOf(policy, "gentle") === true || valueOf(policy, "adaptive") === true)) {
            yield ["gap", "drawn; needs gentle = false and adaptive = false, as in Linux"];
        }
        const cells = get("unit") === "cells";
        if (valueOf(policy, "per_vc") === true && !cells) yield ["per_vc", "true; needs unit = 'cells', because IP has no VCs"];
        if (valueOf(policy, "ecn") === true && cells) {
            yield ["ecn", "true; needs false with unit = 'cells', because cells have no ECN field"];
        }
    } else if (kind === "dualpi2") {
        const marking = valueOf(policy, "marking") as Part;
        const [min, max] = ["min", "max"].map((name) => (kindOf(marking) === "ramp" ? String(valueOf(marking, name)) : "0 s"));
        if (kindOf(marking) === "ramp" && TIME.parse(max as string) <= TIME.parse(min as string)) {
            yield ["marking.max", `${max}; needs more than min, ${min}`];
        }
    } else if (kind === "codel" || kind === "fq-codel") {
        if (TIME.parse(get("interval")) < TIME.parse(get("target"))) {
            yield ["interval", `${get("interval")}; needs at least the target, ${get("target")}`];
        }
    }
}

function* pathProblems(topology: Topology): Generator<string> {
    const ways: [string, number[]][] = [
        ...topology.routes.map(([there], i): [string, number[]] => [`network.flows[${i}].route`, there]),
        ...topology.routes.map(([, back], i): [string, number[]] => [`network.flows[${i}].return_route`, back]),
        ...topology.vbrRoutes.map((route, i): [string, number[]] => [`network.vbr[${i}].route`, route]),
    ];
    const longest = BigInt(NUMBERS.longest_path_ps);
    for (const [field, route] of ways) {
        const delay = topology.delayOf(route);
        if (delay > longest) {
            const shown = `${route.length} links of ${(Number(delay) / 1e12).toFixed(0)} s in all`;
            yield `${field}: ${shown}; needs at most ${TIME.format(longest)}`;
        }
    }
}
