/** The resolved scenario, as the core requires it: every field is present, and every quantity is an integer. */
import { checkPart, plainPart } from "./check";
import { type Json, type JsonTable, coreFields, coreOfLink } from "./core";
import { ofFile } from "./defaults";
import { ScenarioError } from "./errors";
import { DESCRIPTION } from "./model";
import { type Part, valueOf } from "./part";
import { type Made, Topology, exact } from "./topology";

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

/** Fields that paths determine, or that follow from their delays. */
const OF_PATHS = ["motion", "delay_ps", "loss", "policy", "buffer", "receiver_window_bytes", "window_scale"];

/**
 * Creates a scenario from fields that the page cannot resolve, and their form for the core, which Python has made of them.
 * The scenario contains the parts that the page can show. Throws ScenarioError if the form belongs to other fields.
 */
export function resolveExpanded(fields: Record<string, unknown>, core: string): Resolved {
    const network = Object.entries(tableIn(fields["network"])).filter(([name]) => !(name in DESCRIPTION.beyond));
    const shown = resolve({ ...fields, network: Object.fromEntries(network) });
    const expanded = exact(core) as JsonTable;
    if (isSame(shown.core, expanded)) return { ...shown, core: expanded, fixed: true };
    throw new ScenarioError(["core: not the form of these fields; needs an unchanged link of longpipe lab"]);
}

/** Returns whether two forms are equal apart from what paths determine. */
function isSame(one: Json | undefined, other: Json | undefined): boolean {
    if (typeof one !== "object" || one === null || typeof other !== "object" || other === null) return String(one) === String(other);
    const tables = [one, other] as [JsonTable, JsonTable];
    const [names, others] = tables.map((table) => Object.keys(table).filter((name) => !OF_PATHS.includes(name)).sort());
    return String(names) === String(others) && (names as string[]).every((name) => isSame(tables[0][name], tables[1][name]));
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
    const made = topology.resolve(scenario);
    const traffic = coreFields(valueOf(scenario, "traffic") as Part);
    // Fields that the copies of each flow have in common.
    const common = topology.flows.map((flow, i): JsonTable => {
        const own = valueOf(flow, "traffic") as Part | null;
        const excluded = Object.keys(flow.values).filter((name) => !["class", "service"].includes(name));
        const { fields, scalable } = made.tcps[made.tcp_of[i] as number] as Made["tcps"][0];
        return { ...coreFields(flow, excluded), tcp: fields, traffic: own === null ? traffic : coreFields(own), ...(scalable ? { scalable } : {}) };
    });
    return {
        ...coreFields(scenario, ["name", "defaults", "network", "switch", "tcp", "traffic", "start", "stop"]),
        ...coreFields(valueOf(scenario, "switch") as Part, ["buffer", "policy", "scheduler"]),
        nodes: made.nodes,
        links: directedLinks(scenario, topology, made),
        flows: made.flows.map(([of, way, own]): JsonTable => {
            const [route, back] = made.ways[way] as [number[], number[]];
            return { ...common[of], ...own, route, return_route: back };
        }),
        vbr: topology.vbr.map((source, i) => ({ ...coreFields(source, OF_VBR), ...made.vbr[i] })),
    };
}

/** Fields of VBR sources that the engine resolves. */
const OF_VBR = ["from", "to", "route", "period", "duty", "phase", "rate"];

/** Returns both directions of each link, each with its port. */
function directedLinks(scenario: Part, topology: Topology, made: Made): JsonTable[] {
    const [policy, scheduler] = ["policy", "scheduler"].map((name) => coreFields(valueOf(valueOf(scenario, "switch") as Part, name) as Part));
    const of: Record<string, JsonTable> = { host: { scheduler: coreFields(plainPart("Fifo")) }, switch: { policy, scheduler } as JsonTable };
    const part = (number: number): JsonTable => coreOfLink(topology.parts.parts[number] as Part);
    const rows = made.fields.map(({ port, policy, loss, conditioners, access, ...rest }): JsonTable => ({
        ...rest,
        ...of[port],
        ...(policy === null ? {} : { policy: part(policy) }),
        loss: part(loss),
        ...(conditioners.length === 0 ? {} : { conditioners: conditioners.map(part) }),
        ...(access === null ? {} : { access: part(access) }),
    }));
    return made.links.flatMap(([a, b, number]) => [{ from: a, to: b, ...rows[number] }, { from: b, to: a, ...rows[number + 1] }]);
}

/**
 * Throws ScenarioError for time-varying links. The fields are checked as specified, because the page does not resolve
 * them.
 */
function checkStands(network: unknown): void {
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
