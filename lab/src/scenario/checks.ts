/** Checks of combinations of a scenario's parts that are valid individually: see scenario/checks.py. */
import { ELSEWHERE } from "./check";
import { violations } from "./constraints";
import { ScenarioError, repr } from "./errors";
import { flowField } from "./graph";
import { DESCRIPTION, NUMBERS } from "./model";
import { type Part, kindOf, valueOf } from "./part";
import { type Topology, between } from "./topology";
import { RATE, TIME } from "./units";

/**
 * Throws ScenarioError for impossible combinations of connections and framing; `tcps` are those of the flows, in their
 * order.
 */
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
        problems.push(`${tcpField(network, topology, i, "ecn")}: ${ecn}; needs off under AAL5, whose cells carry no ECN marks`);
    }
    problems.push(...framingProblems(scenario, topology), ...pathProblems(topology));
    if (problems.length > 0) throw new ScenarioError([...new Set(problems)]);
}

/**
 * Throws ScenarioError for time-varying links, split-TCP proxies, queues at hosts and conditioners. The fields are
 * checked as specified, because the page does not resolve them.
 */
export function checkStands(network: unknown): void {
    const whole = tableIn(network);
    const parts: [string, Record<string, unknown>][] = [["network", whole]];
    for (const list of ["nodes", "links"]) {
        const items = whole[list];
        if (Array.isArray(items)) parts.push(...items.map((one, i): [string, Record<string, unknown>] => [`network.${list}[${i}]`, tableIn(one)]));
    }
    for (const [field, part] of parts) {
        for (const [name, does] of Object.entries(DESCRIPTION.beyond.network)) {
            const value = part[name] ?? null;
            if (value === null || (Array.isArray(value) && value.length === 0)) continue;
            throw new ScenarioError([`${field}.${name}: ${does}, which this page does not support; longpipe run does`]);
        }
    }
}

function tableIn(given: unknown): Record<string, unknown> {
    return typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
}

/** Throws ScenarioError for datagrams that the page does not support. */
export function checkDatagrams(scenario: Part, flows: Part[]): void {
    const network = valueOf(scenario, "network") as Part;
    for (const [i, flow] of flows.entries()) {
        const own = valueOf(flow, "traffic") as Part | null;
        const kind = kindOf(own ?? (valueOf(scenario, "traffic") as Part));
        const field = own === null ? "traffic" : `${flowField(network, i)}.traffic`;
        if (DESCRIPTION.beyond.kinds.includes(kind)) throw new ScenarioError([`${field}: ${kind}; ${ELSEWHERE}`]);
    }
}

/** Throws ScenarioError for a flow whose class is not among those of a port on its route. */
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

/** Throws ScenarioError unless the run lasts beyond this start time [ps]. */
export function checkBegin(duration: string, field: string, at: bigint): void {
    if (at >= TIME.parse(duration)) {
        throw new ScenarioError([`${field}: ${TIME.format(at)}; needs less than the duration, ${duration}`]);
    }
}

/** Throws ScenarioError unless switches have a queue for VBR, and each source has a host and a suitable rate. */
export function checkVbr(scenario: Part, topology: Topology): void {
    const { vbr } = topology.graph;
    const switches = valueOf(scenario, "switch") as Part;
    const kind = kindOf(valueOf(switches, "scheduler") as Part);
    if (vbr.length > 0 && (kind === "fifo" || kind === "wfq")) {
        throw new ScenarioError([`switch.scheduler: ${kind} has no queue for VBR; needs priority or guaranteed-rate`]);
    }
    const used = new Set(topology.routes.flatMap(([there, back]) => [...there, ...back]));
    const firsts = topology.vbrRoutes.map((route) => route[0] as number);
    for (const [i, source] of vbr.entries()) {
        const route = topology.vbrRoutes[i] as number[];
        const dumbbell = kindOf(valueOf(scenario, "network") as Part) === "dumbbell";
        const field = dumbbell ? "network.vbr" : `network.vbr[${i}]`;
        const first = route[0] as number;
        if (used.has(first) || firsts.filter((one) => one === first).length > 1) {
            const problem = `${repr(valueOf(source, "from"))} sends other cells too; needs its own host`;
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
    yield* violations(tcp);
    for (const [name, problem] of violations(valueOf(tcp, "timer") as Part)) yield [`timer.${name}`, problem];
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
        for (const [name, problem] of violations(policy)) yield `${field}.${name}: ${problem}`;
        const wrong = misplaced(cells, kind, policy);
        if (wrong !== null) yield `${field}${wrong}`;
    }
    if (cells) return;
    const scheduler = kindOf(valueOf(switches, "scheduler") as Part);
    if (scheduler !== "fifo") yield `switch.scheduler: ${scheduler}; serves cells, IP routers accept fifo`;
    if (valueOf(switches, "ties") === "rotating") {
        yield "switch.ties: rotating; changes every cell time, IP routers accept port-order, random";
    }
    if (topology.graph.vbr.length > 0) {
        yield "network.vbr: sends cells, which IP links do not carry; needs framing 'aal5'";
    }
}

/**
 * Returns the problem of a policy that does not fit links with cells, or with packets; the text follows the name of its
 * field.
 */
function misplaced(cells: boolean, kind: string, policy: Part): string | null {
    if (kind === "red") {
        const unit = String(valueOf(policy, "unit"));
        if (cells === (unit === "cells")) return null;
        return cells
            ? `.unit: ${unit}; is for IP packets, ATM switches count cells`
            : ".unit: cells; is for ATM switches, IP routers count packets or bytes";
    }
    const known = DESCRIPTION.policies[cells ? "cells" : "packets"];
    if (known.includes(kind)) return null;
    return cells
        ? `: ${kind}; is for IP packets, ATM switches accept ${known.join(", ")}`
        : `: ${kind}; is for cells, IP routers accept ${known.join(", ")}`;
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
