/** Lengths of full-sized packets (see scenario/buffers.py). */
import { NUMBERS } from "./model";
import { type Part, kindOf, valueOf } from "./part";
import { SIZE } from "./units";

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
