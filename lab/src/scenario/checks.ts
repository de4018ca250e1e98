/** Checks of combinations of a scenario's parts that are valid individually: see scenario/checks.py. */
import { violations } from "./constraints";
import { ScenarioError } from "./errors";
import { DESCRIPTION } from "./model";
import { type Part, kindOf, valueOf } from "./part";
import type { Topology } from "./topology";

/** Maximum number of reported problems. */
const MAX_PROBLEMS = 10;

/**
 * Throws ScenarioError for impossible combinations of connections and framing; `tcps` are those of the flows, in their
 * order.
 */
export function checkTogether(scenario: Part, topology: Topology, tcps: Part[]): void {
    // Flows with equal settings share one object, which is checked once.
    const flowOf = new Map(tcps.map((tcp, i) => [tcp, i]));
    const framing = valueOf(scenario, "framing");
    const problems: string[] = [];
    for (const [tcp, i] of flowOf) {
        for (const [name, problem] of tcpProblems(tcp)) {
            problems.push(`${tcpField(topology, i, name)}: ${problem}`);
        }
    }
    for (const [tcp, i] of framing === "aal5" ? flowOf : []) {
        const ecn = kindOf(valueOf(tcp, "ecn") as Part);
        if (ecn === "off") continue;
        problems.push(`${tcpField(topology, i, "ecn")}: ${ecn}; needs off under AAL5, whose cells carry no ECN marks`);
    }
    refuse([...problems, ...networkProblems(scenario, topology)]);
}

/** Throws ScenarioError for impossible combinations of queues, links and framing. */
export function checkNetwork(scenario: Part, topology: Topology): void {
    refuse(networkProblems(scenario, topology));
}

function networkProblems(scenario: Part, topology: Topology): string[] {
    return [...framingProblems(scenario, topology), ...topology.problems(valueOf(scenario, "framing"))];
}

function refuse(problems: string[]): void {
    if (problems.length > 0) throw new ScenarioError([...new Set(problems)].slice(0, MAX_PROBLEMS));
}

/**
 * Throws ScenarioError for time-varying links, medium access and conditioners. The fields are
 * checked as specified, because the page does not resolve them.
 */
export function checkStands(network: unknown): void {
    const networkFields = tableIn(network);
    const parts: [string, Record<string, unknown>][] = [["network", networkFields]];
    for (const list of ["nodes", "links"]) {
        const items = networkFields[list];
        if (Array.isArray(items)) parts.push(...items.map((item, i): [string, Record<string, unknown>] => [`network.${list}[${i}]`, tableIn(item)]));
    }
    for (const [field, part] of parts) {
        for (const [name, does] of Object.entries(DESCRIPTION.beyond)) {
            const value = part[name] ?? null;
            if (value === null || (Array.isArray(value) && value.length === 0)) continue;
            throw new ScenarioError([`${field}.${name}: ${does}, which this page does not support; longpipe run does`]);
        }
    }
}

function tableIn(given: unknown): Record<string, unknown> {
    return typeof given === "object" && given !== null ? (given as Record<string, unknown>) : {};
}

/** Returns the name of a TCP field of flow `i`: the flow's own, or the scenario's. */
function tcpField(topology: Topology, i: number, name: string): string {
    const flowTcp = valueOf(topology.flows[i] as Part, "tcp") as Part | null;
    const isOfFlow = flowTcp?.written.has(name.split(".")[0] as string) === true;
    return isOfFlow ? `${topology.flowField(i)}.tcp.${name}` : `tcp.${name}`;
}

function* tcpProblems(tcp: Part): Generator<[string, string]> {
    yield* violations(tcp);
    for (const [name, problem] of violations(valueOf(tcp, "timer") as Part)) yield [`timer.${name}`, problem];
}

function* framingProblems(scenario: Part, topology: Topology): Generator<string> {
    const cells = valueOf(scenario, "framing") === "aal5";
    const switches = valueOf(scenario, "switch") as Part;
    const policies: [string, Part][] = [["switch.policy", valueOf(switches, "policy") as Part]];
    const dumbbell = kindOf(topology.network) === "dumbbell";
    for (const [i, link] of topology.links.entries()) {
        for (const name of dumbbell ? ["host_policy", "return_policy"] : ["policy", "return_policy", "host_policy"]) {
            const policy = valueOf(link, name) as Part | null;
            if (policy !== null) policies.push([dumbbell ? `network.${name}` : `network.links[${i}].${name}`, policy]);
        }
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
    if ([valueOf(topology.network, "vbr") ?? []].flat().length > 0) {
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
    const accepted = DESCRIPTION.policies[cells ? "cells" : "packets"];
    if (accepted.includes(kind)) return null;
    return cells
        ? `: ${kind}; is for IP packets, ATM switches accept ${accepted.join(", ")}`
        : `: ${kind}; is for cells, IP routers accept ${accepted.join(", ")}`;
}
