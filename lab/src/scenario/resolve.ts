/** The resolved scenario, as the core requires it: every field is present, and every quantity is an integer. */
import type { Ports } from "../../build/engine/engine";
import { checkPart } from "./check";
import { checkStands, checkTogether, refuse } from "./checks";
import { leastWindowScale } from "./constraints";
import { type Json, type JsonTable, coreFields, coreOfLink } from "./core";
import { ofFile } from "./defaults";
import { ScenarioError } from "./errors";
import { DESCRIPTION, field } from "./model";
import { moduleOf } from "./modules";
import { type Part, kindOf, valueOf } from "./part";
import { byRules } from "./profiles";
import { Topology, plainPart, portsOf } from "./topology";
import { SIZE, TIME } from "./units";

/** A scenario that can be run: its checked parts, and the resolved scenario for the core. */
export interface Resolved {
    scenario: Part;
    topology: Topology;
    core: JsonTable;
    /** Names of the flows. */
    flows: string[];
    /** Whether Python resolved it when the page was built; its fields then cannot be changed. */
    fixed?: true;
}

/** Creates a scenario from its fields, or from those of a file, with a schema. Throws ScenarioError with all problems. */
export function resolve(given: Record<string, unknown>): Resolved {
    const fields = "schema" in given ? ofFile(given) : given;
    checkStands(fields["network"]);
    const problems: string[] = [];
    let scenario = checkPart("Scenario", fields, "", (field, problem) => {
        problems.push(...problem.split("\n").map((line) => (field === "" ? line : `${field}: ${line}`)));
    });
    if (problems.length > 0) throw new ScenarioError([...new Set(problems)]);
    scenario = withBuffer(scenario);
    const topology = new Topology(valueOf(scenario, "network") as Part, valueOf(scenario, "traffic") as Part);
    const core = coreOf(scenario, topology);
    // A connection that a proxy splits ends with its own flow, and the other parts are no flows of the scenario.
    const flows = (core["flows"] as JsonTable[]).filter((flow) => flow["onward"] === undefined).map((flow) => String(flow["name"]));
    return { scenario, topology, core, flows };
}

/** Returns the scenario; the default buffer of ATM switches is added if it does not specify one. */
function withBuffer(scenario: Part): Part {
    const switches = valueOf(scenario, "switch") as Part;
    if (valueOf(scenario, "framing") !== "aal5" || switches.written.has("buffer")) return scenario;
    const filled = { ...switches, values: { ...switches.values, buffer: DESCRIPTION.buffer_of_cells } };
    return { ...scenario, values: { ...scenario.values, switch: filled } };
}

/** Returns the resolved scenario, after the checks that need all of its parts. */
function coreOf(scenario: Part, topology: Topology): JsonTable {
    let tcps = merged(valueOf(scenario, "tcp") as Part, topology.flows);
    const ports = portsOf(scenario, tcps, datagrams(topology.flows.map((flow) => (valueOf(flow, "traffic") ?? valueOf(scenario, "traffic")) as Part)));
    let links: JsonTable[] | null = null;
    if (tcps.some((tcp) => valueOf(tcp, "receiver_window") === "auto")) {
        // Windows are computed from the links, which have to be valid.
        refuse(topology.problems(ports));
        [links, tcps] = linksAndWindows(scenario, topology, ports, tcps);
    }
    checkTogether(scenario, topology, tcps, ports);
    topology.checkFlows(ports);
    topology.checkRepetition(scenario, tcps, ports);
    links ??= linksAndWindows(scenario, topology, ports, tcps)[0];
    const switches = valueOf(scenario, "switch") as Part;
    return {
        ...coreFields(scenario, ["name", "defaults", "network", "switch", "tcp", "traffic", "start", "stop"]),
        ...coreFields(switches, ["buffer", "policy", "scheduler"]),
        nodes: topology.allNodes(),
        links,
        flows: topology.allFlows(scenario, commonFields(scenario, topology.flows, tcps)),
        vbr: topology.vbr(ports),
    };
}

