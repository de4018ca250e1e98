/** The resolved scenario, as the core requires it: every field is present, and every quantity is an integer. */
import { type Packet, autoWindow, bufferOf, datagramOf, packetOf } from "./buffers";
import { checkPart, parts } from "./check";
import { checkBegin, checkClasses, checkDatagrams, checkStands, checkTogether, checkVbr } from "./checks";
import { leastWindowScale } from "./constraints";
import { type Json, type JsonTable, coreFields } from "./core";
import { ScenarioError } from "./errors";
import { asGraph, flowField } from "./graph";
import { DESCRIPTION } from "./model";
import { moduleOf } from "./modules";
import { type Part, kindOf, valueOf } from "./part";
import { byRules } from "./profiles";
import { Rational } from "./rational";
import { Topology, between } from "./topology";
import { RATE, TIME } from "./units";

/** A scenario that can be run: its checked parts, and the resolved scenario for the core. */
export interface Resolved {
    scenario: Part;
    topology: Topology;
    core: JsonTable;
    /** Whether Python resolved it when the page was built; its fields then cannot be changed. */
    fixed?: true;
}

/** Creates a scenario from its fields as specified in a file. Throws ScenarioError with all problems. */
export function resolve(fields: Record<string, unknown>): Resolved {
    checkStands(fields["network"]);
    const problems: string[] = [];
    let scenario = checkPart("Scenario", fields, "", (field, problem) => {
        problems.push(...problem.split("\n").map((line) => (field === "" ? line : `${field}: ${line}`)));
    });
    if (problems.length > 0) throw new ScenarioError([...new Set(problems)]);
    scenario = withBuffer(scenario);
    const topology = new Topology(asGraph(valueOf(scenario, "network") as Part));
    return { scenario, topology, core: coreOf(scenario, topology) };
}

/** Returns the scenario; the default buffer of IP routers is added if it does not specify one. */
function withBuffer(scenario: Part): Part {
    const switches = valueOf(scenario, "switch") as Part;
    if (valueOf(scenario, "framing") !== "ip" || switches.written.has("buffer")) return scenario;
    const filled = { ...switches, values: { ...switches.values, buffer: DESCRIPTION.buffer_of_routers } };
    return { ...scenario, values: { ...scenario.values, switch: filled } };
}

function coreOf(scenario: Part, topology: Topology): JsonTable {
    const { graph } = topology;
    let tcps = merged(valueOf(scenario, "tcp") as Part, graph.flows);
    checkDatagrams(scenario, graph.flows);
    const most = largest(graph.flows.map((flow) => (valueOf(flow, "traffic") ?? valueOf(scenario, "traffic")) as Part), tcps);
    if (tcps.some((tcp) => valueOf(tcp, "receiver_window") === "auto")) {
        const known = links(scenario, topology, most);
        tcps = fitted(tcps, topology, known);
    }
    checkTogether(scenario, topology, tcps);
    checkClasses(scenario, topology);
    const switches = valueOf(scenario, "switch") as Part;
    const core = {
        ...coreFields(scenario, ["name", "network", "switch", "tcp", "traffic", "start", "stop"]),
        ...coreFields(switches, ["buffer", "policy", "scheduler"]),
        nodes: graph.nodes.map((node) => coreFields(node, ["pep"])),
        links: links(scenario, topology, most),
        flows: flows(scenario, topology, tcps),
        vbr: vbr(scenario, topology),
    };
    checkStops(scenario, graph.flows, core.flows);
    return core;
}

/** Returns the TCP parameters of each flow; flows with equal settings share one object. */
function merged(tcp: Part, all: Part[]): Part[] {
    const known = new Map<Part | null, Part>();
    return all.map((flow) => {
        const own = valueOf(flow, "tcp") as Part | null;
        let found = known.get(own);
        if (found === undefined) {
            const values = { ...tcp.values };
            for (const name of own?.written ?? []) values[name] = valueOf(own as Part, name);
            if (own !== null) {
                ruleCongestion(own, values);
                firstRoundTrip(own, values);
            }
            found = own === null ? tcp : { ...tcp, values };
            known.set(own, found);
        }
        return found;
    });
}

