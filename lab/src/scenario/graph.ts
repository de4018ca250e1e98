/** The network with all nodes, links and flows listed. */
import { checkPart } from "./check";
import { ScenarioError, repr } from "./errors";
import { type Part, type Value, kindOf, valueOf } from "./part";

/** Nodes, links and flows of any network. */
export interface Graph {
    nodes: Part[];
    links: Part[];
    flows: Part[];
    vbr: Part[];
}

/** Returns a graph unchanged, or the graph of a dumbbell. */
export function asGraph(network: Part): Graph {
    if (kindOf(network) === "graph") {
        const list = (name: string): Part[] => valueOf(network, name) as Part[];
        return { nodes: list("nodes"), links: list("links"), flows: list("flows"), vbr: list("vbr") };
    }
    return dumbbell(network);
}

/** Returns the name of the field of flow i, counted from 0. */
export function flowField(network: Part, i: number): string {
    if (kindOf(network) === "graph") return `network.flows[${i}]`;
    let left = i;
    for (const [number, group] of ((valueOf(network, "group") ?? []) as Part[]).entries()) {
        left -= Number(valueOf(group, "count"));
        if (left < 0) return `network.group[${number}]`;
    }
    return `network.flows[${i}]`;
}

function dumbbell(network: Part): Graph {
    const get = (name: string): Value => valueOf(network, name);
    const numbers = Array.from({ length: Number(get("sources")) }, (_, i) => i + 1);
    const host = made("Node", { name: "source1", kind: "host", send_jitter: get("send_jitter") });
    const node = (name: string): Part => made("Node", { name, kind: "host" });
    const link = (a: string, b: string, rate: Value, delay: Value): Part =>
        made("Link", { between: [a, b], rate, delay });
    const trunk = changed(link("switch1", "switch2", get("trunk_rate"), get("trunk_delay")), {
        loss: get("trunk_loss"),
        return_loss: get("return_loss"),
        return_rate: get("return_rate"),
        return_delay: get("return_delay"),
        return_buffer: get("return_buffer"),
        return_policy: get("return_policy"),
    });
    const atHosts = { host_policy: get("host_policy"), host_buffer: get("host_buffer") };
    const flow = made("Flow", { name: "flow1", from: "source1", to: "sink1" });
    const own = ownOf(network, numbers.length);
    const delays = hostDelays(network, numbers.length);
    const flows = own.map(([name, fields, back], i) => {
        const way = [`source${i + 1}`, "switch1", "switch2", `sink${i + 1}`];
        if (back) way.reverse();
        return changed(flow, { ...fields, name, from: way[0] as string, to: way[3] as string, route: way });
    });
    const nodes = [
        ...numbers.map((i) => changed(host, { name: `source${i}` })),
        ...["switch1", "switch2"].map((name) => made("Node", { name, kind: "switch" })),
        ...numbers.map((i) => changed(host, { name: `sink${i}` })),
    ];
    const links = [
        ...delays.map(([delay], i) => changed(link(`source${i + 1}`, "switch1", get("access_rate"), delay), atHosts)),
        trunk,
        ...delays.map(([, delay], i) => changed(link("switch2", `sink${i + 1}`, get("access_rate"), delay), atHosts)),
    ];
    const source = get("vbr") as Part | null;
    if (source === null) return { nodes, links, flows, vbr: [] };
    nodes.push(node("vbr-source"), node("vbr-sink"));
    links.push(link("vbr-source", "switch1", get("access_rate"), get("access_delay")));
    links.push(link("switch2", "vbr-sink", get("access_rate"), get("exit_delay")));
    const vbr = {
        part: "VbrFlow",
        written: new Set<string>(),
        values: { ...source.values, name: "vbr", from: "vbr-source", to: "vbr-sink", route: null },
    };
    return { nodes, links, flows, vbr: [vbr] };
}

/** Returns the delays of the links of each flow's source and sink, which may differ between groups. */
function hostDelays(network: Part, sources: number): [Value, Value][] {
    const usual: [Value, Value] = [valueOf(network, "access_delay"), valueOf(network, "exit_delay")];
    const groups = valueOf(network, "group") as Part[] | null;
    if (groups === null) return Array.from({ length: sources }, () => usual);
    return groups.flatMap((group) => {
        const delays: [Value, Value] = [valueOf(group, "access_delay") ?? usual[0], valueOf(group, "exit_delay") ?? usual[1]];
        return Array.from({ length: Number(valueOf(group, "count")) }, () => delays);
    });
}

/** Returns the name of each flow of a dumbbell, its own fields, and its direction. */
function ownOf(network: Part, sources: number): [string, Record<string, Value>, boolean][] {
    const groups = valueOf(network, "group") as Part[] | null;
    if (groups === null) return Array.from({ length: sources }, (_, i) => [`flow${i + 1}`, {}, false]);
    if (groups.length === 0) throw new ScenarioError(["network.group: empty; needs at least one group"]);
    const flows: [string, Record<string, Value>, boolean][] = [];
    for (const group of groups) {
        const names = ["tcp", "traffic", "start", "stop", "class", "service"];
        const own = Object.fromEntries(names.map((name) => [name, valueOf(group, name)]));
        const back = valueOf(group, "direction") === "back";
        const count = nameAndCount(group)[1];
        for (let i = 1; i <= count; i++) flows.push([flowName(group, i), own, back]);
    }
    if (flows.length !== sources) {
        const problem = `${sources}; its groups have ${flows.length}, needs that or nothing`;
        throw new ScenarioError([`network.sources: ${problem}`]);
    }
    checkNames(groups);
    return flows;
}

/** Throws a ScenarioError for the first flow of groups that has the name of an earlier one. */
function checkNames(groups: Part[]): void {
    const first = new Map<string, [number, number]>();
    for (const [i, group] of groups.entries()) {
        const [name, count] = nameAndCount(group);
        for (let number = 1; number <= count; number++) {
            const flow = flowName(group, number);
            const before = first.get(flow);
            first.set(flow, before ?? [i, number]);
            if (before === undefined) continue;
            const [owner, earlier] = [`network.group[${before[0]}]`, groups[before[0]] as Part];
            const [other, otherCount] = nameAndCount(earlier);
            const made = count > 1 ? `and number ${number} give ${repr(flow)}, which is` : "is";
            const holder = otherCount > 1 ? `the name of flow ${before[1]} of ${owner}, ${repr(other)}` : `the name of ${owner}`;
            const problem = name === other ? `is the name of ${owner}; needs a unique name` : `${made} ${holder}; needs another name`;
            throw new ScenarioError([`network.group[${i}].name: ${repr(name)} ${problem}`]);
        }
    }
}

function nameAndCount(group: Part): [string, number] {
    return [String(valueOf(group, "name")), Number(valueOf(group, "count"))];
}

function flowName(group: Part, number: number): string {
    const [name, count] = nameAndCount(group);
    return count === 1 ? name : `${name}${number}`;
}

function made(part: string, table: Record<string, unknown>): Part {
    return checkPart(part, table, "", (field, problem) => {
        throw new ScenarioError([`${field}: ${problem}`]);
    });
}

function changed(part: Part, values: Record<string, Value>): Part {
    return { ...part, values: { ...part.values, ...values } };
}
