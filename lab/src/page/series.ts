/**
 * Time series of a picture as lines: two points for each interval (bin), its minimum and its maximum, so that all peaks
 * are visible. The inputs are of type `Course`: minimum, maximum and last value per interval, and the value before them.
 */
import type { Course, View } from "./protocol";

/** Returns the times of the points [s], one in the first and one in the second half of each interval. */
export function pointTimes(view: View): Float64Array {
    const step = (view.to_s - view.from_s) / view.bins;
    return Float64Array.from({ length: 2 * view.bins }, (_, i) => view.from_s + (i / 2 + 0.25) * step);
}

/** Returns the values of a step function; intervals without a value keep the previous value, up to interval `until`. */
export function stepLine(course: Course, scale: number, until: number): (number | null)[] {
    const values: (number | null)[] = new Array<number | null>(2 * course.low.length).fill(null);
    let before = course.before;
    for (let bin = 0; bin < course.low.length && bin <= until; bin++) {
        const low = course.low[bin] as number;
        if (Number.isNaN(low)) {
            if (!Number.isNaN(before)) values[2 * bin] = values[2 * bin + 1] = before * scale;
            continue;
        }
        const [high, last] = [course.high[bin] as number, course.last[bin] as number];
        // If the last value is closer to the minimum, the maximum comes first.
        const falls = last - low < high - last;
        values[2 * bin] = (falls ? high : low) * scale;
        values[2 * bin + 1] = (falls ? low : high) * scale;
        before = last;
    }
    return values;
}

/** Minimum number of intervals for which an RTT sample is drawn, even if twice its value is shorter. */
const SHORTEST_HOLD = 3;

/**
 * Returns RTT samples [s] as a line that keeps a sample for twice its value, and then has a gap: a sender that has data
 * in flight gets a sample in each round trip.
 */
export function samples(course: Course, scale: number, until: number, view: View): (number | null)[] {
    const values = stepLine(course, scale, until);
    const step = (view.to_s - view.from_s) / view.bins;
    let [latest, empty] = [course.before, 0];
    for (let bin = 0; bin < course.low.length; bin++) {
        if (Number.isNaN(course.low[bin] as number)) {
            empty++;
            if (empty > Math.max(SHORTEST_HOLD, (2 * latest) / step)) values[2 * bin] = values[2 * bin + 1] = null;
        } else [latest, empty] = [course.last[bin] as number, 0];
    }
    return values;
}

/**
 * Returns the values of a queue whose length is sampled only by arrivals, before they join it; between arrivals it
 * drains by `drain` per interval. `maxLength` is the maximum length; arrivals at this length were lost. The maximum and the
 * last value of an interval include the arrival that sampled them; the minimum is the length before an arrival.
 */
export function queueLine(sampled: Course, drain: number, until: number, maxLength: number): (number | null)[] {
    const withArrival = (length: number): number => Math.min(length + 1, Math.max(maxLength, length));
    const course = { ...sampled, high: sampled.high.map(withArrival), last: sampled.last.map(withArrival) };
    const values = stepLine(course, 1, until);
    let before = course.before;
    for (let bin = 0; bin < course.low.length && bin <= until; bin++) {
        if (Number.isNaN(course.low[bin] as number)) {
            if (Number.isNaN(before)) continue;
            values[2 * bin] = Math.max(0, before - drain / 2);
            before = Math.max(0, before - drain);
            values[2 * bin + 1] = before;
        } else before = course.last[bin] as number;
    }
    return values;
}

/** Returns the values of a nondecreasing series. */
export function nondecreasingLine(course: Course, scale: number, until: number): (number | null)[] {
    const values: (number | null)[] = new Array<number | null>(2 * course.low.length).fill(null);
    let before = course.before;
    for (let bin = 0; bin < course.low.length && bin <= until; bin++) {
        if (!Number.isNaN(course.low[bin] as number)) {
            values[2 * bin] = (course.low[bin] as number) * scale;
            values[2 * bin + 1] = (course.high[bin] as number) * scale;
            before = course.high[bin] as number;
        } else if (!Number.isNaN(before)) values[2 * bin] = values[2 * bin + 1] = before * scale;
    }
    return values;
}

/**
 * Returns bytes per interval, spread over the time that their transmission at `rateBps` takes before they arrive. Packets
 * would otherwise exceed the link's rate in intervals that are shorter than a few packets. From the last interval to the
 * first, bytes that exceed what an interval can transmit were sent in the interval before it.
 */
export function spread(bytes: Float64Array, rateBps: number, view: View): Float64Array {
    const capacity = (rateBps / 8) * ((view.to_s - view.from_s) / view.bins);
    const values = new Float64Array(bytes.length);
    let carried = 0;
    for (let bin = bytes.length - 1; bin >= 0; bin--) {
        carried += bytes[bin] as number;
        const sent = Math.min(carried, capacity);
        values[bin] = sent;
        carried -= sent;
    }
    return values;
}

/**
 * Returns rates [Mbit/s] computed from bytes per interval, averaged over several intervals, so that the curve has about
 * 100 steps.
 */
export function rates(bytes: Float64Array, view: View, until: number, steps = 100): (number | null)[] {
    const step = (view.to_s - view.from_s) / view.bins;
    const binsPerStep = Math.max(1, Math.round(view.bins / steps));
    const values: (number | null)[] = new Array<number | null>(2 * view.bins).fill(null);
    for (let first = 0; first < view.bins && first <= until; first += binsPerStep) {
        const end = Math.min(first + binsPerStep, view.bins);
        let sum = 0;
        for (let bin = first; bin < end; bin++) sum += bytes[bin] as number;
        values.fill((8 * sum) / ((end - first) * step) / 1e6, 2 * first, 2 * end);
    }
    return values;
}

/** Returns the unit and scale for a number of bytes. */
export function byteUnit(maxBytes: number): [string, number] {
    if (maxBytes >= 2e9) return ["GB", 1e-9];
    if (maxBytes >= 2e6) return ["MB", 1e-6];
    return maxBytes >= 2e3 ? ["KB", 1e-3] : ["B", 1];
}

/** Returns the maximum of a series. */
export function peak(course: Course): number {
    return course.high.reduce((most, value) => (value > most ? value : most), 0);
}
