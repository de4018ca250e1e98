// The engine called from Python in the browser, through Pyodide, and the page in a notebook's output.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { after, test } from "node:test";
import { PAGE, blank, close, rerun, settled } from "./page.mjs";

const expected = JSON.parse(readFileSync(new URL("../build/expected.json", import.meta.url)));
const pyodide = dirname(createRequire(import.meta.url).resolve("pyodide"));
const sources = new URL("../../integrations/pyodide/longpipe_lab/", import.meta.url);
const RUNS = 20;
const KINDS = { js: "text/javascript", mjs: "text/javascript", wasm: "application/wasm", json: "application/json", zip: "application/zip" };
after(close);

// Runs scenarios in Pyodide through the package, on the page or in a worker: it is called in the browser.
async function inPyodide({ files, texts, address }) {
    const { loadPyodide } = await import(`${address}pyodide.mjs`);
    const python = await loadPyodide({ indexURL: address });
    python.FS.mkdirTree("/home/pyodide/longpipe_lab");
    for (const [name, text] of Object.entries(files)) python.FS.writeFile(`/home/pyodide/longpipe_lab/${name}`, text);
    python.globals.set("texts", python.toPy(texts));
    return python.runPythonAsync(`
import json
import tomllib
import longpipe_lab

await longpipe_lab.load()
results = [longpipe_lab.simulate(text) for text in texts]
fields = longpipe_lab.simulate(tomllib.loads(texts[0]))
try:
    longpipe_lab.simulate('duraton = "5 s"')
except longpipe_lab.ScenarioError as error:
    problem = str(error)
json.dumps({
    "hashes": [result.state_hash for result in results],
    "efficiency": results[0].metrics["efficiency"],
    "flows": results[0].flows["flow"],
    "fields": fields.state_hash,
    "html": fields._repr_html_(),
    "problem": problem,
})
`);
}

const PLACES = {
    "on a page": (page, given) => page.evaluate(inPyodide, given),
    // JupyterLite's kernels are workers.
    "in a web worker": (page, given) =>
        page.evaluate(
            ({ script, given }) =>
                new Promise((resolve, reject) => {
                    const worker = new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })), { type: "module" });
                    worker.onmessage = ({ data }) => ("found" in data ? resolve(data.found) : reject(new Error(data.problem)));
                    worker.onerror = (event) => reject(new Error(event.message));
                    worker.postMessage(given);
                }),
            {
                script: `onmessage = ({ data }) => (${inPyodide})(data).then((found) => postMessage({ found }), (error) => postMessage({ problem: String(error) }));`,
                given,
            },
        ),
};

for (const [place, run] of Object.entries(PLACES)) {
    test(`20 scenarios run in Pyodide ${place} have the native state hash, and an invalid one gives the command line's message`, async () => {
        const page = await blank();
        // A browser does not load modules from files, so Pyodide's folder is served at a separate address.
        await page.context().route("http://pyodide.test/**", (route) => {
            const name = new URL(route.request().url()).pathname.slice(1);
            if (name === "") return route.fulfill({ contentType: "text/html", body: "<!doctype html><title>notebook</title>" });
            return route.fulfill({ contentType: KINDS[name.split(".").at(-1)], body: readFileSync(join(pyodide, name)) });
        });
        await page.goto("http://pyodide.test/");
        const files = Object.fromEntries(["__init__.py", "engine.mjs"].map((name) => [name, readFileSync(new URL(name, sources), "utf8")]));
        const presets = Object.values(expected.presets).slice(0, RUNS / 2);
        const runs = [...presets, ...expected.random.slice(0, RUNS - presets.length)];
        const found = await run(page, { files, texts: runs.map(({ toml }) => toml), address: "http://pyodide.test/" });
        const { hashes, efficiency, flows, fields, html, problem } = JSON.parse(found);
        assert.deepEqual(hashes, runs.map(({ state_hash }) => state_hash));
        assert.equal(hashes.length, RUNS);
        assert.ok(Math.abs(efficiency - runs[0].efficiency) <= 1e-12, `${efficiency}`);
        assert.equal(flows[0], "flow1");
        assert.equal(fields, hashes[0]);
        assert.match(html, new RegExp(`^<table>.*efficiency.*${fields}`));
        assert.match(problem, /^duraton: unknown field; did you mean 'duration'\?/);
    });
}

