/** Quantities as text and as integers for the core, which the engine reads and writes (crates/units). */
import {
    accepted_units, canonical_quantity, check_buffer, check_quantity, parse_quantity, units_of,
} from "../../build/engine/engine";
import type { Type } from "./model";

export const UNLIMITED = "unlimited";

/** A problem with a value, without the name of its field. */
export class ValueProblem extends Error {}

/** Calls the engine, whose exception becomes a ValueProblem. */
function checked(call: () => string): string {
    try {
        return call();
    } catch (error) {
        if (!(error instanceof Error) || error instanceof WebAssembly.RuntimeError) throw error;
        throw new ValueProblem(error.message);
    }
}

/** Returns a bounded quantity in canonical form; throws ValueProblem. */
export function checkedQuantity({ dimension, unlimited, low, high, auto }: Type & { is: "quantity" }, text: string): string {
    return checked(() => check_quantity(dimension, unlimited, low, high, auto, text));
}

/** Returns the size of a buffer in canonical form; throws ValueProblem. */
export function checkedBuffer(text: string): string {
    return checked(() => check_buffer(text));
}

/** A kind of quantity. */
export class Dimension {
    constructor(private readonly name: string) {}

    /** Units that longpipe writes, each with its number of base units. */
    get units(): Map<string, number> {
        return new Map(units_of(this.name) as [string, number][]);
    }

    /** Parses a quantity into base units; throws Error with the value and what is accepted. */
    parse(text: string): bigint {
        return parse_quantity(this.name, text);
    }

    /** Returns a quantity in canonical form, in the unit in which it is written. */
    canonical(text: string): string {
        return canonical_quantity(this.name, text);
    }

    /** Returns the clause of an error that lists accepted values. */
    accepts(unlimited: boolean): string {
        return accepted_units(this.name, unlimited);
    }
}

export const TIME = new Dimension("time");
export const SIZE = new Dimension("size");

/** Returns the dimension with this name. */
export function dimension(name: string): Dimension {
    return new Dimension(name);
}
