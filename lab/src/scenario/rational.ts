/** Exact fractions. */

/** A fraction in lowest terms; the denominator is positive. */
export class Rational {
    private constructor(
        readonly top: bigint,
        readonly bottom: bigint,
    ) {}

    static of(top: bigint, bottom: bigint = 1n): Rational {
        const sign = bottom < 0n ? -1n : 1n;
        const divisor = gcd(top < 0n ? -top : top, bottom < 0n ? -bottom : bottom) || 1n;
        return new Rational((sign * top) / divisor, (sign * bottom) / divisor);
    }

    /** Parses decimal text, with or without exponent. */
    static parse(text: string): Rational {
        const found = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(text);
        if (found === null) throw new Error(`not a number: ${text}`);
        const [, sign = "", whole = "", part = "", exponent = "0"] = found;
        const digits = BigInt(`${whole}${part}` || "0") * (sign === "-" ? -1n : 1n);
        const power = Number(exponent) - part.length;
        return power >= 0 ? Rational.of(digits * 10n ** BigInt(power)) : Rational.of(digits, 10n ** BigInt(-power));
    }

    times(other: Rational): Rational {
        return Rational.of(this.top * other.top, this.bottom * other.bottom);
    }

    over(other: Rational): Rational {
        return Rational.of(this.top * other.bottom, this.bottom * other.top);
    }

    plus(other: Rational): Rational {
        return Rational.of(this.top * other.bottom + other.top * this.bottom, this.bottom * other.bottom);
    }

    compare(other: Rational): number {
        const difference = this.top * other.bottom - other.top * this.bottom;
        return difference < 0n ? -1 : difference > 0n ? 1 : 0;
    }

    get whole(): boolean {
        return this.bottom === 1n;
    }

    floor(): bigint {
        const quotient = this.top / this.bottom;
        return this.top < 0n && quotient * this.bottom !== this.top ? quotient - 1n : quotient;
    }

    /** Formats as decimal text without rounding; the denominator divides a power of ten. */
    decimal(): string {
        let digits = 0;
        let scale = 1n;
        while ((this.top * scale) % this.bottom !== 0n) {
            digits += 1;
            scale *= 10n;
        }
        const all = (this.top * scale) / this.bottom;
        const size = (all < 0n ? -all : all).toString().padStart(digits + 1, "0");
        const text = digits === 0 ? size : `${size.slice(0, -digits)}.${size.slice(-digits)}`;
        return all < 0n ? `-${text}` : text;
    }

    toNumber(): number {
        return Number(this.top) / Number(this.bottom);
    }
}

function gcd(a: bigint, b: bigint): bigint {
    while (b !== 0n) [a, b] = [b, a % b];
    return a;
}
