/** Quantities as text and as integers, which the engine reads and writes (crates/units). */
import { canonical_quantity, parse_quantity, units_of } from "../../build/engine/engine";

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
}

export const TIME = new Dimension("time");
export const SIZE = new Dimension("size");

/** Returns the dimension with this name. */
export function dimension(name: string): Dimension {
    return new Dimension(name);
}
