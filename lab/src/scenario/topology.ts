/** The network of a scenario: nodes, links, routes, buffers, windows and starts of flows (see crates/scenario). */
import { Topology as Core, Ports } from "../../build/engine/engine";
import { checkPart } from "./check";
import { hasTimestamps, plain, violations } from "./constraints";
import { type Json, type JsonTable, coreFields, toJson } from "./core";
import { ScenarioError } from "./errors";
import { field, model } from "./model";
import { type Part, type Value, kindOf, valueOf } from "./part";

/** Fields of a link that are texts, parts, and lists of parts. */
const TEXTS = ["rate", "return_rate", "delay", "return_delay", "buffer", "return_buffer", "host_buffer"];
const PARTS = ["policy", "return_policy", "host_policy", "loss", "return_loss", "access", "return_access"];
const LISTS = ["conditioners", "return_conditioners"];
/** Fields of a dumbbell that are parts of the links to its sinks. */
const EXITS = ["exit_access", "exit_return_access"];

/** Fields of a directed link other than its nodes; parts are numbers. */
interface PortFields {
    rate_bps: bigint;
    delay_ps: bigint;
    port: "host" | "switch";
    policy: number | null;
    buffer: { unit: string; limit: bigint } | null;
    loss: number;
    conditioners: number[];
    access: number | null;
}

/**
 * Distinct fields of directed links, the nodes of each link with the number of its fields, which the fields of the opposite
 * direction follow, and the flows with automatic windows [byte].
 */
interface Links {
    fields: PortFields[];
    links: [number, number, number][];
    windows: [number, number][];
}

/** A checked network. */
export class Topology {
    /** Links whose fields the scenario sets: those of a graph, or a dumbbell's trunk with the queues of the hosts' links. */
    readonly links: Part[];
    /** First flows of groups, and a copy of a flow for each additional part of its connection that a proxy splits off. */
    readonly flows: Part[];
    /** Policies, losses, conditioners and medium access of links, to which `PortFields` refer by number. */
    readonly parts = [plainPart("TailDrop"), plainPart("NoLoss")];
    private readonly core: Core;
    private readonly of: [number, number | null][];

    /** Checks a network with traffic for flows without own traffic. Throws ScenarioError with all problems. */
    constructor(
        readonly network: Part,
        traffic: Part,
    ) {
        const isGraph = kindOf(network) === "graph";
        this.links = isGraph ? (valueOf(network, "links") as Part[]) : [trunk(network)];
        const flows = firstFlows(network);
        const peps = pepsOf(network);
        this.core = refused(() => new Core(toJson(this.written(flows, traffic, peps))));
        this.of = JSON.parse(this.core.parts()) as [number, number | null][];
        const known = new Map<Part | null, Map<Part, Part>>();
        this.flows = this.of.map(([of, sender]) => withProxy(flows[of] as Part, sender === null ? null : (peps[sender]?.[1] as Part), known));
    }

    private written(flows: Part[], traffic: Part, peps: [string, Part][]): JsonTable {
        const { network } = this;
        const numbers = new Map<Value, number>();
        const number = (part: Value): number | null => {
            if (part === null) return null;
            const known = numbers.get(part) ?? this.parts.length;
            if (known === this.parts.length) this.parts.push(part as Part);
            numbers.set(part, known);
            return known;
        };
        const isGraph = kindOf(network) === "graph";
        const picked = (part: Part, names: string[]): Json[] => names.map((name) => (part.values[name] ?? null) as Json);
        const named = (part: Part, names: string[]): JsonTable => Object.fromEntries(names.map((name) => [name, (part.values[name] ?? null) as Json]));
        const groups = isGraph ? null : (valueOf(network, "group") as Part[] | null);
        const group = ["name", "count", "direction", "access_delay", "exit_delay"];
        return {
            dumbbell: isGraph
                ? null
                : {
                      ...named(network, ["sources", "access_rate", "access_delay", "exit_delay", "exit_rate", "exit_return_rate", "send_jitter"]),
                      ...Object.fromEntries(EXITS.map((name) => [name, number(network.values[name] ?? null)])),
                      groups: groups?.map((one) => picked(one, group)) ?? null,
                  },
            nodes: isGraph ? (valueOf(network, "nodes") as Part[]).map((node) => picked(node, ["name", "kind", "send_jitter"])) : [],
            links: isGraph ? this.links.map((link, i) => [...(valueOf(link, "between") as string[]), i]) : [],
            settings: this.links.map((link) => ({
                ...named(link, TEXTS),
                ...Object.fromEntries(PARTS.map((name) => [name, number(link.values[name] ?? null)])),
                ...Object.fromEntries(LISTS.map((name) => [name, ((link.values[name] ?? []) as Part[]).map(number)])),
            })),
            parts: this.parts.map((part) => [coreFields(part), violations(part), plain(part)]),
            flows: flows.map((flow) => {
                const [name, from, to, route, back, ofClass] = picked(flow, ["name", "from", "to", "route", "return_route", "class"]);
                const rate = ((valueOf(flow, "service") as Part | null)?.values["mcr"] ?? null) as Json;
                const own = (valueOf(flow, "traffic") ?? traffic) as Part;
                const splits = peps.length > 0 && valueOf(flow, "split") === true && model(own.part).transport === "tcp";
                return [name, from ?? "", to ?? "", route, back, ofClass, rate, timesOf(flow, "start"), timesOf(flow, "stop"), splits] as Json[];
            }),
            vbr: vbrOf(network).map((source) => named(source, ["name", "from", "to", "route", "rate", "period", "phase", "duty"])),
            peps: peps.map(([name, pep]) => [name, valueOf(pep, "buffer") as string]),
        };
    }