/**
 * Adds to a flow's own congestion controller the options that it does not set: those of the flow's or the scenario's
 * profile.
 */
function ruleCongestion(own: Part, values: Part["values"]): void {
    if (!own.written.has("congestion")) return;
    const chosen = values["congestion"] as Part;
    const ruled = byRules(String(values["profile"]), kindOf(chosen), saidOf(chosen));
    if (ruled !== undefined) values["congestion"] = { ...chosen, values: { ...chosen.values, ...(ruled as Part["values"]) } };
}

/** Options that the scenario sets explicitly. */
function saidOf(part: Part): Part["values"] {
    return Object.fromEntries([...part.written].filter((name) => name !== "kind").map((name) => [name, valueOf(part, name)]));
}

/** A handshake and a known RTT exclude each other: if the flow sets one of them, it replaces the scenario's. */
function firstRoundTrip(own: Part, values: Part["values"]): void {
    if (!own.written.has("handshake") && own.written.has("initial_rtt")) {
        if (TIME.parse(String(values["initial_rtt"])) > 0n) values["handshake"] = false;
    } else if (!own.written.has("initial_rtt") && own.written.has("handshake") && values["handshake"] === true) {
        values["initial_rtt"] = "0 s";
    }
}

/** Returns the longest full segment of all flows, or the longest datagram if no flow uses TCP. */
function largest(traffics: Part[], tcps: Part[]): Packet {
    const datagrams = traffics.every((traffic) => DESCRIPTION.datagrams.includes(kindOf(traffic)));
    const packets = datagrams ? [...new Set(traffics)].map(datagramOf) : [...new Set(tcps)].map(packetOf);
    return packets.reduce((most, packet) => (packet.bytes > most.bytes ? packet : most));
}

function fitted(tcps: Part[], topology: Topology, known: JsonTable[]): Part[] {
    const made = new Map<Part, Map<bigint, Part>>();
    return tcps.map((tcp, i) => {
        if (valueOf(tcp, "receiver_window") !== "auto") return tcp;
        const [there, back] = topology.routes[i] as [number[], number[]];
        const window = autoWindow(packetOf(tcp), known, there, back);
        const windows = made.get(tcp) ?? new Map<bigint, Part>();
        made.set(tcp, windows);
        const found = windows.get(window) ?? { ...tcp, values: { ...tcp.values, receiver_window: `${window} B` } };
        windows.set(window, found);
        return found;
    });
}

/** Returns both directions of each link of the graph, each with its port. */
function links(scenario: Part, topology: Topology, packet: Packet): JsonTable[] {
    const switches = valueOf(scenario, "switch") as Part;
    const plain = (part: string): JsonTable => coreFields(checkPart(part, {}, "", () => undefined));
    const hostPort = { buffer: null, policy: plain("TailDrop"), scheduler: plain("Fifo") };
    const policy = coreFields(valueOf(switches, "policy") as Part);
    const scheduler = coreFields(valueOf(switches, "scheduler") as Part);
    return topology.graph.links.flatMap((link, i) => {
        const own = valueOf(link, "policy") as Part | null;
        const ownBack = valueOf(link, "return_policy") as Part | null;
        const returning = ownBack === null ? null : coreFields(ownBack);
        const buffers = buffersOf(scenario, topology, packet, i);
        return [0, 1].map((back): JsonTable => {
            const [a, b] = back === 0 ? between(link) : ([...between(link)].reverse() as [string, string]);
            const loss = valueOf(link, back === 0 ? "loss" : "return_loss") as Part;
            const port = topology.kinds.get(a) === "switch" ? { buffer: buffers[back] ?? null } : hostPort;
            return {
                from: topology.position.get(a) as number,
                to: topology.position.get(b) as number,
                rate_bps: RATE.parse(topology.rates[2 * i + back] as string),
                delay_ps: topology.delaysPs[2 * i + back] as bigint,
                policy: (back === 1 ? returning : null) ?? (own === null ? policy : coreFields(own)),
                scheduler,
                ...port,
                loss: coreFields(loss),
            };
        });
    });
}