test("the output of a notebook's cell shows the page with its scenario, which a change keeps in the frame's address", async () => {
    const page = await blank();
    const body = `<!doctype html><title>notebook</title>${expected.embedded.html}`;
    await page.route("http://notebook.test/**", (route) => route.fulfill({ contentType: "text/html", body }));
    await page.goto("http://notebook.test/");
    const frame = await (await page.waitForSelector('iframe[src^="blob:"]')).contentFrame();
    await settled(frame);
    assert.equal(await frame.evaluate(() => document.body.dataset.hash), expected.embedded.state_hash);
    assert.equal(await frame.locator(".uplot").count(), 5);
    await rerun(frame, () => frame.fill("#seed", "8").then(() => frame.press("#seed", "Enter")));
    assert.notEqual(await frame.evaluate(() => document.body.dataset.hash), expected.embedded.state_hash);
    await frame.waitForFunction(() => location.hash.startsWith("#seed=8&"));
    await page.context().close();
});

test("the widget reports each run of the page to Python, and shows the scenarios that Python sends", async () => {
    const [first, second] = expected.widget;
    const page = await blank();
    const served = {
        "/": { contentType: "text/html", body: "<!doctype html><title>notebook</title>" },
        "/widget.js": { contentType: "text/javascript", body: readFileSync(new URL("../../python/longpipe/lab/widget.js", import.meta.url)) },
        "/page": { contentType: "application/octet-stream", body: gzipSync(readFileSync(new URL(PAGE))) },
    };
    await page.route("http://notebook.test/**", (route) => route.fulfill(served[new URL(route.request().url()).pathname]));
    await page.goto("http://notebook.test/");
    // Displays the widget with a model of anywidget that records what it saves.
    await page.evaluate(async (fragment) => {
        const { default: widget } = await import("http://notebook.test/widget.js");
        const packed = new DataView(await (await fetch("http://notebook.test/page")).arrayBuffer());
        const [values, listeners] = [{ page: packed, height: 700, fragment }, new Map()];
        window.saved = [];
        window.send = (message) => listeners.get("msg:custom")?.(message);
        const model = {
            get: (name) => values[name],
            set: (name, value) => (values[name] = value),
            save_changes: () => window.saved.push({ shown: values.shown, fragment: values.fragment }),
            on: (name, listener) => listeners.set(name, listener),
            off: (name) => listeners.delete(name),
        };
        window.remove = await widget.render({ model, el: document.body });
    }, first.fragment);
    const saved = (state_hash) => page.waitForFunction((wanted) => window.saved.find(({ shown }) => shown.state_hash === wanted), state_hash).then((one) => one.jsonValue());
    const { shown, fragment } = await saved(first.state_hash);
    assert.equal(shown.seed, "7");
    assert.match(shown.toml, /^duration = "/m);
    assert.equal(fragment, first.fragment);
    await page.evaluate((message) => window.send(message), { fragment: second.fragment });
    assert.equal((await saved(second.state_hash)).fragment, second.fragment);
    const frame = await (await page.waitForSelector('iframe[src^="blob:"]')).contentFrame();
    await rerun(frame, () => frame.fill("#seed", "8").then(() => frame.press("#seed", "Enter")));
    await page.waitForFunction(() => window.saved.at(-1).shown.seed === "8");
    await page.evaluate(() => window.remove());
    assert.equal(await page.evaluate(() => window.send({ fragment: "" })), undefined);
    await page.context().close();
});
