/** Data about longpipe that is built into the page (see python/longpipe/lab/description.py). */
import data from "../../build/description.json";

/** Type of a field's value, with the bounds of the models. */
export type Type = { optional?: boolean; suffix?: string } & (
    | { is: "text"; least?: number; most?: number; pattern?: string }
    | { is: "bool" }
    | { is: "int" | "float"; ge?: number; gt?: number; le?: number; lt?: number; decimals?: number }
    | { is: "one of"; values: (string | number)[] }
    | {
          is: "quantity";
          dimension: string;
          low: string;
          high: string;
          suffix: string;
          unlimited: boolean;
          auto: boolean;
      }
    | { is: "buffer" }
    | { is: "integer or word"; low: number; high: number; word: string }
    | { is: "part"; part: string }
    // A table of values by name, each a number, a boolean or text.
    | { is: "values"; most?: number }
    // Parts by kind.
    | { is: "kinds"; kinds: Record<string, string>; chosen: boolean }
    // Types of a row's items: `each` if they differ, otherwise `of` for all; what the field of a row of fixed length needs.
    | { is: "list"; of: Type; each?: Type[]; ascending: boolean; length?: number; needs?: string; least?: number; most?: number }
);

/** A field of a part. */
export interface Field {
    name: string;
    type: Type;
    meaning?: string;
    unit?: string;
    source?: string;
    default?: unknown;
    /** Meaning, unit and source as one text, of a field without a default. */
    description?: string;
    later?: boolean;
}

/** A part of a scenario. */
export interface Model {
    kind: string | null;
    fields?: Field[];
    /** Common name of a kind. */
    label?: string;
    /** Facts about a congestion control and a loss recovery; see python/longpipe/scenario/variant.py. */
    is_model?: boolean;
    detection?: string;
    after_loss?: string;
    after_mark?: string;
    by_model?: string;
    /** How the data of a source are transported, and the field with the time between events that repeat in any case. */
    transport?: string;
    repeats?: string;
}

/** A choice: its text, and the value of the field. */
export interface Choice {
    words: string;
    value: unknown;
}

/** An exercise; python/longpipe/lab/exercises describes its fields. */
export interface Exercise {
    title: string;
    text: string;
    task: string;
    look: string;
    why: string | Record<string, string>;
    scenario: Record<string, unknown>;
    field: string;
    label: string;
    choices: Choice[];
    wanted: "smallest" | "largest";
    measure: "efficiency" | "timeouts" | "share";
    flow?: string;
    least?: number;
    most?: number;
}

/**
 * A preset; `fields` are those of a file, and `core` is the form for the core if the page cannot resolve them itself.
 */
export interface Preset {
    name: string;
    group: string;
    words: string;
    fields: Record<string, unknown>;
    core?: string;
}

interface Description {
    version: string;
    engine: string;
    models: Record<string, Model>;
    numbers: {
        cell_bits: number;
        cell_bytes: number;
        cell_payload_bytes: number;
        overhead_bytes: number;
        header_bytes: number;
        timestamp_bytes: number;
        datagram_header_bytes: number;
    };
    buffer_of_cells: string;
    /** Defaults of absent fields of the scenario, its network and its TCP, by the field `defaults`. */
    defaults: Record<string, Record<"scenario" | "network" | "tcp", Record<string, unknown>>>;
    /** The field `defaults` that each version of the schema of files implies. */
    schemas: Record<string, string>;
    /** Kinds of traffic that do not use TCP. */
    datagrams: string[];
    /** Version of longpipe_control.h. */
    module_interface: string;
    first_kinds: string[];
    /** Former fields of TCP with options of a congestion controller, each with the controller's kind. */
    former: Record<string, string>;
    absent: { names: Record<string, [string, string]>; called: Record<string, string> };
    homes: { field: string; what: string; names: string[] }[];
    /** The congestion control of RFC 5681, and a clause about a loss recovery in place of a congestion control. */
    reno: { kind: string; window: string };
    profiles: Record<string, Record<string, unknown>>;
    rules: Record<string, Record<string, Record<string, unknown>>>;
    /** Distributions of jitter by name: the first entry of the table, and the differences of the others; none for uniform. */
    distributions: Record<string, number[]>;
    limits: Record<string, string>;
    /** Fields of links and nodes that the page does not support, each with its effect. */
    beyond: Record<string, string>;
    presets: Preset[];
    exercises: Exercise[];
}

export const DESCRIPTION = data as unknown as Description;
export const NUMBERS = DESCRIPTION.numbers;

/** Returns the part with this name, which must exist. */
export function model(name: string): Model {
    const found = DESCRIPTION.models[name];
    if (found === undefined) throw new Error(`no part ${name}`);
    return found;
}

/** Returns the fields of a part other than its kind; none if only the command line supports the part. */
export function fieldsOf(part: string): Field[] {
    return model(part).fields ?? [];
}

/** Returns the field of a part by its name, or undefined. */
export function field(part: string, name: string): Field | undefined {
    return fieldsOf(part).find((one) => one.name === name);
}

/** Returns the model of a kind that the field of a part accepts, such as `kindOfField("Tcp", "congestion", "cubic")`. */
export function kindOfField(part: string, name: string, kind: string): Model | undefined {
    const type = DESCRIPTION.models[part] === undefined ? undefined : field(part, name)?.type;
    const found = type?.is === "kinds" ? type.kinds[kind] : undefined;
    return found === undefined ? undefined : model(found);
}