    /** Returns the name of the field of a flow; a part of a split connection has that of its flow. */
    flowField(i: number): string {
        const list = kindOf(this.network) === "graph" ? "flows" : "group";
        return `network.${list}[${this.of[i]?.[0] ?? i}]`;
    }

    /** Longest RTT [ms] of all flows without queues. */
    get longestRoundTripMs(): number {
        return this.core.longest_round_trip_ms();
    }

    /** Returns the problems of the network, other than those of routes and TCP. */
    problems(ports: Ports): string[] {
        return this.core.network_problems(ports);
    }

    /** Throws ScenarioError for a proxy's buffer, a class or a guaranteed rate that does not fit the network. */
    checkFlows(ports: Ports): void {
        refused(() => this.core.check_flows(ports));
    }

    /** Throws ScenarioError for an event that repeats more than a billion times in the run, and for endless bursts. */
    checkRepetition(scenario: Part, tcps: Part[], ports: Ports): void {
        const traffics = [valueOf(scenario, "traffic") as Part];
        const [distinct, traces] = [[...new Set(tcps)], valueOf(scenario, "traces") as Part];
        const flows = this.flows.map((flow, i): Json => {
            const [traffic, tcp] = [valueOf(flow, "traffic") as Part | null, valueOf(flow, "tcp") as Part | null];
            if (traffic !== null && !traffics.includes(traffic)) traffics.push(traffic);
            return [traffic === null ? null : traffics.indexOf(traffic), distinct.indexOf(tcps[i] as Part), tcp?.written.has("timer") === true];
        });
        const repeating = {
            duration: valueOf(scenario, "duration") as string,
            traffics: traffics.map((traffic) => [plain(traffic), model(traffic.part).repeats ?? null, model(traffic.part).transport === "tcp"]),
            tcps: distinct.map((tcp) => [valueOf(tcp, "mss") as string, plain(valueOf(tcp, "timer"))]),
            flows,
            sampling: valueOf(traces, "vc_queue") === true ? (valueOf(traces, "vc_queue_interval") as string) : null,
            most_pause: (field("OnOff", "period")?.type as { high: string }).high,
        };
        refused(() => this.core.check_repetition(ports, toJson(repeating)));
    }

    /**
     * Returns the VBR sources for the core. Throws ScenarioError unless switches have a queue for VBR, and each source has a
     * host and a suitable rate.
     */
    vbr(ports: Ports): JsonTable[] {
        const sources = exact(refused(() => this.core.vbr(ports))) as JsonTable[];
        const without = ["from", "to", "route", "period", "duty", "phase", "rate"];
        return vbrOf(this.network).map((source, i) => ({ ...coreFields(source, without), ...sources[i] }));
    }

    /** Returns both directions of each link with the buffers of their ports, and automatic windows. */
    directedLinks(ports: Ports): Links {
        return exact(refused(() => this.core.directed_links(ports))) as Links;
    }

    /** Returns all nodes for the core. */
    allNodes(): JsonTable[] {
        return exact(this.core.nodes()) as JsonTable[];
    }

    /**
     * Returns all flows for the core; `common` are the fields that the flows have in common with `flows`. Throws
     * ScenarioError for the first flow that does not start before the end of the run and stop after its start.
     */
    allFlows(scenario: Part, common: JsonTable[]): JsonTable[] {
        const duration = valueOf(scenario, "duration") as string;
        const times = toJson({ duration, start: timesOf(scenario, "start"), stop: timesOf(scenario, "stop") });
        const [ways, rows] = exact(refused(() => this.core.flows(times))) as [[number[], number[]][], [number, number, JsonTable][]];
        return rows.map(([of, way, own]): JsonTable => {
            const [route, back] = ways[way] as [number[], number[]];
            return { ...common[of], ...own, route, return_route: back };
        });
    }
}

