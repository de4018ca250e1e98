/** Common names of TCP variants: "Reno", "CUBIC". */
import type { Json, JsonTable } from "../scenario/core";
import { moduleName } from "../scenario/modules";
import type { Resolved } from "../scenario/resolve";

/** Names of kinds, for menus and pictures. Kinds that are missing here are shown with their name in files. */
const CALLED: Record<string, Record<string, string>> = {
    "tcp.congestion": {
        aimd: "AIMD (Reno)",
        bbr: "BBR",
        bbr3: "BBRv3",
        bic: "BIC",
        copa: "Copa",
        cubic: "CUBIC",
        dctcp: "DCTCP",
        highspeed: "HighSpeed",
        htcp: "H-TCP",
        hybla: "Hybla",
        illinois: "Illinois",
        ledbat: "LEDBAT",
        "linux-reno": "Reno of Linux",
        module: "WebAssembly file…",
        prague: "Prague",
        scalable: "Scalable",
        vegas: "Vegas",
        veno: "Veno",
        westwood: "Westwood",
    },
    "tcp.recovery": {
        vanilla: "timeouts only",
        tahoe: "Tahoe",
        reno: "Reno",
        newreno: "NewReno",
        sack: "SACK",
        rfc6675: "SACK (RFC 6675)",
        rack: "RACK-TLP",
    },
    "switch.policy": {
        "tail-drop": "tail drop",
        "partial-packet-discard": "partial packet discard",
        epd: "EPD",
        "selective-drop": "selective drop",
        fba: "FBA",
        red: "RED",
        pie: "PIE",
        "step-marking": "step marking",
        blue: "BLUE",
        codel: "CoDel",
        "fq-codel": "FQ-CoDel",
        dualpi2: "DualPI2",
        sfq: "SFQ",
        drr: "DRR",
    },
    framing: { aal5: "ATM cells (AAL5)", ip: "IP" },
};

/** Returns the name of a kind of a field, in a menu. */
export function called(path: string, kind: string): string {
    return CALLED[path]?.[kind] ?? kind;
}

/** Returns the kind of a part in the form that the core accepts: a name without a table, or a table. */
export function coreKind(value: Json | undefined): string {
    return typeof value === "object" && value !== null ? String((value as JsonTable)["kind"]) : String(value);
}

/** Returns the name of a flow's TCP variant from its congestion control and loss recovery. */
export function tcpName(tcp: JsonTable): string {
    const [control, recovery] = [coreKind(tcp["congestion"]), coreKind(tcp["recovery"])];
    const repair = called("tcp.recovery", recovery);
    if (control !== "aimd") {
        const usual = ["sack", "rfc6675", "rack"].includes(recovery);
        const name = control === "module" ? moduleName(String((tcp["congestion"] as JsonTable)["digest"])) : called("tcp.congestion", control);
        return usual ? name : `${name} with recovery by ${repair}`;
    }
    if (["tahoe", "reno", "newreno"].includes(recovery)) return repair;
    return recovery === "vanilla" ? "AIMD with timeouts only" : `Reno with ${repair}`;
}

/** Returns the names of the TCP variants of a scenario, each once. */
export function tcpNames(resolved: Resolved, overTcp: (flow: JsonTable) => boolean): string {
    const flows = (resolved.core["flows"] as JsonTable[]).filter(overTcp);
    return [...new Set(flows.map((flow) => tcpName(flow["tcp"] as JsonTable)))].join(", ");
}
