/** Routes through a graph as indexes of directed links, and checks of networks. */
import { ScenarioError, nearest, repr } from "./errors";
import type { Graph } from "./graph";
import { type Part, valueOf } from "./part";
import { RATE, TIME } from "./units";

/** A checked graph; link k consists of the directed links 2k (as written) and 2k + 1 (reverse). */
export class Topology {
    readonly position = new Map<string, number>();
    readonly kinds = new Map<string, string>();
    readonly routes: [number[], number[]][] = [];
    readonly vbrRoutes: number[][] = [];
    /** Propagation delay of each directed link [ps]. */
    readonly delaysPs: bigint[];
    /** Rate of each directed link. */
    readonly rates: string[];
    private readonly index = new Map<string, number>();
    private readonly neighbours = new Map<string, string[]>();

    constructor(readonly graph: Graph) {
        for (const node of graph.nodes) this.kinds.set(name(node), String(valueOf(node, "kind")));
        for (const [i, key] of [...this.kinds.keys()].entries()) this.position.set(key, i);
        for (const problems of [this.nodeProblems(), this.linkProblems(), this.flowProblems()]) {
            if (problems.length > 0) throw new ScenarioError(problems);
        }
        for (const key of this.kinds.keys()) this.neighbours.set(key, []);
        for (const [k, link] of graph.links.entries()) {
            const [a, b] = between(link);
            this.index.set(hop(a, b), 2 * k).set(hop(b, a), 2 * k + 1);
            this.neighbours.get(a)?.push(b);
            this.neighbours.get(b)?.push(a);
        }
        const both = (link: Part, field: string): string[] => [
            String(valueOf(link, field)),
            String(valueOf(link, `return_${field}`) ?? valueOf(link, field)),
        ];
        this.delaysPs = graph.links.flatMap((link) => both(link, "delay").map((delay) => TIME.parse(delay)));
        this.rates = graph.links.flatMap((link) => both(link, "rate"));
        for (const [i, flow] of graph.flows.entries()) this.routes.push(this.routesOf(i, flow));
        for (const [i, source] of graph.vbr.entries()) {
            this.vbrRoutes.push(this.vbrRoute(`network.vbr[${i}]`, source));
        }
    }

    /** Returns the longest propagation RTT of all flows [ps]. */
    get longestRoundTripPs(): bigint {
        let longest = 0n;
        for (const [there, back] of this.routes) {
            const round = this.delayOf([...there, ...back]);
            if (round > longest) longest = round;
        }
        return longest;
    }

    /** Returns the propagation delay of these links [ps]. */
    delayOf(links: number[]): bigint {
        return links.reduce((sum, k) => sum + (this.delaysPs[k] ?? 0n), 0n);
    }

    /** Returns the lowest rate of the links of a route. */
    slowestRate(route: number[]): string {
        const rates = route.map((k) => this.rates[k] as string);
        return rates.reduce((least, rate) => (RATE.parse(rate) < RATE.parse(least) ? rate : least));
    }

    private vbrRoute(field: string, source: Part): number[] {
        const [first, last] = [String(valueOf(source, "from")), String(valueOf(source, "to"))];
        const route = (valueOf(source, "route") as string[] | null) ?? this.shortest(field, first, last);
        this.checkRoute(`${field}.route`, route, first, last);
        if (route.length === 2) {
            throw new ScenarioError([`${field}.route: ${route.join(" -> ")}; needs a switch between its two hosts`]);
        }
        return this.links(route);
    }

    private routesOf(i: number, flow: Part): [number[], number[]] {
        const [first, last] = [String(valueOf(flow, "from")), String(valueOf(flow, "to"))];
        const route = valueOf(flow, "route") as string[] | null;
        const there = route ?? this.shortest(`network.flows[${i}]`, first, last);
        const back = (valueOf(flow, "return_route") as string[] | null) ?? [...there].reverse();
        this.checkRoute(`network.flows[${i}].route`, there, first, last);
        this.checkRoute(`network.flows[${i}].return_route`, back, last, first);
        return [this.links(there), this.links(back)];
    }

    private links(route: string[]): number[] {
        return route.slice(1).map((b, i) => this.index.get(hop(route[i] as string, b)) as number);
    }

    /** Returns a route with the fewest hops through switches; among equal routes, earlier links are preferred. */
    private shortest(field: string, first: string, last: string): string[] {
        const cameFrom = new Map([[first, first]]);
        const queue = [first];
        while (queue.length > 0 && !cameFrom.has(last)) {
            const here = queue.shift() as string;
            for (const neighbour of this.neighbours.get(here) ?? []) {
                if (!cameFrom.has(neighbour) && (neighbour === last || this.kinds.get(neighbour) === "switch")) {
                    cameFrom.set(neighbour, here);
                    queue.push(neighbour);
                }
            }
        }
        if (!cameFrom.has(last)) {
            const problem = `no path from ${repr(first)} to ${repr(last)}; needs links through switches`;
            throw new ScenarioError([`${field}: ${problem}`]);
        }
        const path = [last];
        while (path.at(-1) !== first) path.push(cameFrom.get(path.at(-1) as string) as string);
        return path.reverse();
    }

