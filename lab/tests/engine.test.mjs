// The engine in the page computes bit-identical results to the native core.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { close, open, rerun } from "./page.mjs";

const expected = JSON.parse(readFileSync(new URL("../build/expected.json", import.meta.url)));
after(close);

/** Returns the results of runs of these scenarios in the page. */
async function inPage(texts) {
    const { page, errors } = await open();
    const found = await page.evaluate(async (all) => {
        const one = async (text) => {
            const { state_hash, metrics } = await longpipe.run(text, "1");
            return { state_hash, efficiency: metrics.efficiency, back: metrics.efficiency_back, fairness: metrics.fairness };
        };
        return Promise.all(all.map(one));
    }, texts);
    assert.deepEqual(errors, []);
    await page.context().close();
    return found;
}

function near(found, wanted, what) {
    if (wanted === null) assert.ok(found === null || Number.isNaN(found), what);
    else assert.ok(Math.abs(found - wanted) <= 1e-12 * Math.abs(wanted), `${what}: ${found}, ${wanted}`);
}

test("every preset has the native state hash, efficiency and fairness", async () => {
    const names = Object.keys(expected.presets);
    assert.ok(names.length > 30);
    const found = await inPage(names.map((name) => expected.presets[name].toml));
    for (const [i, name] of names.entries()) {
        const wanted = expected.presets[name];
        assert.equal(found[i].state_hash, wanted.state_hash, name);
        near(found[i].efficiency, wanted.efficiency, `efficiency of ${name}`);
        near(found[i].fairness, wanted.fairness, `fairness of ${name}`);
    }
});

test("presets that the page cannot resolve, resolved by Python, have the native state hash", async () => {
    const resolved = Object.entries(expected.resolved);
    assert.ok(resolved.length >= 3);
    const { page, errors } = await open();
    for (const [name, { core, state_hash }] of resolved) {
        assert.equal(await page.evaluate(async (all) => (await longpipe.runResolved(all)).state_hash, core), state_hash, name);
    }
    assert.deepEqual(errors, []);
    await page.context().close();
    const { preset, state_hash } = expected.whole;
    const whole = await open({ hash: `#preset=${preset}` });
    assert.equal(await whole.page.textContent("#hash"), state_hash);
    await whole.page.context().close();
});

test("links that the page cannot resolve have the native state hash, with any seed", async () => {
    for (const { fragment, state_hashes } of expected.links) {
        const { page, errors } = await open({ hash: fragment });
        assert.equal(await page.textContent("#hash"), state_hashes["7"]);
        assert.equal(await page.isVisible("#fixed"), true);
        await rerun(page, () => page.fill("#seed", "8").then(() => page.press("#seed", "Enter")));
        assert.equal(await page.textContent("#hash"), state_hashes["8"]);
        assert.match(await page.evaluate(() => location.hash), /^#seed=8&s=.*&core=/);
        assert.deepEqual(errors, []);
        await page.context().close();
    }
});

test("random scenarios have the native state hash, efficiency and fairness", async () => {
    assert.ok(expected.random.length >= 80);
    assert.ok(expected.random.filter(({ toml }) => toml.includes('"stream"')).length >= expected.random.length / 50);
    const found = await inPage(expected.random.map(({ toml }) => toml));
    for (const [i, wanted] of expected.random.entries()) {
        assert.equal(found[i].state_hash, wanted.state_hash, wanted.toml);
        near(found[i].efficiency, wanted.efficiency, `efficiency of ${wanted.toml}`);
        near(found[i].fairness, wanted.fairness, `fairness of ${wanted.toml}`);
    }
});

test("each direction with data has the native efficiency", async () => {
    const both = expected.directions.map((one) => one.efficiency_back !== null);
    assert.deepEqual(both, [false, true, false, true]);
    const found = await inPage(expected.directions.map(({ toml }) => toml));
    for (const [i, wanted] of expected.directions.entries()) {
        assert.ok(wanted.efficiency > 0);
        near(found[i].efficiency, wanted.efficiency, `efficiency of ${wanted.toml}`);
        near(found[i].back, wanted.efficiency_back, `efficiency back of ${wanted.toml}`);
    }
});

test("drawing a run does not change its results by a bit", async () => {
    const { page, errors } = await open({ hash: "#preset=lan-5-epd" });
    const drawn = await page.textContent("#hash");
    const toml = readFileSync(new URL("../../scenarios/lan-5-epd.toml", import.meta.url), "utf8");
    const counted = await page.evaluate(async (text) => (await longpipe.run(text)).state_hash, toml);
    assert.equal(drawn, counted);
    assert.deepEqual(errors, []);
});
