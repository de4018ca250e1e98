// Lines of the pictures: tests the functions that turn intervals into points.
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

const entry = new URL("../src/page/series.ts", import.meta.url).pathname;
const bundled = await build({ entryPoints: [entry], bundle: true, write: false, format: "esm" });
const { samples } = await import(`data:text/javascript,${encodeURIComponent(bundled.outputFiles[0].text)}`);

/** A course with one value per interval. */
const course = (values) => ({ low: Float64Array.from(values), high: Float64Array.from(values), last: Float64Array.from(values), before: Number.NaN });

test("a line of RTT samples has a gap where a sender has no data in flight", () => {
    // Intervals of 10 ms; a sample of 50 ms lasts for 100 ms.
    const view = { from_s: 0, to_s: 0.3, bins: 30 };
    const values = new Array(30).fill(Number.NaN);
    values[2] = 0.05;
    values[20] = 0.05;
    const drawn = samples(course(values), 1e3, 30, view);
    const inIntervals = Array.from({ length: 30 }, (_, bin) => drawn[2 * bin]);
    const expected = inIntervals.map((_, bin) => ((bin >= 2 && bin <= 12) || bin >= 20 ? 50 : null));
    assert.deepEqual(inIntervals, expected);
});

test("samples that are shorter than an interval are visible", () => {
    const values = new Array(10).fill(Number.NaN);
    values[4] = 0.001;
    const drawn = samples(course(values), 1e3, 10, { from_s: 0, to_s: 10, bins: 10 });
    assert.deepEqual(drawn.map((one) => one !== null), Array.from({ length: 20 }, (_, i) => i >= 8 && i < 16));
});