    private checkRoute(field: string, route: string[], first: string, last: string): void {
        const shown = route.join(" -> ");
        const wrong = (problem: string): never => {
            throw new ScenarioError([`${field}: ${problem}`]);
        };
        if (route.length < 2 || route[0] !== first || route.at(-1) !== last) {
            wrong(`${shown || "empty"}; needs to lead from ${repr(first)} to ${repr(last)}`);
        }
        for (const [i, b] of route.slice(1).entries()) {
            const a = route[i] as string;
            if (!this.index.has(hop(a, b))) {
                wrong(`${shown}; is not connected, there is no link between ${repr(a)} and ${repr(b)}`);
            }
        }
        if (new Set(route).size < route.length) wrong(`${shown}; needs to visit each node once`);
        for (const node of route.slice(1, -1)) {
            if (this.kinds.get(node) === "host") wrong(`${shown}; ${repr(node)} is a host, only switches forward`);
        }
    }

    private nodeProblems(): string[] {
        const { nodes } = this.graph;
        const found = nodes.length === 0 ? ["network.nodes: empty; needs at least two hosts"] : [];
        found.push(...duplicates("network.nodes", nodes.map(name)));
        for (const [i, node] of nodes.entries()) {
            const jitter = String(valueOf(node, "send_jitter"));
            if (valueOf(node, "kind") === "switch" && !jitter.startsWith("0 ")) {
                found.push(`network.nodes[${i}].send_jitter: ${jitter}; only hosts delay packets, needs '0 s'`);
            }
        }
        return found;
    }

    private linkProblems(): string[] {
        const found: string[] = [];
        const seen = new Set<string>();
        for (const [i, link] of this.graph.links.entries()) {
            const field = `network.links[${i}]`;
            const [a, b] = between(link);
            for (const end of [a, b]) {
                if (!this.kinds.has(end)) {
                    found.push(`${field}.between: ${repr(end)} is not a node; ${nearest(end, [...this.kinds.keys()])}`);
                }
            }
            const ends = [a, b].sort().join(" ");
            if (a === b) found.push(`${field}.between: both are ${repr(a)}; needs two different nodes`);
            else if (seen.has(ends)) {
                found.push(`${field}.between: ${a} and ${b} are already linked; needs each pair once`);
            }
            seen.add(ends);
            const port = ["buffer", "return_buffer", "policy"].some((one) => valueOf(link, one) !== null);
            if (port && [a, b].every((end) => this.kinds.get(end) === "host")) {
                found.push(`${field}: buffer or policy between two hosts; needs a switch at one end`);
            }
        }
        return found;
    }

    private flowProblems(): string[] {
        const hosts = [...this.kinds].filter(([, kind]) => kind === "host").map(([key]) => key);
        const { flows, vbr } = this.graph;
        const found = flows.length === 0 ? ["network.flows: empty; needs at least one flow"] : [];
        for (const [field, streams] of [["network.flows", flows] as const, ["network.vbr", vbr] as const]) {
            found.push(...duplicates(field, streams.map(name)));
            for (const [i, stream] of streams.entries()) {
                const [first, last] = [String(valueOf(stream, "from")), String(valueOf(stream, "to"))];
                for (const [end, key] of [["from", first] as const, ["to", last] as const]) {
                    if (!hosts.includes(key)) {
                        found.push(`${field}[${i}].${end}: ${repr(key)} is not a host; ${nearest(key, hosts)}`);
                    }
                }
                if (first === last) found.push(`${field}[${i}].to: ${repr(last)} is also the sender; needs another host`);
            }
        }
        return found;
    }
}

/** Returns the two nodes of a link. */
export function between(link: Part): [string, string] {
    return valueOf(link, "between") as [string, string];
}

function name(part: Part): string {
    return String(valueOf(part, "name"));
}

function hop(a: string, b: string): string {
    return `${a} ${b}`;
}

function duplicates(field: string, names: string[]): string[] {
    const first = new Map<string, number>();
    const found: string[] = [];
    for (const [i, key] of names.entries()) {
        const before = first.get(key);
        if (before === undefined) first.set(key, i);
        else found.push(`${field}[${i}].name: ${repr(key)} is the name of ${field}[${before}]; needs a unique name`);
    }
    return found;
}