/** Returns the buffers of a link's two ports: of its first node and of its second node. */
function buffersOf(scenario: Part, topology: Topology, packet: Packet, i: number): (JsonTable | null)[] {
    const network = valueOf(scenario, "network") as Part;
    const link = topology.graph.links[i] as Part;
    const dumbbell = kindOf(network) === "dumbbell";
    // At all ports of a dumbbell, 1 BDP is computed with the trunk's rate.
    const rate = String(dumbbell ? valueOf(network, "trunk_rate") : valueOf(link, "rate"));
    const of = (field: string, text: string, at: string): JsonTable | null => {
        const pipe = { rateBps: RATE.parse(at), roundTripPs: topology.longestRoundTripPs };
        return bufferOf(field, text, String(valueOf(scenario, "framing")), pipe, packet);
    };
    const [own, back] = [valueOf(link, "buffer"), valueOf(link, "return_buffer")];
    const [field, text] =
        own === null
            ? ["switch.buffer", String(valueOf(valueOf(scenario, "switch") as Part, "buffer"))]
            : [`network.links[${i}].buffer`, String(own)];
    const first = of(field, text, rate);
    const returnRate = valueOf(link, "return_rate");
    if (back === null && returnRate === null) return [first, first];
    const at = returnRate === null ? rate : String(returnRate);
    if (back === null) return [first, of(field, text, at)];
    const where = dumbbell ? "network.return_buffer" : `network.links[${i}].return_buffer`;
    return [first, of(where, String(back), at)];
}

function flows(scenario: Part, topology: Topology, tcps: Part[]): JsonTable[] {
    const shared = new Map([...new Set(tcps)].map((tcp) => [tcp, coreTcp(tcp)]));
    const traffic = coreFields(valueOf(scenario, "traffic") as Part);
    return topology.graph.flows.map((flow, i): JsonTable => {
        const own = valueOf(flow, "traffic") as Part | null;
        const [route, back] = topology.routes[i] as [number[], number[]];
        return {
            ...coreFields(flow, ["from", "to", "route", "return_route", "tcp", "traffic", "start", "stop"]),
            route,
            return_route: back,
            tcp: shared.get(tcps[i] as Part) as JsonTable,
            traffic: own === null ? traffic : coreFields(own),
            start: start(scenario, i, flow),
            ...(saysEct1(tcps[i] as Part) ? { scalable: true } : {}),
            ...stop(scenario, flow),
        };
    });
}

function saysEct1(tcp: Part): boolean {
    const ecn = valueOf(tcp, "ecn") as Part;
    return ["dctcp", "accurate"].includes(kindOf(ecn)) && Number(valueOf(ecn, "ect")) === 1;
}

function coreTcp(tcp: Part): JsonTable {
    const scale = valueOf(tcp, "window_scale");
    const fields = coreFields(tcp, ["profile"]);
    // ECT(1) is a property of the flow in the network, not of TCP.
    const ecn = valueOf(tcp, "ecn") as Part;
    if (kindOf(ecn) === "accurate") {
        fields.ecn = { kind: "accurate", abe: valueOf(ecn, "abe") as boolean };
        if (valueOf(ecn, "option") === true) fields.ecn.option = true;
    } else if (saysEct1(tcp)) fields.ecn = { kind: "dctcp" };
    const congestion = valueOf(tcp, "congestion") as Part;
    if (kindOf(congestion) === "module") fields.congestion = coreModule(congestion, valueOf(tcp, "hz") as bigint);
    return { ...fields, ...flatOptions(congestion), window_scale: typeof scale === "string" ? leastWindowScale(tcp) : (scale as bigint) };
}

