/** Quantities as text and as integers for the core: the units are those of longpipe.units. */
import { repr } from "./errors";
import { DESCRIPTION } from "./model";
import { Rational } from "./rational";

export const UNLIMITED = "unlimited";
const QUANTITY = /^([+-]?(?:\d{1,24}(?:\.\d{1,24})?|\.\d{1,24})(?:[eE][+-]?\d{1,2})?)\s*([^\d\s.+-].{0,23})?$/u;

/** Maximum number of digits before, and after, the decimal point. */
const MAX_DIGITS = 24;
/** Relative error of a float that is the result of an operation with rounding. */
const FLOAT_ERROR = Rational.of(1n, 2n ** 51n);

/** Returns whether a number has a decimal form that can be read again. */
function isDecimal(number: Rational): boolean {
    return 10n ** BigInt(MAX_DIGITS) % number.bottom === 0n;
}

/** Returns a number whose value in base units is an integer, if only the last digits of a float differ from it. */
function withoutFloatError(number: Rational, scale: Rational): Rational {
    const value = number.times(scale);
    if (number.whole || value.whole) return number;
    const nearest = Rational.of(value.plus(Rational.of(1n, 2n)).floor());
    const size = Rational.of(value.top < 0n ? -value.top : value.top, value.bottom);
    const error = value.plus(Rational.of(-nearest.top));
    if ((error.top < 0n ? Rational.of(-error.top, error.bottom) : error).compare(size.times(FLOAT_ERROR)) > 0) return number;
    const rounded = nearest.over(scale);
    return isDecimal(rounded) ? rounded : number;
}

/** A problem with a value, without the name of its field. */
export class ValueProblem extends Error {}

/** A kind of quantity. */
export class Dimension {
    private readonly scales: Map<string, Rational>;
    private readonly data;

    constructor(private readonly name: string) {
        const data = DESCRIPTION.dimensions[name];
        if (data === undefined) throw new Error(`no dimension ${name}`);
        this.data = data;
        this.scales = new Map(Object.entries(data.units).map(([unit, scale]) => [unit, Rational.parse(scale)]));
    }

    get units(): string[] {
        return [...this.scales.keys()];
    }

    /** Returns the number of base units per unit, if the dimension has this unit. */
    scale(unit: string): Rational | undefined {
        return this.scales.get(unit);
    }

    /** Parses number and canonical unit; throws ValueProblem with the value and what is accepted. */
    split(text: string): [Rational, string] {
        const found = QUANTITY.exec(text.trim());
        if (found === null) throw new ValueProblem(`${repr(text)}; ${this.accepts()}`);
        const written = found[2];
        if (written === undefined) throw new ValueProblem(`${repr(text)} has no unit; ${this.accepts()}`);
        const plural = Object.entries(this.data.singular).find(([, singular]) => singular === written)?.[0];
        const named = this.data.aliases[written] ?? plural ?? written;
        const [count, unit] = this.data.multiples[named] ?? ["1", named];
        const number = Rational.parse(found[1] as string).times(Rational.parse(count));
        if (!isDecimal(number)) throw new ValueProblem(`${repr(text)}; needs a number of at most ${MAX_DIGITS} decimals`);
        const scale = this.scales.get(unit);
        if (scale === undefined) {
            throw new ValueProblem(`${repr(text)} is not a ${this.name}${this.meant(written)}; ${this.accepts()}`);
        }
        return [withoutFloatError(number, scale), unit];
    }

    /** Returns the unit that was probably meant if the case is wrong, or the dimension is another one. */
    private meant(written: string): string {
        const other = this.data.other[written];
        if (other !== undefined) return other;
        const own = [...this.units, ...Object.keys(this.data.multiples)].map((unit) => [unit, unit]);
        const names = [...own, ...Object.entries(this.data.aliases)];
        const same = names.filter(([name]) => (name as string).toLowerCase() === written.toLowerCase());
        const found = [...new Set(same.map(([, unit]) => unit as string))].sort();
        if (found.length > 1) return `, it may be ${found.map((unit) => repr(unit)).join(" or ")}`;
        return found.length === 1 ? `, it is ${repr(found[0] as string)} here` : "";
    }

    /** Parses a quantity into base units; throws ValueProblem. */
    parse(text: string): bigint {
        const [number, unit] = this.split(text);
        const value = number.times(this.scales.get(unit) as Rational);
        if (!value.whole) throw new ValueProblem(`${repr(text)}; needs a whole number of ${this.data.base}`);
        return value.top;
    }

    /** Returns a quantity in canonical form, in the unit in which it is written. */
    canonical(text: string): string {
        return this.write(...this.split(text));
    }

    /** Formats a number of base units with the unit that takes the fewest characters. */
    format(value: bigint): string {
        let best: string | null = null;
        for (const [unit, scale] of [...this.scales].reverse()) {
            const number = Rational.of(value).over(scale);
            const size = number.top < 0n ? -number.top : number.top;
            if (size < number.bottom || !number.times(Rational.of(1_000_000n)).whole) continue;
            const text = this.write(number, unit);
            if (best === null || text.length < best.length) best = text;
        }
        return best ?? this.write(Rational.of(value), this.data.base);
    }

    /** Returns the clause of an error that lists accepted values. */
    accepts(unlimited = this.data.unlimited): string {
        const or = unlimited ? `, or '${UNLIMITED}'` : "";
        return `accepts ${this.units.join(", ")}, as in ${repr(this.data.example)}${or}`;
    }

    private write(number: Rational, unit: string): string {
        const one = number.compare(Rational.of(1n)) === 0;
        return `${number.decimal()} ${one ? (this.data.singular[unit] ?? unit) : unit}`;
    }
}

export const TIME = new Dimension("time");
export const RATE = new Dimension("bit rate");
export const SIZE = new Dimension("number of bytes");
export const SEGMENTS = new Dimension("number of segments");
export const TICKS = new Dimension("number of ticks");
export const BUFFER = new Dimension("buffer size");
const ALL = { time: TIME, "bit rate": RATE, "number of bytes": SIZE, "number of segments": SEGMENTS };

/** Returns the dimension with this name. */
export function dimension(name: string): Dimension {
    return { ...ALL, "number of ticks": TICKS, "buffer size": BUFFER }[name] ?? new Dimension(name);
}