/** Returns the TCP parameters of each flow; flows with equal settings share one object. */
function merged(tcp: Part, all: Part[]): Part[] {
    const mergedOf = new Map<Part | null, Part>();
    return all.map((flow) => {
        const own = valueOf(flow, "tcp") as Part | null;
        let result = mergedOf.get(own);
        if (result === undefined) {
            const values = { ...tcp.values };
            for (const name of own?.written ?? []) values[name] = valueOf(own as Part, name);
            if (own !== null) {
                ruleCongestion(own, values);
                firstRoundTrip(own, values);
            }
            result = own === null ? tcp : { ...tcp, values };
            mergedOf.set(own, result);
        }
        return result;
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
        values["initial_rtt"] = field("Tcp", "initial_rtt")?.default as string;
    }
}

/** Returns the payloads [byte] of the flows' datagrams; empty if a flow uses TCP. */
function datagrams(traffics: Part[]): bigint[] {
    if (!traffics.every((traffic) => DESCRIPTION.datagrams.includes(kindOf(traffic)))) return [];
    return [...new Set(traffics)].map((traffic) => SIZE.parse(String(valueOf(traffic, "payload"))));
}

/** Returns both directions of each link, each with its port, and each flow's TCP with a window in bytes. */
function linksAndWindows(scenario: Part, topology: Topology, ports: Ports, tcps: Part[]): [JsonTable[], Part[]] {
    const { fields, links, windows } = topology.directedLinks(ports);
    const [policy, scheduler] = ["policy", "scheduler"].map((name) => coreFields(valueOf(valueOf(scenario, "switch") as Part, name) as Part));
    const of: Record<string, JsonTable> = { host: { scheduler: coreFields(plainPart("Fifo")) }, switch: { policy, scheduler } as JsonTable };
    const part = (number: number): JsonTable => coreOfLink(topology.parts[number] as Part);
    const rows = fields.map(({ port, policy, loss, conditioners, access, ...rest }): JsonTable => ({
        ...rest,
        ...of[port],
        ...(policy === null ? {} : { policy: part(policy) }),
        loss: part(loss),
        ...(conditioners.length === 0 ? {} : { conditioners: conditioners.map(part) }),
        ...(access === null ? {} : { access: part(access) }),
    }));
    // Flows with equal settings and windows share one object.
    const withWindow = new Map<Part, Map<string, Part>>();
    const fitted = [...tcps];
    for (const [flow, bytes] of windows) {
        const [tcp, window] = [tcps[flow] as Part, `${bytes} B`];
        const byWindow = withWindow.get(tcp) ?? new Map<string, Part>();
        withWindow.set(tcp, byWindow);
        const shared = byWindow.get(window) ?? { ...tcp, values: { ...tcp.values, receiver_window: window } };
        byWindow.set(window, shared);
        fitted[flow] = shared;
    }
    const directed = links.flatMap(([a, b, number]) => [{ from: a, to: b, ...rows[number] }, { from: b, to: a, ...rows[number + 1] }]);
    return [directed, fitted];
}

/** Returns the fields that the copies of each flow have in common. */
function commonFields(scenario: Part, flows: Part[], tcps: Part[]): JsonTable[] {
    const shared = new Map([...new Set(tcps)].map((tcp) => [tcp, coreTcp(tcp)]));
    const traffic = coreFields(valueOf(scenario, "traffic") as Part);
    return flows.map((flow, i): JsonTable => {
        const own = valueOf(flow, "traffic") as Part | null;
        const excluded = Object.keys(flow.values).filter((name) => !["class", "service"].includes(name));
        return {
            ...coreFields(flow, excluded),
            tcp: shared.get(tcps[i] as Part) as JsonTable,
            traffic: own === null ? traffic : coreFields(own),
            ...(hasEct1(tcps[i] as Part) ? { scalable: true } : {}),
        };
    });
}

/** Returns whether data packets have the codepoint ECT(1). */
function hasEct1(tcp: Part): boolean {
    const ecn = valueOf(tcp, "ecn") as Part;
    return ["dctcp", "accurate"].includes(kindOf(ecn)) && Number(valueOf(ecn, "ect")) === 1;
}

/** Returns the TCP parameters of a flow in the form of the core. */
function coreTcp(tcp: Part): JsonTable {
    const scale = valueOf(tcp, "window_scale");
    const fields = coreFields(tcp, ["profile"]);
    // ECT(1) is a property of the flow in the network, not of TCP.
    if (hasEct1(tcp)) delete (fields.ecn as JsonTable).ect;
    const congestion = valueOf(tcp, "congestion") as Part;
    if (kindOf(congestion) === "module") fields.congestion = coreModule(congestion, valueOf(tcp, "hz") as bigint);
    return { ...fields, ...flatOptions(congestion), window_scale: typeof scale === "string" ? leastWindowScale(tcp) : (scale as bigint) };
}

/** Returns the fields of the resolved form with the options of AIMD and Vegas, whichever controller is selected. */
function flatOptions(congestion: Part): JsonTable {
    const [aimd, vegas] = ["Aimd", "Vegas"].map((name) =>
        coreFields(congestion.part === name ? congestion : plainPart(name), ["kind"]),
    ) as [JsonTable, JsonTable];
    return { ...aimd, vegas };
}

/** Converts a module for the core: its digest, and its own clock or that of TCP. */
function coreModule(module: Part, hz: bigint): JsonTable {
    const { parameters } = coreFields(module) as { parameters: Json };
    const digest = moduleOf(String(valueOf(module, "file")))?.digest ?? "";
    return { kind: "module", digest, parameters, hz: (valueOf(module, "hz") ?? hz) as bigint };
}
