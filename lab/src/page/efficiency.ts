/**
 * Efficiency of a dumbbell: delivered payload divided by the maximum payload that its trunk could carry, as in
 * longpipe.metrics.efficiency.
 */
import type { Json, JsonTable } from "../scenario/json";
import { NUMBERS } from "../scenario/model";
import type { Columns } from "./protocol";
import { isOverTcp, routesOf } from "./shares";

const VARYING = ["video", "arrivals"];

/**
 * Packets of one kind that could fill the trunk: payload divided by length on the wire, and available payload [byte].
 */
interface Offer {
    share: number;
    mostBytes: number;
}

/** Counters of a run from which efficiency is computed. */
interface Run {
    flows: Columns;
    classes: Columns;
}

const column = (columns: Columns, name: string): number[] => Array.from((columns[name] ?? []) as ArrayLike<number>);

/** Returns the capacity of a direction of the trunk, the index of a link, minus the VBR cells sent [bit/s]. */
export function trunkBps(core: JsonTable, trunk: number, run: Run, durationS: number): number {
    const [ports, classes] = [run.classes["port"] as string[] | undefined, run.classes["class"] as string[] | undefined];
    const link = (core["links"] as JsonTable[])[trunk] as JsonTable;
    const [from, to] = [link["from"], link["to"]].map((node) => (core["nodes"] as JsonTable[])[Number(node)]?.["name"] as string);
    const vbr = column(run.classes, "cells_out").filter((_, i) => ports?.[i] === `${from}->${to}` && classes?.[i] === "vbr");
    const cells = vbr.reduce((total, value) => total + value, 0);
    return Number(link["rate_bps"]) - (cells * NUMBERS.cell_bits) / durationS;
}

/** Maximum total throughput over a direction of the trunk with this capacity [bit/s]; nan if it is 0. */
export function attainableBps(core: JsonTable, trunk: number, run: Run, capacityBps: number, durationS: number): number {
    const offers = offersOf(core, trunk, run).sort((first, second) => second.share - first.share);
    let [left, payload] = [(capacityBps * durationS) / 8, 0];
    for (const offer of offers) {
        const taken = Math.min(offer.mostBytes, offer.share * left);
        payload += taken;
        left = Math.max(0, left - taken / offer.share);
    }
    payload += left * (offers[0]?.share ?? 0);
    return (8 * payload) / durationS || Number.NaN;
}

/** Returns the packets of the flows that cross a direction of the trunk, with which it can be filled. */
function offersOf(core: JsonTable, trunk: number, run: Run): Offer[] {
    const routes = routesOf(core);
    const [sent, short] = [column(run.flows, "sent_bytes"), column(run.flows, "short_bytes")];
    return (core["flows"] as JsonTable[]).flatMap((flow, i) => {
        if (!routes[i]?.includes(trunk)) return [];
        const traffic = flow["traffic"] as JsonTable;
        if (!isOverTcp(flow)) {
            const payload = longest(traffic);
            const share = VARYING.includes(String(traffic["kind"])) ? bestShare : shareOf;
            return payload > 0 ? [{ share: share(core, payload, NUMBERS.datagram_header_bytes), mostBytes: sent[i] as number }] : [];
        }
        const tcp = flow["tcp"] as JsonTable;
        const stamps = (tcp["timer"] as JsonTable)["timestamps"] === true;
        const [mss, headers] = [Number(tcp["mss_bytes"]), NUMBERS.header_bytes + (stamps ? NUMBERS.timestamp_bytes : 0)];
        const full = { share: shareOf(core, mss, headers), mostBytes: Number.POSITIVE_INFINITY };
        const better = bestShare(core, mss, headers);
        return better > full.share && (short[i] as number) > 0 ? [full, { share: better, mostBytes: short[i] as number }] : [full];
    });
}

/** Payload of the longest datagram of a flow [byte]. */
function longest(traffic: JsonTable): number {
    if (traffic["kind"] !== "arrivals") return Number(traffic["payload_bytes"]);
    return (traffic["sent_ps"] as Json[][]).reduce((most, row) => Math.max(most, Number(row[1])), 0);
}

/** Share of payload in the length of a packet on the wire. */
function shareOf(core: JsonTable, payload: number, headers: number): number {
    if (core["framing"] === "ip") return payload / (payload + headers);
    return payload / (NUMBERS.cell_bytes * Math.ceil((payload + headers + NUMBERS.overhead_bytes) / NUMBERS.cell_payload_bytes));
}

/**
 * Returns the maximum share of payload for packets with at most this payload; with cells, that of a packet that fills
 * its last cell.
 */
function bestShare(core: JsonTable, payload: number, headers: number): number {
    const overheadBytes = headers + NUMBERS.overhead_bytes;
    const filling = Math.floor((payload + overheadBytes) / NUMBERS.cell_payload_bytes) * NUMBERS.cell_payload_bytes - overheadBytes;
    const full = shareOf(core, payload, headers);
    return core["framing"] !== "ip" && filling > 0 ? Math.max(full, shareOf(core, filling, headers)) : full;
}
