/** Explains why the congestion window fell: the rule that the sender followed, and its source. */
import type { JsonTable } from "../scenario/json";
import { kindOfField } from "../scenario/model";
import { called, coreKind } from "./names";
import type { Reduction } from "./protocol";
import { byteUnit } from "./series";

const UNKNOWN = "the value that its rule determines";

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
    const facts = kindOfField("Tcp", "congestion", control);
    const model = facts?.by_model;
    const detection = kindOfField("Tcp", "recovery", recovery)?.detection;
    switch (reduction.cause) {
        case "timeout":
            return `No ACK arrived before the retransmission timer expired (RFC 6298 section 5), so the sender starts again with one segment in slow start (RFC 5681 section 3.1); ssthresh becomes ${facts?.after_loss ?? "the reduced window"}`;
        case "idle":
            return "The sender had been idle for longer than the RTO, so it restarts with the restart window (RFC 5681 section 4.1)";
        case "loss":
            if (recovery === "tahoe") return `${detection}, after which Tahoe starts again with one segment`;
            if (model !== undefined && facts?.is_model === true) return `${detection}; ${model}`;
            return `${detection}, and ${nameInSentence(control)} reduces the window to ${facts?.after_loss ?? UNKNOWN}${inflation(recovery)}`;
        case "mark":
            if (model !== undefined && facts?.is_model === true) return model;
            return `A router marked a packet instead of dropping it, and the receiver echoed the mark (ECN, RFC 3168 section 6.1.2). ${nameInSentence(control)} reduces the window to ${facts?.after_mark ?? facts?.after_loss ?? UNKNOWN}`;
        default:
            // Without a loss or a mark, the model explains a reduction even if the control also reacts to losses.
            if (model !== undefined) return model;
            if (recovery === "reno") return "Fast recovery ended with an ACK of new data, which deflates the window to ssthresh (RFC 5681 section 3.2, step 6)";
            return `${nameInSentence(control)} reduced it without a loss or a mark, at the end of a recovery or by another of its rules`;
    }
}

/** Returns the name of a congestion control in a sentence. */
function nameInSentence(control: string): string {
    const names: Record<string, string> = { aimd: "Reno", module: "the module" };
    return names[control] ?? called("tcp.congestion", control);
}

/** Returns the rule by which Reno and NewReno inflate the window (RFC 5681 section 3.2, step 3). */
function inflation(recovery: string): string {
    return recovery === "reno" || recovery === "newreno" ? "; the window also counts the three segments whose duplicate ACKs show that they have left the network" : "";
}
