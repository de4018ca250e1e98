// Congestion controllers from WebAssembly files, whose results in the browser are bit-identical to those of `longpipe run`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { close, open, rerun } from "./page.mjs";

const { files, runs, misbehaves, chosen, replaced, failures } = JSON.parse(readFileSync(new URL("../build/expected.json", import.meta.url))).modules;
after(close);

const file = (name) => ({ name, mimeType: "application/wasm", buffer: Buffer.from(files[name], "base64") });
const problems = (page) => page.$$eval("#problems p", (lines) => lines.map((line) => line.textContent));

async function done({ page, errors }) {
    assert.deepEqual(errors, []);
    await page.context().close();
}

/** Runs texts in a page that has the modules; returns the result of `longpipe.run` for each, or its error. */
async function inPage(texts) {
    const opened = await open();
    const found = await opened.page.evaluate(
        async ({ files, texts }) => {
            for (const [name, packed] of Object.entries(files)) {
                await longpipe.keepModule(name, Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0)));
            }
            const one = (text) => longpipe.run(text, "1").then(({ state_hash, replaced }) => ({ state_hash, replaced }), (error) => error.message);
            return Promise.all(texts.map(one));
        },
        { files, texts },
    );
    await done(opened);
    return found;
}

test("runs with modules have the native state hash", async () => {
    assert.ok(runs.length >= 7);
    const found = await inPage(runs.map(({ toml }) => toml));
    assert.deepEqual(found, runs.map(({ state_hash }) => ({ state_hash, replaced: [] })));
});

test("invalid values are replaced and failures end the run, with the command line's messages", async () => {
    const texts = [1, 2, 3, 5, 6].map((which) => misbehaves.replace("7654321", which));
    const found = await inPage(texts);
    assert.deepEqual(found.slice(0, 2).flatMap((run) => run.replaced), replaced);
    // The reason of a failure is the browser's: "unreachable".
    const untilReason = (line) => line.slice(0, line.indexOf(" s: ") + 4);
    assert.deepEqual(found.slice(2).map(untilReason), failures.map(untilReason));
    assert.match(failures[0], /^misbehaves\.wasm: on_ack fails at 1\.0\d+ s: /);
});

test("a file that is chosen in the menu becomes the controller, and the scenario's text names it", async () => {
    const opened = await open({ hash: `#preset=${chosen.preset}` });
    const { page } = opened;
    const before = await page.textContent("#hash");
    // A browser opens a file only after a gesture.
    await page.click("h1");
    const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.selectOption("[id='knob-tcp.congestion']", "module")]);
    assert.notEqual(await page.inputValue("[id='knob-tcp.congestion']"), "module");
    await rerun(page, () => chooser.setFiles(file("control.wasm")));
    assert.equal(await page.textContent("#hash"), chosen.state_hash);
    assert.notEqual(chosen.state_hash, before);
    const text = await page.inputValue("#text");
    assert.match(text, /\[tcp\.congestion\]\nkind = "module"\nfile = "control.wasm"\n/);
    assert.equal(await page.evaluate(async (toml) => (await longpipe.run(toml)).state_hash, text), chosen.state_hash);
    await rerun(page, () => page.fill("[id='knob-tcp.congestion.parameters']", "beta = 0.8, gain = 2").then(() => page.keyboard.press("Enter")));
    assert.notEqual(await page.textContent("#hash"), chosen.state_hash);
    assert.match(await page.inputValue("#text"), /\[tcp\.congestion\.parameters\]\nbeta = 0\.8\ngain = 2\n/);
    // A whole number stays one, because a module may refuse a float.
    assert.equal(await page.inputValue("[id='knob-tcp.congestion.parameters']"), "beta = 0.8, gain = 2");
    await page.fill("[id='knob-tcp.congestion.parameters']", "bet = 0.8");
    await page.keyboard.press("Enter");
    assert.deepEqual(await problems(page), ["tcp.congestion: parameters.bet: unknown; did you mean 'beta'? accepts beta, gain"]);
    await done(opened);
});

test("files that are not modules, and modules that the page lacks, give a one-line error", async () => {
    const opened = await open();
    const { page } = opened;
    const says = async (line) => {
        await page.waitForFunction((wanted) => document.querySelector("#problems p")?.textContent.startsWith(wanted), line);
        assert.equal((await problems(page)).length, 1);
    };
    const load = (name, bytes) => page.setInputFiles("#module-file", { name, mimeType: "application/wasm", buffer: Buffer.from(bytes) });
    await load("a.wasm", "no module");
    await says("a.wasm: not WebAssembly; needs a WebAssembly module with a congestion controller");
    const magic = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
    await load("b.wasm", magic);
    await says("b.wasm: not a congestion controller; ");
    const fact = [...Buffer.from("\x01longpipe\x01interface=1\0")];
    await load("c.wasm", [...magic, 0, fact.length + 1, 0, ...fact]);
    await says("tcp.congestion.file: c.wasm; needs to export its memory");
    await load("d.wasm", [...magic, 0x7f, 1, ...fact]);
    await says("tcp.congestion.file: d.wasm; not a WebAssembly module: ");
    // A section of imports with one global of type i32.
    await load("e.wasm", [...magic, 0, fact.length + 1, 0, ...fact, 2, 8, 1, 1, 0x61, 1, 0x62, 3, 0x7f, 0]);
    await says("tcp.congestion.file: e.wasm; imports a.b; needs a module that imports only functions");
    const scenario = { name: "own.toml", mimeType: "application/toml", buffer: Buffer.from('framing = "ip"\ntcp = {congestion = {kind = "module", file = "lib/control.wasm"}}\n') };
    await page.setInputFiles("#file", [scenario]);
    await says("tcp.congestion.file: 'lib/control.wasm'; is not in this page, ");
    await rerun(page, () => page.setInputFiles("#file", [scenario, file("control.wasm")]));
    assert.deepEqual(await problems(page), []);
    assert.match(await page.inputValue("#text"), /file = "lib\/control\.wasm"/);
    await done(opened);
});

test("an endless loop is cancelled, or ended after 10 s, and the next run begins", async () => {
    const opened = await open();
    const { page } = opened;
    await rerun(page, () => page.setInputFiles("#module-file", file("misbehaves.wasm")));
    const loop = (which) => page.fill("[id='knob-tcp.congestion.parameters']", `misbehaves = ${which}`).then(() => page.keyboard.press("Enter"));
    await loop(4);
    await page.click("#cancel");
    await page.waitForFunction(() => document.getElementById("status").textContent.startsWith("Cancelled"));
    await rerun(page, () => loop(0));
    // The clock of the page, not of the worker, runs 10 s ahead.
    await page.clock.install();
    await loop(4);
    await page.waitForFunction(() => document.body.dataset.state === "running");
    await page.clock.runFor(20_000);
    await page.waitForFunction(() => document.body.dataset.state === "ready");
    assert.deepEqual(await problems(page), ["misbehaves.wasm: a call of the module did not return within 10 s; the run is lost"]);
    await page.clock.resume();
    await rerun(page, () => loop(0));
    await done(opened);
});