/** Returns a part without written fields. */
export function plainPart(name: string, table: Record<string, unknown> = {}): Part {
    return checkPart(name, table, "", (field, problem) => {
        throw new ScenarioError([`${field}: ${problem}`]);
    });
}

function trunk(network: Part): Part {
    const own = { rate: valueOf(network, "trunk_rate"), delay: valueOf(network, "trunk_delay"), loss: valueOf(network, "trunk_loss") };
    return { part: "Link", values: { ...network.values, ...own }, written: network.written };
}

function firstFlows(network: Part): Part[] {
    if (kindOf(network) === "graph") return valueOf(network, "flows") as Part[];
    const groups = (valueOf(network, "group") ?? []) as Part[];
    return groups.length > 0 ? groups : [plainPart("Group", { name: "flow1" })];
}

/** Returns the VBR sources of a network; the engine knows the hosts of a dumbbell's source. */
function vbrOf(network: Part): Part[] {
    const source = valueOf(network, "vbr") as Part | Part[] | null;
    if (source === null || Array.isArray(source)) return source ?? [];
    const values = { ...source.values, name: "vbr", from: "", to: "", route: null };
    return [{ part: "VbrFlow", values, written: source.written }];
}

/** Returns the proxies of a network with the names of their switches. */
function pepsOf(network: Part): [string, Part][] {
    const nodes = kindOf(network) === "graph" ? (valueOf(network, "nodes") as Part[]) : [network];
    return nodes.flatMap((node): [string, Part][] => {
        const pep = (node.values["pep"] ?? null) as Part | null;
        return pep === null ? [] : [[String(pep.values["at"] ?? node.values["name"]), pep]];
    });
}

/** Returns a flow with the TCP fields of a proxy; equal combinations share them. */
function withProxy(flow: Part, pep: Part | null, known: Map<Part | null, Map<Part, Part>>): Part {
    const own = pep === null ? null : (valueOf(pep, "tcp") as Part | null);
    if (own === null) return flow;
    const tcp = valueOf(flow, "tcp") as Part | null;
    const over = known.get(tcp) ?? new Map<Part, Part>();
    known.set(tcp, over);
    const set = Object.fromEntries([...own.written].map((name) => [name, valueOf(own, name)]));
    const merged = over.get(own) ?? { ...own, values: { ...(tcp ?? own).values, ...set }, written: new Set([...(tcp?.written ?? []), ...own.written]) };
    over.set(own, merged);
    return { ...flow, values: { ...flow.values, tcp: merged } };
}

/** Returns the kind of a start or stop, and its times. */
function timesOf(part: Part, name: string): Json {
    const chosen = valueOf(part, name) as Part | null;
    return chosen === null ? null : model(chosen.part).fields.map((field) => chosen.values[field.name] as Json);
}

/**
 * Returns the ports of switches and the TCP of flows as the engine reads them; `datagrams` are the payloads [byte] of all
 * flows if none uses TCP.
 */
export function portsOf(scenario: Part, tcps: Part[], datagrams: bigint[]): Ports {
    const switches = valueOf(scenario, "switch") as Part;
    const policy = valueOf(switches, "policy") as Part;
    const distinct = [...new Set(tcps)];
    const fields = {
        cells: valueOf(scenario, "framing") === "aal5",
        buffer: valueOf(switches, "buffer") as string,
        policy: [coreFields(policy), violations(policy), plain(policy)],
        scheduler: kindOf(valueOf(switches, "scheduler") as Part),
        ties: valueOf(switches, "ties") as string,
        tcps: distinct.map((tcp) => [valueOf(tcp, "mss") as string, hasTimestamps(tcp), valueOf(tcp, "receiver_window") as string]),
        tcp_of: tcps.map((tcp) => distinct.indexOf(tcp)),
        datagrams,
        most_window: (field("Tcp", "receiver_window")?.type as { high: string }).high,
    };
    return new Ports(toJson(fields));
}

/** Calls the engine, and converts its exception. */
function refused<T>(call: () => T): T {
    try {
        return call();
    } catch (error) {
        if (!(error instanceof Error) || error instanceof WebAssembly.RuntimeError) throw error;
        throw new ScenarioError(error.message.split("\n"));
    }
}

/** Parses JSON, in which quantities, which a float may be unable to represent, become bigints. */
function exact(text: string): unknown {
    const quoted = text.replaceAll(/("(?:\w+_bps|\w+_ps|limit)":)(\d+)/g, '$1"$2"');
    return JSON.parse(quoted, (key, value: unknown) => (/_bps$|_ps$|^limit$/.test(key) ? BigInt(value as string) : value));
}
