/** Buffer sizes, and windows that fill a path (see scenario/buffers.py and scenario/windows.py). */
import type { JsonTable } from "./core";
import { ScenarioError } from "./errors";
import { NUMBERS } from "./model";
import { type Part, kindOf, valueOf } from "./part";
import { Rational } from "./rational";
import { BUFFER, SIZE, TIME, UNLIMITED } from "./units";

/** Length of a full-sized packet in each unit of buffers; `payload` describes its payload in messages. */
export interface Packet {
    payload: string;
    cells: bigint;
    bytes: bigint;
}

/** Returns the length of a full segment of this TCP. */
export function packetOf(tcp: Part): Packet {
    const mss = SIZE.parse(String(valueOf(tcp, "mss")));
    const timer = valueOf(tcp, "timer") as Part;
    const stamps = kindOf(timer) === "fine" && valueOf(timer, "timestamps") === true;
    const bytes = mss + BigInt(NUMBERS.header_bytes + (stamps ? NUMBERS.timestamp_bytes : 0));
    return { payload: `at MSS ${mss}`, cells: cellsOf(bytes), bytes };
}

/** Returns the length of a datagram of this traffic. */
export function datagramOf(traffic: Part): Packet {
    const payload = SIZE.parse(String(valueOf(traffic, "payload")));
    const bytes = payload + BigInt(NUMBERS.datagram_header_bytes);
    return { payload: `with a payload of ${payload} B`, cells: cellsOf(bytes), bytes };
}

/** Returns the number of cells that carry an IP packet of this length and the AAL5 trailer. */
function cellsOf(bytes: bigint): bigint {
    const payload = BigInt(NUMBERS.cell_payload_bytes);
    return (bytes + BigInt(NUMBERS.overhead_bytes) + payload - 1n) / payload;
}

/** Rate of a port and RTT of a BDP, from which a buffer size in BDP or in time is computed. */
export interface Pipe {
    rateBps: bigint;
    roundTripPs: bigint;
}

/** Returns a number of BDP, or of a unit of time, in bits at the port's rate. */
function bitsOf(pipe: Pipe, number: Rational, unit: string): Rational {
    const time = number.times(TIME.scale(unit) ?? Rational.of(pipe.roundTripPs));
    return time.times(Rational.of(pipe.rateBps, 10n ** 12n));
}

/**
 * Returns unit and limit of a buffer, null if unlimited; a size in BDP or time is converted to cells, or to packets of
 * full size.
 */
export function bufferOf(field: string, text: string, framing: string, pipe: Pipe, largest: Packet): JsonTable | null {
    if (text === UNLIMITED) return null;
    const wrong = (problem: string): never => {
        throw new ScenarioError([`${field}: ${problem}`]);
    };
    const [number, unit] = BUFFER.split(text);
    const bytes = SIZE.scale(unit);
    if (framing === "aal5") {
        if (bytes !== undefined) wrong(`${text}; ATM switches count cells, needs cells, packets, BDP or a time`);
        const cellBits = Rational.of(BigInt(NUMBERS.cell_bits));
        const each = { cells: 1n, packets: largest.cells }[unit];
        const counted = each === undefined ? bitsOf(pipe, number, unit).over(cellBits) : number.times(Rational.of(each));
        const cells = counted.floor();
        if (cells < largest.cells) {
            const shown = unit === "cells" ? text : `${text} (${cells} cells)`;
            wrong(`${shown}; needs at least one full packet (${largest.cells} cells ${largest.payload})`);
        }
        if (cells > BigInt(NUMBERS.most_cells)) {
            wrong(`${text} (${cells} cells); needs at most ${NUMBERS.most_cells} cells, or 'unlimited'`);
        }
        return { unit: "cells", limit: cells };
    }
    if (unit === "cells") wrong(`${text}; IP routers do not queue cells, needs packets, bytes, BDP or a time, as in '1 BDP'`);
    if (bytes !== undefined) {
        const limit = number.times(bytes).floor();
        if (limit < largest.bytes) {
            wrong(`${text}; needs at least one full packet (${largest.bytes} B ${largest.payload})`);
        }
        return { unit: "bytes", limit };
    }
    const bits = unit === "packets" ? null : bitsOf(pipe, number, unit);
    const packets = (bits === null ? number : bits.over(Rational.of(8n * largest.bytes))).floor();
    if (packets < 1n) wrong(`${text} (${packets} packets); needs at least one packet`);
    return { unit: "packets", limit: packets };
}

/** Returns the window [bytes] for "auto": twice the sum of the BDP and the largest buffer, within RFC 7323's bounds. */
export function autoWindow(packet: Packet, links: JsonTable[], there: number[], back: number[]): bigint {
    const of = (k: number): JsonTable => links[k] as JsonTable;
    const delay = [...there, ...back].reduce((sum, k) => sum + (of(k)["delay_ps"] as bigint), 0n);
    const rates = there.map((k) => of(k)["rate_bps"] as bigint);
    const pipe = (rates.reduce((least, rate) => (rate < least ? rate : least)) * delay) / (8n * 10n ** 12n);
    let most = 0n;
    for (const k of there.slice(1)) {
        const buffer = of(k)["buffer"] as JsonTable | null;
        const held = buffer === null ? pipe : bytesOf(buffer, packet.bytes);
        if (held > most) most = held;
    }
    const wanted = BigInt(NUMBERS.window_times_path) * (pipe + most);
    const [least, largest] = [BigInt(NUMBERS.smallest_window_bytes), SIZE.parse("1 GiB")];
    const window = wanted > least ? wanted : least;
    return window < largest ? window : largest;
}

/** Returns the size of a limited buffer filled with packets of this length [bytes]. */
function bytesOf(buffer: JsonTable, packetBytes: bigint): bigint {
    const each = { cells: BigInt(NUMBERS.cell_bytes), packets: packetBytes, bytes: 1n }[String(buffer["unit"])];
    return (buffer["limit"] as bigint) * (each ?? 1n);
}
