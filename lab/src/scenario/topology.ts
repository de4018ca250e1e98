/** The network of a scenario: nodes, links, routes, buffers, windows and starts of flows (see crates/scenario). */
import { Topology as Core } from "../../build/engine/engine";
import { plainPart } from "./check";
import { facts, tcpRow } from "./connections";
import { violations } from "./constraints";
import { type Json, type JsonTable, coreFields, plain, toJson } from "./core";
import { ScenarioError } from "./errors";
import { model } from "./model";
import { type Part, type Value, kindOf, valueOf } from "./part";
import { SIZE } from "./units";

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

/** What the engine resolves; see `Resolved` in crates/scenario/src/resolve.rs. */
export interface Made {
    nodes: JsonTable[];
    fields: PortFields[];
    links: [number, number, number][];
    tcps: { fields: JsonTable; scalable: boolean }[];
    tcp_of: number[];
    ways: [number[], number[]][];
    flows: [number, number, JsonTable][];
    vbr: JsonTable[];
}

/** Different parts, by number; the same object has one number. */
class Numbered<P> {
    private readonly numbers: Map<P, number>;

    constructor(readonly parts: P[]) {
        this.numbers = new Map(parts.map((part, i) => [part, i]));
    }

    /** Returns the number of a part. */
    of(part: P): number {
        const known = this.numbers.get(part) ?? this.parts.push(part) - 1;
        this.numbers.set(part, known);
        return known;
    }
}

/** A checked network. */
export class Topology {
    /** Links whose fields the scenario sets: those of a graph, or a dumbbell's trunk with the queues of the hosts' links. */
    readonly links: Part[];
    /** First flows of groups, and a copy of a flow for each additional part of its connection that a proxy splits off. */
    readonly flows: Part[];
    /** Policies, losses, conditioners and medium access of links, to which `PortFields` refer by number. */
    readonly parts = new Numbered([plainPart("TailDrop"), plainPart("NoLoss")]);
    readonly vbr: Part[];
    /** Settings of TCP and traffic of flows, after null for those of the scenario. */
    private readonly tcps = new Numbered<Part | null>([null]);
    private readonly traffics = new Numbered<Part | null>([null]);
    private readonly core: Core;

    /** Checks a network with traffic for flows without own traffic. Throws ScenarioError with all problems. */
    constructor(
        readonly network: Part,
        traffic: Part,
    ) {
        const isGraph = kindOf(network) === "graph";
        this.vbr = vbrOf(network);
        this.links = isGraph ? (valueOf(network, "links") as Part[]) : [trunk(network)];
        const flows = firstFlows(network);
        const peps = pepsOf(network);
        this.core = refused(() => new Core(toJson(this.written(flows, traffic, peps))));
        this.flows = (JSON.parse(this.core.parts()) as [number, number | null][]).map(([of]) => flows[of] as Part);
    }

    private written(flows: Part[], traffic: Part, peps: [string, Part][]): JsonTable {
        const { network } = this;
        const number = (part: Value): number | null => (part === null ? null : this.parts.of(part as Part));
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
            parts: this.parts.parts.map((part) => [coreFields(part), violations(part), plain(part)]),
            flows: flows.map((flow) => {
                const [name, from, to, route, back, ofClass] = picked(flow, ["name", "from", "to", "route", "return_route", "class"]);
                const rate = ((valueOf(flow, "service") as Part | null)?.values["mcr"] ?? null) as Json;
                const own = (valueOf(flow, "traffic") ?? traffic) as Part;
                const splits = peps.length > 0 && valueOf(flow, "split") === true && model(own.part).transport === "tcp";
                const [tcp, traffics] = [this.tcps.of(valueOf(flow, "tcp") as Part | null), this.traffics.of(valueOf(flow, "traffic") as Part | null)];
                return [name, from ?? "", to ?? "", route, back, ofClass, tcp, traffics, rate, timesOf(flow, "start"), timesOf(flow, "stop"), splits] as Json[];
            }),
            vbr: this.vbr.map((source) => named(source, ["name", "from", "to", "route", "rate", "period", "phase", "duty"])),
            peps: peps.map(([name, pep]) => [name, valueOf(pep, "buffer") as string, this.tcps.of(valueOf(pep, "tcp") as Part | null)]),
        };
    }

    /** Longest RTT [ms] of all flows without queues. */
    get longestRoundTripMs(): number {
        return this.core.longest_round_trip_ms();
    }

    /** Resolves the scenario of the network. Throws ScenarioError with a line for each problem. */
    resolve(scenario: Part): Made {
        const [switches, traces] = [valueOf(scenario, "switch") as Part, valueOf(scenario, "traces") as Part];
        const policy = valueOf(switches, "policy") as Part;
        const own = (parts: Numbered<Part | null>): Part[] => parts.parts.slice(1) as Part[];
        const settings = {
            cells: valueOf(scenario, "framing") === "aal5",
            duration: valueOf(scenario, "duration") as string,
            start: timesOf(scenario, "start"),
            stop: timesOf(scenario, "stop"),
            sampling: valueOf(traces, "vc_queue") === true ? (valueOf(traces, "vc_queue_interval") as string) : null,
            buffer: valueOf(switches, "buffer") as string,
            policy: [coreFields(policy), violations(policy), plain(policy)],
            scheduler: kindOf(valueOf(switches, "scheduler") as Part),
            ties: valueOf(switches, "ties") as string,
            tcps: [tcpRow(valueOf(scenario, "tcp") as Part), ...own(this.tcps).map((tcp) => tcpRow(tcp, [...tcp.written]))],
            traffics: [valueOf(scenario, "traffic") as Part, ...own(this.traffics)].map((traffic): Json => {
                const { repeats, transport } = model(traffic.part);
                const payload = transport === "datagrams" ? SIZE.parse(String(valueOf(traffic, "payload"))) : null;
                return [plain(traffic), repeats ?? null, transport as string, payload, null];
            }),
        };
        return exact(refused(() => this.core.resolve(facts(), toJson(settings)))) as Made;
    }
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

/** Returns the kind of a start or stop, and its times. */
function timesOf(part: Part, name: string): Json {
    const chosen = valueOf(part, name) as Part | null;
    return chosen === null ? null : model(chosen.part).fields.map((field) => chosen.values[field.name] as Json);
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
export function exact(text: string): unknown {
    const quoted = text.replaceAll(/("(?:\w+_bps|\w+_ps|limit)":)(\d+)/g, '$1"$2"');
    return JSON.parse(quoted, (key, value: unknown) => (typeof value === "string" && /_bps$|_ps$|^limit$/.test(key) ? BigInt(value) : value));
}
