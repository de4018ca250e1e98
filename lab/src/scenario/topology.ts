/** The network of a scenario: routes, buffers and windows, which the engine computes (see crates/scenario). */
import { Topology as Core, decimal } from "../../build/engine/engine";
import { type Packet } from "./buffers";
import { type Json, type JsonTable, toJson } from "./core";
import { ScenarioError } from "./errors";
import type { Graph } from "./graph";
import { type Part, type Value, kindOf, valueOf } from "./part";
import { SIZE } from "./units";

/** Fields of a link that are texts, parts, and lists of parts. */
const TEXTS = ["rate", "return_rate", "delay", "return_delay", "buffer", "return_buffer", "host_buffer"];
const PARTS = ["policy", "return_policy", "host_policy", "loss", "return_loss"];
const LISTS = ["conditioners", "return_conditioners"];
const LARGEST_WINDOW = "1 GiB";

/** Fields of a directed link other than its nodes; parts are numbers. */
interface PortFields {
    rate_bps: bigint;
    delay_ps: bigint;
    port: "host" | "switch";
    policy: number | null;
    buffer: { unit: string; limit: bigint } | null;
    loss: number;
    conditioners: number[];
}

/** Directed links by their nodes and the number of their fields, and automatic windows [byte]. */
interface DirectedLinks {
    fields: PortFields[];
    links: [number, number, number][];
    windows: bigint[];
}

/** A checked graph; link k consists of the directed links 2k (as written) and 2k + 1 (reverse). */
export class Topology {
    readonly routes: [number[], number[]][];
    readonly vbrRoutes: number[][];
    /** Policies, losses and conditioners of links, to which `PortFields` refer by number. */
    readonly parts: Part[] = [];
    private readonly core: Core;

    /** Throws ScenarioError with all problems of the graph of a network. */
    constructor(
        readonly graph: Graph,
        network: Part,
    ) {
        this.core = refused(() => new Core(toJson(this.written(network))));
        const [ways, numbers, vbr] = JSON.parse(this.core.routes()) as [[number[], number[]][], number[], number[][]];
        this.routes = numbers.map((number) => ways[number] as [number[], number[]]);
        this.vbrRoutes = vbr;
    }

    private written(network: Part): JsonTable {
        const numbers = new Map<Value, number>();
        const number = (part: Value): number | null => {
            if (part === null) return null;
            const known = numbers.get(part) ?? numbers.size;
            if (known === this.parts.length) this.parts.push(part as Part);
            numbers.set(part, known);
            return known;
        };
        const { nodes, links, flows, vbr } = this.graph;
        const dumbbell = kindOf(network) === "dumbbell";
        const groups = dumbbell ? ((valueOf(network, "group") ?? []) as Part[]) : [];
        const picked = (part: Part, names: string[]): Json[] => names.map((name) => valueOf(part, name) as Json);
        return {
            dumbbell,
            groups: groups.map((group) => valueOf(group, "count") as Json),
            nodes: nodes.map((node) => picked(node, ["name", "kind", "send_jitter"])),
            links: links.map((link, i) => [...(valueOf(link, "between") as string[]), i]),
            settings: links.map((link) => ({
                ...Object.fromEntries(TEXTS.map((name) => [name, valueOf(link, name) as Json])),
                ...Object.fromEntries(PARTS.map((name) => [name, number(valueOf(link, name))])),
                ...Object.fromEntries(LISTS.map((name) => [name, (valueOf(link, name) as Part[]).map(number)])),
            })),
            parts: this.parts.map(factsOf),
            flows: flows.map((flow) => {
                const service = valueOf(flow, "service") as Part | null;
                const rate = service === null ? null : ((service.values["mcr"] ?? null) as Json);
                return [...picked(flow, ["name", "from", "to", "route", "return_route", "class"]), rate];
            }),
            vbr: vbr.map((source) => {
                const names = ["name", "from", "to", "route", "rate", "period", "phase"];
                const duty = decimal(Number(valueOf(source, "duty")));
                return { ...Object.fromEntries(names.map((name) => [name, valueOf(source, name) as Json])), duty };
            }),
        };
    }

    /** Longest RTT [ms] of all flows without queues. */
    get longestRoundTripMs(): number {
        return this.core.longest_round_trip_ms();
    }

    /** Returns the problems of routes and of queues at hosts. */
    problems(framing: Value): string[] {
        return this.core.network_problems(framing === "aal5");
    }

    /** Throws ScenarioError for a flow whose class is not among those of a port; `policy` is that of the switches. */
    checkClasses(policy: Part): void {
        refused(() => this.core.check_classes(toJson(factsOf(policy))));
    }

    /** Throws ScenarioError if a flow cannot have its guaranteed rate. */
    checkGuarantees(framing: Value): void {
        refused(() => this.core.check_guarantees(framing === "aal5"));
    }

    /**
     * Returns routes, rates and times of VBR sources for the core. Throws ScenarioError unless switches have a queue for
     * VBR, and each source has a host and a suitable rate.
     */
    vbr(scheduler: string): JsonTable[] {
        return exact(refused(() => this.core.vbr(scheduler))) as JsonTable[];
    }

    /**
     * Returns both directions of each link with the buffers of their ports, and the windows of the flows with these
     * numbers and full packets.
     */
    directedLinks(scenario: Part, largest: Packet, windows: { flow: number; packet: Packet }[]): DirectedLinks {
        const [network, switches] = ["network", "switch"].map((name) => valueOf(scenario, name)) as [Part, Part];
        const ports = toJson({
            cells: valueOf(scenario, "framing") === "aal5",
            trunk_rate: kindOf(network) === "dumbbell" ? (valueOf(network, "trunk_rate") as string) : null,
            buffer: valueOf(switches, "buffer") as string,
            policy: factsOf(valueOf(switches, "policy") as Part),
            largest: { ...largest },
            windows: windows.map(({ flow, packet }) => [flow, packet.bytes, SIZE.parse(LARGEST_WINDOW)]),
        });
        return exact(refused(() => this.core.directed_links(ports))) as DirectedLinks;
    }
}

/** Returns the kind of a part, the rate of a shaper, the mean delay of jitter, and the number of classes. */
function factsOf(part: Part): Json[] {
    const kind = kindOf(part);
    const get = (name: string, kinds: string[]): Json => (kinds.includes(kind) ? (valueOf(part, name) as Json) : null);
    const classes = kind === "weighted-priority" ? (valueOf(part, "weights") as Value[]).length : get("classes", ["strict-priority"]);
    return [kind, get("rate", ["tbf", "cake"]), get("delay", ["jitter"]), classes];
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
