// A sample of the page's tests in each browser: Chromium, in which all others run, and Firefox, if it is installed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { FIREFOX, start } from "./firefox.mjs";
import { close, noteFirstPictures, open, PAGE } from "./page.mjs";

const expected = JSON.parse(readFileSync(new URL("../build/expected.json", import.meta.url)));
const RUNS = 15;
const first = noteFirstPictures;
after(close);

/** Functions that open the page in a browser, and return the page and a function that closes it. */
const BROWSERS = {
    Chromium: async () => {
        const { page, errors } = await open({ ready: false, first });
        return { page, errors, done: () => page.context().close() };
    },
    Firefox: async () => {
        const firefox = await start();
        const page = await firefox.open(PAGE, { width: 1300, height: 900, first });
        return { page, errors: page.errors, done: firefox.close };
    },
};

/** Runs in the page: waits for the first run, and describes it. */
async function describe() {
    while (performance.getEntriesByName("pictures").length === 0 || document.body.dataset.hash === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const inked = [...document.querySelectorAll(".uplot canvas")].map((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.some((value, i) => i % 4 === 3 && value > 150);
    });
    const { scrollWidth, clientWidth } = document.documentElement;
    const [mark] = performance.getEntriesByName("pictures");
    return { inked, overflow: scrollWidth - clientWidth, milliseconds: mark.startTime };
}

/** Runs in the page: the state hashes of runs of these scenarios. */
const hashes = (texts) => Promise.all(texts.map(async (text) => (await longpipe.run(text, "1")).state_hash));

for (const [name, opened] of Object.entries(BROWSERS)) {
    const skip = name === "Firefox" && FIREFOX === undefined && "no Firefox: needs Debian's package firefox-esr, or FIREFOX=path";
    test(`${name}: the page opens, draws five pictures, and its runs have the native state hash`, { skip }, async (t) => {
        const { page, errors, done } = await opened();
        const { inked, overflow, milliseconds } = await page.evaluate(describe);
        assert.deepEqual(inked, [true, true, true, true, true]);
        assert.equal(overflow, 0);
        t.diagnostic(`${name}: first pictures after ${Math.round(milliseconds)} ms`);
        const runs = [...Object.values(expected.presets).slice(0, RUNS), ...expected.random.slice(0, RUNS)];
        assert.deepEqual(await page.evaluate(hashes, runs.map(({ toml }) => toml)), runs.map(({ state_hash }) => state_hash));
        assert.deepEqual(errors, []);
        await done();
    });
}
