/** Settings of TCP connections, as the engine reads them and merges those of flows with the scenario's. */
import { Facts } from "../../build/engine/engine";
import { violations } from "./constraints";
import { type Json, type JsonTable, coreFields, coreRows, plain, toJson } from "./core";
import { DESCRIPTION, field, model } from "./model";
import { moduleOf } from "./modules";
import { type Part, kindOf, valueOf } from "./part";
import { plainPart } from "./check";

/** Fields from which the engine computes others. */
const COMPUTED = ["profile", "receiver_window", "window_scale"];

let known: Facts | undefined;

/** Returns what the models state about connections and VBR, for the engine. */
export function facts(): Facts {
    const constraints = model("Tcp").constraints ?? [];
    known ??= new Facts(
        toJson({
            fields: constraints.map(([name]) => name),
            rules: constraints.map(([, ...rule]) => rule),
            options: DESCRIPTION.rules as unknown as Json,
            most_pause: (field("OnOff", "period")?.type as { high: string }).high,
        }),
    );
    return known;
}

/**
 * Returns fields of a connection as the scenario has them, those for the core, the names of its own fields and of the
 * options of its control, and the problems of its timer. All fields are given if none is its own.
 */
export function tcpRow(tcp: Part, own: string[] = []): Json {
    const names = own.length > 0 ? own : model("Tcp").fields.map((one) => one.name);
    const rows = coreRows(tcp, names.filter((name) => !COMPUTED.includes(name)));
    const congestion = valueOf(tcp, "congestion") as Part;
    if (names.includes("congestion")) {
        for (const row of rows) if (row[0] === "congestion" && kindOf(congestion) === "module") row[2] = coreModule(congestion);
        rows.push(...Object.entries(flatOptions(congestion)).map(([key, value]): [string, string, Json] => ["congestion", key, value]));
    }
    const fields = Object.fromEntries(names.map((name) => [name, plain(valueOf(tcp, name))]));
    const options = [...congestion.written].filter((name) => name !== "kind");
    return [fields, rows, own, options, violations(valueOf(tcp, "timer") as Part)];
}

/** Returns the fields of the resolved form with the options of AIMD and Vegas, whichever controller is selected. */
function flatOptions(congestion: Part): JsonTable {
    const [aimd, vegas] = ["Aimd", "Vegas"].map((name) =>
        coreFields(congestion.part === name ? congestion : plainPart(name), ["kind"]),
    ) as [JsonTable, JsonTable];
    return { ...aimd, vegas };
}

/** Converts a module for the core: its digest, and its own clock, if it has one. */
function coreModule(module: Part): JsonTable {
    const { parameters } = coreFields(module) as { parameters: Json };
    const digest = moduleOf(String(valueOf(module, "file")))?.digest ?? "";
    return { kind: "module", digest, parameters, hz: valueOf(module, "hz") as bigint | null };
}
