/** Checks of combinations of a scenario's parts that are valid individually: see scenario/checks.py. */
import type { Ports } from "../../build/engine/engine";
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
export function checkTogether(scenario: Part, topology: Topology, tcps: Part[], ports: Ports): void {
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
    refuse([...problems, ...topology.problems(ports)]);
}

/** Throws ScenarioError with the first problems. */
export function refuse(problems: string[]): void {
    if (problems.length > 0) throw new ScenarioError([...new Set(problems)].slice(0, MAX_PROBLEMS));
}

/**
 * Throws ScenarioError for time-varying links. The fields are checked as specified, because the page does not resolve
 * them.
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
