/** Data of a finished or unfinished run for its charts and for the title of a figure. */
import type { JsonTable } from "../scenario/json";
import { DESCRIPTION, NUMBERS } from "../scenario/model";
import { type Part, kindOf, valueOf } from "../scenario/part";
import type { Resolved } from "../scenario/resolve";
import { SIZE } from "../scenario/units";
import type { Title } from "./figure";
import { written } from "./knobs";
import { counted } from "./metrics";
import type { Drawn } from "./models";
import { tcpName, tcpNames } from "./names";
import type { Counted, Picture, View } from "./protocol";
import { isOverTcp, routesOf } from "./shares";

/** Maximum length of the list of fields in a title [characters]. */
const MAX_LETTERS = 110;

/** Returns whether segments carry timestamps (RFC 7323). */
function hasTimestamps(tcp: Part): boolean {
    const timer = valueOf(tcp, "timer") as Part;
    return kindOf(timer) === "fine" && valueOf(timer, "timestamps") === true;
}

/** Returns the length [byte] of the IP packet that carries a full segment. */
function segmentBytes(tcp: Part): number {
    return Number(SIZE.parse(String(valueOf(tcp, "mss")))) + NUMBERS.header_bytes + (hasTimestamps(tcp) ? NUMBERS.timestamp_bytes : 0);
}

/** Returns the data of the pictures of a finished run, or of one of which the share `progress` [0, 1] is simulated. */
export function drawn(resolved: Resolved, view: View, run: Pick<Counted, "picture" | "detail"> & Partial<Pick<Counted, "ports">>, progress: number): Drawn {
    const names = (resolved.core["nodes"] as JsonTable[]).map((node) => String(node["name"]));
    const flows = resolved.core["flows"] as JsonTable[];
    const links = resolved.core["links"] as { from: number; to: number; rate_bps: bigint; motion?: JsonTable; buffer: { unit: string; limit: bigint } | null }[];
    const unit = counted(resolved);
    const bitsPerUnit = unit === "cells" ? NUMBERS.cell_bits : 8 * segmentBytes(valueOf(resolved.scenario, "tcp") as Part);
    const capacities = links.map((link) => ("motion" in link ? Number.POSITIVE_INFINITY : Number(link.rate_bps)));
    const bottlenecks = routesOf(resolved.core).map((route) => route.reduce((a, b) => ((capacities[b] as number) < (capacities[a] as number) ? b : a)));
    const peaks = run.ports?.[`peak_queue_${unit}`];
    // During a run its peaks are unknown; no queue exceeds its buffer.
    const limits = links.map(({ buffer }) => (buffer ? Math.floor(Number(buffer.limit) / (buffer.unit === "bytes" ? bitsPerUnit / 8 : 1)) : Number.POSITIVE_INFINITY));
    return {
        picture: run.picture as Picture,
        view,
        progress,
        flowNames: flows.map((flow) => String(flow["name"])),
        tcpNames: flows.map((flow) => (isOverTcp(flow) ? tcpName(flow["tcp"] as JsonTable) : null)),
        rtt: run.detail?.rtt_s ?? null,
        reductions: run.detail?.reductions ?? [],
        portNames: links.map(({ from, to }) => `${names[from]}->${names[to]}`),
        counted: unit,
        portRates: links.map(({ rate_bps }) => Number(rate_bps) / bitsPerUnit),
        portPeaks: peaks === undefined ? limits : Array.from(peaks, Number),
        flowRates: bottlenecks.map((link) => capacities[link] as number),
        totalRate: [...new Set(bottlenecks)].reduce((sum, link) => sum + (capacities[link] as number), 0),
    };
}

/** A finished run with its inputs. */
interface Titled {
    resolved: Resolved;
    seed: string;
    counted: Counted;
}

/**
 * Returns what a pinned run is: the values of its fields that differ from those of the run in front, or, if there are
 * many, its title.
 */
export function pinnedTitle(pinned: Titled, now: Titled): string {
    const [ofPinned, ofCurrent] = [pinned, now].map(({ resolved, seed }) => leaves(resolved.scenario, "", new Map([["seed", { text: seed, written: true }]]))) as [Leaves, Leaves];
    const differing = [...ofPinned].filter(([path, { text, written: set }]) => {
        const current = ofCurrent.get(path);
        return text !== current?.text && (set || current?.written === true);
    });
    const fields = differing.map(([path, { text }]) => `${path} ${text}`).join(", ");
    return `pinned: ${fields.length > MAX_LETTERS ? titleOf(pinned).title : fields || "the same settings"}`;
}

/** The values of a scenario by dotted field, as text, and whether they are written in its file. */
type Leaves = Map<string, { text: string; written: boolean }>;

/** Adds the fields of a part, with dotted names that start with `prefix`, to `collected`, and returns it. */
function leaves(part: Part, prefix: string, collected: Leaves): Leaves {
    for (const [name, value] of Object.entries(part.values)) {
        // The name of a kind is the value of its part.
        const path = name === "kind" && prefix !== "" ? prefix : [prefix, name].filter(Boolean).join(".");
        const items = Array.isArray(value) ? value : [value];
        const parts = items.filter((item): item is Part => typeof item === "object" && item !== null && "part" in item);
        for (const [i, item] of parts.entries()) leaves(item, Array.isArray(value) ? `${path}.${i}` : path, collected);
        if (parts.length === 0) collected.set(path, { text: written(value) || "none", written: part.written.includes(name) });
    }
    return collected;
}

/**
 * Returns the title of a figure: the names of the TCP variants, the path and the buffer; below, the information that is
 * needed to repeat the run.
 */
export function titleOf({ resolved, seed, counted: run }: Titled): Title {
    const network = valueOf(resolved.scenario, "network") as Part;
    const flows = (resolved.core["flows"] as JsonTable[]).length;
    const titleParts = [`${tcpNames(resolved, isOverTcp)}: ${flows} ${flows === 1 ? "flow" : "flows"}`];
    if (kindOf(network) === "dumbbell") {
        const rtt = Number(resolved.longestRoundTripMs.toPrecision(3));
        titleParts.push(String(valueOf(network, "trunk_rate")), `RTT ${rtt} ms`, `buffer ${String(valueOf(valueOf(resolved.scenario, "switch") as Part, "buffer"))}`);
    }
    const subtitle = `${String(valueOf(resolved.scenario, "name"))}, seed ${seed}, longpipe ${DESCRIPTION.version}, engine ${DESCRIPTION.engine}, state hash ${run.state_hash}`;
    return { title: titleParts.join(", "), subtitle };
}
