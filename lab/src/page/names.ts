/** Common names of TCP variants: "Reno", "CUBIC". */
import type { Json, JsonTable } from "../scenario/json";
import { kindOfField } from "../scenario/model";
import { moduleName } from "../scenario/modules";
import type { Resolved } from "../scenario/resolve";

/** Names of framings, for menus. */
const FRAMINGS: Record<string, string> = { aal5: "ATM cells (AAL5)", ip: "IP" };
/** Parts of a scenario whose fields have kinds with common names. */
const PARTS: Record<string, string> = { tcp: "Tcp", switch: "Switch" };

/** Returns the name of a kind of a field, in a menu. */
export function called(path: string, kind: string): string {
    if (path === "framing") return FRAMINGS[kind] ?? kind;
    const [part, name] = path.split(".") as [string, string?];
    return kindOfField(PARTS[part] ?? "", name ?? "", kind)?.label ?? kind;
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
