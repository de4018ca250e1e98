/** Data of a finished or unfinished run for its charts and for the title of a figure. */
import { packetOf } from "../scenario/buffers";
import { type Part, kindOf, valueOf } from "../scenario/check";
import type { JsonTable } from "../scenario/core";
import { DESCRIPTION, NUMBERS } from "../scenario/model";
import type { Resolved } from "../scenario/resolve";
import type { Title } from "./figure";
import { counted } from "./metrics";
import type { Drawn } from "./models";
import { tcpName, tcpNames } from "./names";
import type { Counted, Picture, View } from "./protocol";
import { isOverTcp, routesOf } from "./shares";

/** Returns the data of the pictures. */
export function drawn(of: Resolved, view: View, run: Pick<Counted, "picture" | "detail"> & Partial<Pick<Counted, "ports">>, progress: number): Drawn {
    const names = (of.core["nodes"] as JsonTable[]).map((node) => String(node["name"]));
    const flows = of.core["flows"] as JsonTable[];
    const links = of.core["links"] as { from: number; to: number; rate_bps: bigint; motion?: JsonTable; buffer: { unit: string; limit: bigint } | null }[];
    const unit = counted(of);
    const bits = unit === "cells" ? NUMBERS.cell_bits : 8 * Number(packetOf(valueOf(of.scenario, "tcp") as Part).bytes);
    const capacities = links.map((link) => ("motion" in link ? Number.POSITIVE_INFINITY : Number(link.rate_bps)));
    const slowest = routesOf(of.core).map((route) => route.reduce((a, b) => ((capacities[b] as number) < (capacities[a] as number) ? b : a)));
    const peaks = run.ports?.[`peak_queue_${unit}`];
    // During a run its peaks are unknown; no queue exceeds its buffer.
    const limits = links.map(({ buffer }) => (buffer ? Math.floor(Number(buffer.limit) / (buffer.unit === "bytes" ? bits / 8 : 1)) : Number.POSITIVE_INFINITY));
    return {
        picture: run.picture as Picture,
        view,
        progress,
        flowNames: flows.map((flow) => String(flow["name"])),
        tcpNames: flows.map((flow) => (isOverTcp(flow) ? tcpName(flow["tcp"] as JsonTable) : null)),
        rtt: run.detail?.rtt_s ?? null,
        falls: run.detail?.falls ?? [],
        portNames: links.map(({ from, to }) => `${names[from]}->${names[to]}`),
        counted: unit,
        portRates: links.map(({ rate_bps }) => Number(rate_bps) / bits),
        portPeaks: peaks === undefined ? limits : Array.from(peaks, Number),
        flowRates: slowest.map((link) => capacities[link] as number),
        totalRate: [...new Set(slowest)].reduce((all, link) => all + (capacities[link] as number), 0),
    };
}

/**
 * Returns the title of a figure: the names of the TCP variants, the path and the buffer; below, the information that is
 * needed to repeat the run.
 */
export function titleOf(of: Resolved, seed: string, run: Counted): Title {
    const network = valueOf(of.scenario, "network") as Part;
    const flows = (of.core["flows"] as JsonTable[]).length;
    const said = [`${tcpNames(of, isOverTcp)}: ${flows} ${flows === 1 ? "flow" : "flows"}`];
    if (kindOf(network) === "dumbbell") {
        const rtt = Number((Number(of.topology.longestRoundTripPs) / 1e9).toPrecision(3));
        said.push(String(valueOf(network, "trunk_rate")), `RTT ${rtt} ms`, `buffer ${String(valueOf(valueOf(of.scenario, "switch") as Part, "buffer"))}`);
    }
    const subtitle = `${String(valueOf(of.scenario, "name"))}, seed ${seed}, longpipe ${DESCRIPTION.version}, engine ${DESCRIPTION.engine}, state hash ${run.state_hash}`;
    return { title: said.join(", "), subtitle };
}