/** Returns the fields of the resolved form with the options of AIMD and Vegas, whichever controller is selected. */
function flatOptions(congestion: Part): JsonTable {
    const [aimd, vegas] = ["Aimd", "Vegas"].map((name) =>
        coreFields(congestion.part === name ? congestion : checkPart(name, {}, "", () => undefined), ["kind"]),
    ) as [JsonTable, JsonTable];
    return { ...aimd, vegas };
}

/** Converts a module for the core: its digest, and its own clock or that of TCP. */
function coreModule(module: Part, hz: bigint): JsonTable {
    const { parameters } = coreFields(module) as { parameters: Json };
    const digest = moduleOf(String(valueOf(module, "file")))?.digest ?? "";
    return { kind: "module", digest, parameters, hz: (valueOf(module, "hz") ?? hz) as bigint };
}

/** Returns the time at which a flow stops writing data, if there is one. */
function stop(scenario: Part, flow: Part): JsonTable {
    const chosen = (valueOf(flow, "stop") ?? valueOf(scenario, "stop")) as Part | null;
    return chosen === null ? {} : { stop: coreFields(chosen) };
}

/** Throws ScenarioError for the first flow whose stop is not after its (earliest) start. */
function checkStops(scenario: Part, all: Part[], resolved: JsonTable[]): void {
    for (const [i, flow] of all.entries()) {
        const row = resolved[i] as JsonTable;
        const begin = row.start as JsonTable;
        const beginPs = (begin["from_ps"] ?? begin["at_ps"]) as bigint;
        const atPs = (row.stop as JsonTable | undefined)?.["at_ps"] as bigint | undefined;
        if (atPs !== undefined && atPs <= beginPs) {
            const own = valueOf(flow, "stop") !== null;
            const field = own ? `${flowField(valueOf(scenario, "network") as Part, i)}.stop` : "stop";
            const of = `${field} of flow '${String(valueOf(flow, "name"))}'.at`;
            throw new ScenarioError([`${of}: ${TIME.format(atPs)}; needs more than the start, ${TIME.format(beginPs)}`]);
        }
    }
}

function start(scenario: Part, i: number, flow: Part): JsonTable {
    const own = valueOf(flow, "start") as Part | null;
    const chosen = own ?? (valueOf(scenario, "start") as Part);
    const field = own === null ? "start" : `${flowField(valueOf(scenario, "network") as Part, i)}.start`;
    const duration = String(valueOf(scenario, "duration"));
    if (kindOf(chosen) === "staggered") {
        const [first, interval] = ["first", "interval"].map((name) => TIME.parse(String(valueOf(chosen, name))));
        const at = (first as bigint) + BigInt(i) * (interval as bigint);
        checkBegin(duration, `${field} of flow '${String(valueOf(flow, "name"))}'`, at);
        return { kind: "fixed", at_ps: at };
    }
    const core = coreFields(chosen);
    const name = kindOf(chosen) === "random" ? "from" : "at";
    checkBegin(duration, `${field}.${name}`, core[`${name}_ps`] as bigint);
    return core;
}

function vbr(scenario: Part, topology: Topology): JsonTable[] {
    checkVbr(scenario, topology);
    return topology.graph.vbr.map((source, i): JsonTable => {
        const route = topology.vbrRoutes[i] as number[];
        const on = TIME.parse(String(valueOf(source, "period")));
        const rate = valueOf(source, "rate");
        const duty = parts(Number(valueOf(source, "duty")), 0);
        return {
            ...coreFields(source, ["from", "to", "route", "period", "duty", "phase", "rate"]),
            route,
            peak_bps: RATE.parse(rate === null ? topology.slowestRate(route) : String(rate)),
            on_ps: on,
            off_ps: Rational.of(on).over(duty).round() - on,
            start_ps: TIME.parse(String(valueOf(source, "phase"))),
        };
    });
}
