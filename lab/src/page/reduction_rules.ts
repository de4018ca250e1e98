/** Explains why the congestion window fell: the rule that the sender followed, and its source. */
import type { JsonTable } from "../scenario/core";
import { called, coreKind } from "./names";
import type { Reduction } from "./protocol";
import { byteUnit } from "./series";

/** How a loss was detected, by loss recovery algorithm. */
const FOUND: Record<string, string> = {
    vanilla: "A loss was detected",
    tahoe: "Three duplicate ACKs reported a loss (fast retransmit, RFC 2001 section 3)",
    reno: "Three duplicate ACKs reported a loss (fast retransmit, RFC 5681 section 3.2)",
    newreno: "Three duplicate ACKs reported a loss (fast retransmit, RFC 6582 section 3.2)",
    sack: "SACK blocks reported a loss (RFC 6675 section 5)",
    rfc6675: "SACK blocks reported a loss (RFC 6675 section 5)",
    rack: "RACK declared a segment lost, because one that was sent later had arrived (RFC 8985 section 6.2)",
};
const HALF = "half of the data in flight (RFC 5681 section 3.1, equation 4)";
/** Window after a loss, by congestion control. */
const REDUCED: Record<string, string> = {
    aimd: HALF,
    "linux-reno": HALF,
    bic: "0.8 of the window (Xu et al. 2004, and Linux)",
    cubic: "0.7 of the window (RFC 9438 section 4.6)",
    dctcp: `half of the window, as any sender does after a loss (RFC 8257 section 3.5)`,
    highspeed: "a fraction that depends on the window (RFC 3649 section 5)",
    scalable: "7/8 of the window (Kelly 2003)",
    westwood: "the product of the measured bandwidth and the minimum RTT (Casetti et al. 2002)",
    ledbat: "half of the window (RFC 6817 section 2.4.2)",
};
/** Window after an echoed ECN mark, for congestion controls whose response differs from that to a loss. */
const MARKED: Record<string, string> = {
    dctcp: "1 − α/2 of the window, α being the share of marked data (RFC 8257 section 3.3)",
    prague: "1 − α/2 of the window, α being the share of marked data (draft-briscoe-iccrg-prague-congestion-control)",
};
/** Congestion controls that set the window from a model or the delay, even after a loss. */
const MODEL: Record<string, string> = {
    bbr: "BBR set it to what its model of the path, bottleneck bandwidth × minimum RTT, allows in this phase (Cardwell et al. 2016)",
    bbr3: "BBRv3 set it to what its model of the path, bottleneck bandwidth × minimum RTT, allows in this phase (draft-ietf-ccwg-bbr)",
    copa: "Copa moves it to 1/(δ·d) segments per second, d being the queueing delay (Arun and Balakrishnan 2018)",
    ledbat: "LEDBAT measured a queueing delay above its target (RFC 6817 section 2.4.2)",
    vegas: "Vegas estimated that more than β of its segments are queued (Brakmo and Peterson 1995)",
};

/** Returns the explanation of a window reduction of a flow with this TCP variant. */
export function explain(reduction: Reduction, tcp: JsonTable): string {
    const [control, recovery] = [coreKind(tcp["congestion"]), coreKind(tcp["recovery"])];
    const [unit, scale] = byteUnit(reduction.from_bytes);
    const mss = Number(tcp["mss_bytes"]);
    const size = (bytes: number): string => `${Number((bytes * scale).toPrecision(3))} ${unit} (${Number((bytes / mss).toPrecision(3))} segments)`;
    const what = `At ${reduction.time_s.toFixed(3)} s the window fell from ${size(reduction.from_bytes)} to ${size(reduction.to_bytes)}.`;
    return `${what} ${ruleOf(reduction, control, recovery)}.`;
}

function ruleOf(reduction: Reduction, control: string, recovery: string): string {
    const model = MODEL[control];
    switch (reduction.cause) {
        case "timeout":
            return `No ACK arrived before the retransmission timer expired (RFC 6298 section 5), so the sender starts again with one segment in slow start (RFC 5681 section 3.1); ssthresh becomes ${REDUCED[control] ?? "the reduced window"}`;
        case "idle":
            return "The sender had been idle for longer than the RTO, so it restarts with the restart window (RFC 5681 section 4.1)";
        case "loss":
            if (recovery === "tahoe") return `${FOUND["tahoe"]}, after which Tahoe starts again with one segment`;
            if (model !== undefined && control !== "vegas" && control !== "ledbat") return `${FOUND[recovery] ?? FOUND["sack"]}; ${model}`;
            return `${FOUND[recovery] ?? FOUND["sack"]}, and ${spoken(control)} reduces the window to ${REDUCED[control] ?? "the value that its rule determines"}${inflated(recovery)}`;
        case "mark":
            if (model !== undefined && control !== "vegas" && control !== "ledbat") return model;
            return `A router marked a packet instead of dropping it, and the receiver echoed the mark (ECN, RFC 3168 section 6.1.2). ${spoken(control)} reduces the window to ${MARKED[control] ?? REDUCED[control] ?? "the value that its rule determines"}`;
        default:
            if (model !== undefined) return model;
            if (recovery === "reno") return "Fast recovery ended with an ACK of new data, which deflates the window to ssthresh (RFC 5681 section 3.2, step 6)";
            return `${spoken(control)} reduced it without a loss or a mark, at the end of a recovery or by another of its rules`;
    }
}

/** Returns the name of a congestion control in a sentence. */
function spoken(control: string): string {
    const own: Record<string, string> = { aimd: "Reno", module: "the module" };
    return own[control] ?? called("tcp.congestion", control);
}

function inflated(recovery: string): string {
    return recovery === "reno" || recovery === "newreno" ? ", plus three segments for those that have left the network" : "";
}
