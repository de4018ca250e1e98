/** Parameters in the form: fields of a scenario, with the ranges of their sliders. */
import { ScenarioError, repr } from "../scenario/errors";
import { type Field, type Type, field as fieldOf, fieldsOf } from "../scenario/model";
import { type Part, kindOf, valueOf } from "../scenario/part";
import type { Resolved } from "../scenario/resolve";
import { parsed } from "../scenario/toml";
import { dimension } from "../scenario/units";

/** A parameter in the form: the dotted name of a field, its label, and for a slider its range and the levels to compare. */
export interface Knob {
    path: string;
    label: string;
    group: string;
    span?: [string, string];
    levels: string[];
    /** Whether the field exists only for dumbbells. */
    dumbbell?: true;
}

export const KNOBS: Knob[] = [
    { path: "network.sources", label: "sources", group: "Network", span: ["1", "50"], levels: ["1", "2", "5", "10", "15"], dumbbell: true },
    { path: "network.trunk_rate", label: "trunk rate", group: "Network", span: ["1 Mbit/s", "1 Gbit/s"], levels: ["10 Mbit/s", "50 Mbit/s", "155.52 Mbit/s"], dumbbell: true },
    { path: "network.trunk_delay", label: "trunk delay", group: "Network", span: ["5 us", "300 ms"], levels: ["1 ms", "10 ms", "50 ms", "275 ms"], dumbbell: true },
    { path: "network.access_rate", label: "access rate", group: "Network", span: ["1 Mbit/s", "10 Gbit/s"], levels: ["155.52 Mbit/s", "1 Gbit/s"], dumbbell: true },
    { path: "network.trunk_loss", label: "loss on the trunk", group: "Network", levels: ["none", "bernoulli 1e-5", "bernoulli 1e-4", "bernoulli 1e-3"], dumbbell: true },
    { path: "framing", label: "framing", group: "Network", levels: ["aal5", "ip"] },
    { path: "switch.buffer", label: "buffer", group: "Switch", span: ["0.05 BDP", "4 BDP"], levels: ["0.25 BDP", "0.5 BDP", "1 BDP", "2 BDP"] },
    { path: "switch.policy", label: "policy", group: "Switch", levels: ["tail-drop", "epd", "selective-drop", "fba"] },
    { path: "tcp.profile", label: "profile", group: "TCP", levels: ["classic", "linux-6"] },
    { path: "tcp.recovery", label: "loss recovery", group: "TCP", levels: ["vanilla", "reno", "newreno", "sack"] },
    { path: "tcp.congestion", label: "congestion control", group: "TCP", levels: ["aimd", "cubic", "bbr", "scalable"] },
    { path: "tcp.mss", label: "MSS", group: "TCP", span: ["100 B", "9180 B"], levels: ["512 B", "1460 B", "9180 B"] },
    { path: "tcp.receiver_window", label: "receiver window", group: "TCP", span: ["8 KB", "16 MB"], levels: ["64 KiB", "600 KB", "auto"] },
    { path: "tcp.initial_window", label: "initial window", group: "TCP", span: ["1 segment", "100 segments"], levels: ["1 segment", "4 segments", "10 segments"] },
    { path: "tcp.ack", label: "ACKs", group: "TCP", levels: ["immediate", "delayed"] },
    { path: "tcp.ecn", label: "ECN", group: "TCP", levels: ["off", "classic"] },
    { path: "tcp.timer", label: "timer", group: "TCP", levels: ["coarse", "fine"] },
    { path: "traffic", label: "traffic", group: "Run", levels: ["greedy", "web"] },
    { path: "start", label: "start", group: "Run", levels: ["fixed", "random"] },
    { path: "duration", label: "duration", group: "Run", span: ["1 s", "200 s"], levels: ["10 s", "20 s", "100 s"] },
];

type Table = Record<string, unknown>;

/** Returns the value of a dotted field in a checked scenario: text, a number, or a part. */
export function checkedAt(resolved: Resolved, path: string): { value: unknown; field: Field } | null {
    let part: Part = resolved.scenario;
    const names = path.split(".");
    for (const name of names.slice(0, -1)) {
        const next = part.values[name];
        if (next === undefined || next === null) return null;
        part = next as Part;
    }
    const last = names.at(-1) as string;
    const known = fieldOf(part.part, last);
    return known === undefined || !(last in part.values) ? null : { value: valueOf(part, last), field: known };
}

/**
 * Returns a copy of fields with one dotted field changed; a kind without a table becomes a table if one of its fields
 * is set.
 */
export function changed(fields: Table, path: string, value: unknown): Table {
    const copy = structuredClone(fields);
    const names = path.split(".");
    let table = copy;
    for (const name of names.slice(0, -1)) {
        const below = table[name];
        const next: Table = typeof below === "string" ? { kind: below } : ((below ?? {}) as Table);
        if (name === "network" && below === undefined) next["kind"] = "dumbbell";
        if (name === "timer" && below === undefined) next["kind"] = "coarse";
        table[name] = next;
        table = next;
    }
    const last = names.at(-1) as string;
    if (value === undefined) delete table[last];
    else table[last] = value;
    // Groups determine the number of sources.
    if (path === "network.sources") delete table["group"];
    return copy;
}

/** Parses the text of a parameter: a number, a list, or text. */
export function meant(text: string, type: Type): unknown {
    const written = text.trim();
    if (type.is === "kinds") return table(written, type);
    if (type.is === "values") return valuesOf(written);
    if (type.is === "bool") return written === "true";
    if (type.is === "list") {
        const items = written.split(",").filter((item) => item.trim() !== "");
        return items.map((item) => meant(item, type.of));
    }
    if (type.optional === true && written === "") return undefined;
    if (type.is === "one of") return type.values.find((value) => String(value) === written) ?? written;
    if (type.is === "int" && /^[+-]?\d+$/.test(written)) return BigInt(written);
    if ((type.is === "int" || type.is === "float") && written !== "" && !Number.isNaN(Number(written))) return Number(written);
    return written;
}

/** Values by name, as in "beta = 0.7, gain = 2"; other text is returned unchanged. */
function valuesOf(written: string): unknown {
    try {
        return parsed(`values = {${written}}`, "values")["values"];
    } catch (error) {
        if (error instanceof ScenarioError) return written;
        throw error;
    }
}

/** Returns a kind with a value for each field without a default; "bernoulli 1e-4" sets the first of these fields. */
function table(written: string, type: Type & { is: "kinds" }): unknown {
    const [kind = "", first] = written.split(/\s+/, 2);
    if (kind !== "" && !Number.isNaN(Number(kind))) {
        return Number(kind) === 0 ? "none" : { kind: "bernoulli", probability: Number(kind) };
    }
    const part = type.kinds[kind];
    if (part === undefined) return written;
    const needed = fieldsOf(part).filter((field) => !("default" in field));
    if (needed.length === 0) return kind;
    const values = needed.map((field) => [field.name, meant(starting(field), field.type)]);
    if (first !== undefined && values[0] !== undefined) values[0][1] = meant(first, (needed[0] as Field).type);
    return { kind, ...Object.fromEntries(values) };
}

/** Instructive initial values of fields without a default. */
const STARTING: Record<string, string> = {
    probability: "1e-4",
    good_to_bad: "1e-4",
    bad_to_good: "0.3",
    share: "0.1",
    rate: "1 Mbit/s",
    good: "10 s",
    bad: "100 ms",
    threshold: "20",
};

/** Returns an initial value for a field without a default: the example of its description, or an instructive value. */
function starting(field: Field): string {
    // The value for a bit error rate has to be a number.
    const start = field.name === "rate" && field.type.is !== "quantity" ? undefined : STARTING[field.name];
    return start ?? (/as in (.*)$/.exec(field.description ?? "")?.[1] ?? "").replaceAll(/['"[\]]/g, "");
}

/** Returns a checked value as text for the form. */
export function written(value: unknown, type?: Type): string {
    if (type?.is === "values") {
        return (value as [string, unknown][]).map(([name, item]) => `${name} = ${shownValue(item)}`).join(", ");
    }
    if (Array.isArray(value)) return value.map((item) => written(item)).join(", ");
    if (typeof value === "object" && value !== null) return kindOf(value as Part);
    return value === null || value === undefined ? "" : String(value);
}

/** A value of TOML as text. */
function shownValue(value: unknown): string {
    if (typeof value === "string") return JSON.stringify(value);
    return typeof value === "number" ? repr(value) : String(value);
}

/** Useful range of a buffer size, by unit. */
const BUFFER_SPANS: Record<string, [number, number]> = { BDP: [0.05, 4], cells: [100, 200_000], packets: [4, 5000], ms: [1, 2000] };
/** Units that a slider cannot select but preserves. */
const RARE_UNITS = ["min", "h", "KiB", "MiB", "GiB", "kbit/s", "ps", "ns"];

/** Logarithmic scale of a slider: converts a value into a position [0, 1], and a position into a value. */
export class Scale {
    private constructor(
        private readonly type: Type,
        private readonly low: number,
        private readonly high: number,
        private readonly unit: string,
    ) {}

    /** The scale for the current value; null if a slider cannot represent it, as for "auto". */
    static of(knob: Knob, type: Type, now: string): Scale | null {
        if (knob.span === undefined) return null;
        if (type.is === "int") return new Scale(type, Number(knob.span[0]), Number(knob.span[1]), "");
        const unit = now.split(" ").at(-1) ?? "";
        if (type.is === "buffer") {
            const span = BUFFER_SPANS[unit.replace(/^(cell|packet)$/, "$1s")];
            return span === undefined ? null : new Scale(type, ...span, unit.replace(/^(cell|packet)$/, "$1s"));
        }
        if (type.is !== "quantity" || Number.isNaN(base(type, now))) return null;
        return new Scale(type, base(type, knob.span[0]), base(type, knob.span[1]), unit);
    }

    /** Returns the position of a value. */
    position(text: string): number {
        const value = this.type.is === "quantity" ? base(this.type, text) : Number.parseFloat(text);
        if (!(value > 0)) return 0;
        return Math.min(1, Math.max(0, Math.log(value / this.low) / Math.log(this.high / this.low)));
    }

    /** Returns the value at a position, with two digits. */
    text(position: number): string {
        const value = this.low * (this.high / this.low) ** position;
        if (this.type.is === "int") return String(Math.round(value));
        if (this.type.is === "buffer") {
            const digits = Number(value.toPrecision(2));
            return dimension("buffer").canonical(`${this.unit === "BDP" ? digits : Math.round(digits)} ${this.unit}`);
        }
        const kinds = dimension((this.type as Type & { is: "quantity" }).dimension);
        const usual = [...kinds.units].filter(([unit]) => unit === this.unit || !RARE_UNITS.includes(unit));
        const fitting = usual.filter(([, scale]) => scale <= value);
        const [unit, scale] = fitting.at(-1) ?? usual[0] ?? ["", 1];
        const digits = Number((value / scale).toPrecision(2));
        return kinds.canonical(`${scale === 1 ? Math.round(digits) : digits} ${unit}`);
    }
}

/** Returns a quantity in base units; nan for other text. */
function base(type: Type & { is: "quantity" }, text: string): number {
    try {
        return Number(dimension(type.dimension).parse(text));
    } catch {
        return Number.NaN;
    }
}

/** Returns the kinds or values of a field that is a choice; empty for other fields. */
export function choices(type: Type): string[] | null {
    if (type.is === "kinds") return Object.keys(type.kinds);
    if (type.is === "one of") return type.values.map(String);
    return null;
}
