// Actions of a user in the page.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { deflateSync } from "node:zlib";
import { close, open, rerun, settled } from "./page.mjs";

after(close);
const expected = JSON.parse(readFileSync(new URL("../build/expected.json", import.meta.url)));
const text = (page, id) => page.textContent(`#${id}`);
const problems = (page) => page.$$eval("#problems p", (all) => all.map((one) => one.textContent));

/** Returns the fragment that opens one flow with SACK over 10 Mbit/s and 100 ms. */
const sack = ({ duration = "60 s", buffer = "1 BDP" } = {}) => {
    const network = 'network = { kind = "dumbbell", sources = 1, access_rate = "100 Mbit/s", trunk_rate = "10 Mbit/s", trunk_delay = "50 ms" }';
    const tcp = 'tcp = { recovery = "sack", mss = "1460 B", receiver_window = "1 MB" }';
    const toml = `framing = "ip"\nduration = "${duration}"\nswitch = { buffer = "${buffer}" }\n${network}\n${tcp}\n`;
    return `#s=${deflateSync(toml).toString("base64url")}`;
};

async function done({ page, errors }) {
    assert.deepEqual(errors, []);
    await page.context().close();
}

test("it opens from a file, sends no requests, and shows five pictures", async () => {
    const opened = await open();
    assert.equal(await opened.page.locator(".uplot").count(), 5);
    assert.match(await opened.page.getAttribute("#window", "aria-label"), /: flow1, CUBIC, ssthresh$/);
    assert.match(await text(opened.page, "status"), /1 flow, .* s simulated in .* million packets per second/);
    await done(opened);
});

test("lines are complete, also if they were drawn during the run", async () => {
    const opened = await open({ hash: sack({ buffer: "0.1 BDP" }) });
    const { page } = opened;
    await rerun(page, () => set(page, "tcp.recovery", "reno"));
    for (const id of ["window", "queue", "rtt", "throughput", "sequence"]) {
        const share = await page.$eval(`#${id} canvas`, (canvas) => {
            const { width, height } = canvas;
            const { data } = canvas.getContext("2d").getImageData(width / 4, 0, width / 2, height * 0.75);
            const columns = new Set();
            for (let i = 0; i < data.length; i += 4) {
                // Lines are more saturated, or darker, than the grid.
                const [r, g, b, a] = data.subarray(i, i + 4);
                if (a > 150 && (Math.max(r, g, b) - Math.min(r, g, b) > 60 || r < 60)) columns.add((i / 4) % (width / 2));
            }
            return columns.size / (width / 2);
        });
        assert.ok(share > 0.9, `${id}: lines in ${share} of the columns`);
    }
    await done(opened);
});

test("each parameter changes the run", async () => {
    const opened = await open({ hash: "#preset=lan-5-epd" });
    const { page } = opened;
    await rerun(page, () => set(page, "duration", "1 s"));
    const turns = {
        // This time is within the period of full buffers, because later losses keep them empty.
        "switch.policy": "fba",
        "switch.policy.threshold": "0.6",
        "network.sources": "3",
        "network.trunk_rate": "45 Mbit/s",
        "network.trunk_delay": "3 ms",
        "network.access_rate": "100 Mbit/s",
        "network.trunk_loss": "bernoulli",
        "network.trunk_loss.probability": "0.01",
        "switch.buffer": "0.5 BDP",
        "tcp.recovery": "sack",
        "tcp.congestion": "vegas",
        "tcp.mss": "1460 B",
        "tcp.receiver_window": "32 KB",
        "tcp.initial_window": "4 segments",
        "tcp.ack": "delayed",
        "tcp.timer": "fine",
        "tcp.timer.min_rto": "300 ms",
        start: "random",
        traffic: "web",
        seed: "5",
    };
    const hashes = [await text(page, "hash")];
    for (const [path, value] of Object.entries(turns)) {
        if (path === "switch.buffer") await rerun(page, () => set(page, "network.trunk_delay", "10 ms"));
        await rerun(page, () => set(page, path, value));
        assert.deepEqual(await problems(page), [], path);
        const hash = await text(page, "hash");
        // A minimum RTO matters only if a timer expires, and a loss rate of 1e-4 causes no loss in such a short run.
        if (!["tcp.timer.min_rto", "network.trunk_loss"].includes(path)) assert.notEqual(hash, hashes.at(-1), path);
        hashes.push(hash);
    }
    await done(opened);
});

async function set(page, path, value) {
    const input = page.locator(path === "seed" ? "#seed" : `[data-path="${path}"]`);
    await input.evaluate((element) => {
        for (let box = element.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    });
    if ((await input.evaluate((element) => element.tagName)) === "SELECT") await input.selectOption(value);
    else {
        await input.fill(value);
        await input.press("Enter");
    }
}

test("a slider moves a knob", async () => {
    const opened = await open({ hash: "#preset=lan-5-epd" });
    const { page } = opened;
    const slider = page.locator('[data-slider="network.sources"]');
    await rerun(page, () => slider.press("ArrowRight").then(() => slider.press("PageUp")));
    assert.notEqual(await page.inputValue('[data-path="network.sources"]'), "5");
    await done(opened);
});

test("invalid input gives the command line's error, and the last picture is kept", async () => {
    const opened = await open({ hash: "#preset=lan-5-epd" });
    const { page } = opened;
    const hash = await text(page, "hash");
    const cases = [
        ["duration", "5", "duration: '5' has no unit; accepts ps, ns, us, ms, s, min, h, as in '5 ms'"],
        ["switch.buffer", "3 cells", "switch.buffer: 3 cells; needs at least one full packet (12 cells at MSS 512)"],
        ["network.sources", "0", "network.sources: 0; needs at least 1"],
        ["seed", "-1", "seed: '-1'; needs a whole number from 0 to 18446744073709551615"],
    ];
    for (const [path, value, words] of cases) {
        const before = path === "seed" ? "1" : await page.inputValue(`[data-path="${path}"]`);
        await set(page, path, value);
        assert.deepEqual(await problems(page), [words]);
        assert.equal(await text(page, "hash"), hash);
        await rerun(page, () => set(page, path, before));
        assert.deepEqual(await problems(page), []);
    }
    await done(opened);
});

test("a run that would take too long is rejected in advance, with its estimated cost", async () => {
    const opened = await open({ hash: "#preset=geo" });
    await set(opened.page, "duration", "24 h");
    const [problem] = await problems(opened.page);
    assert.match(problem, /^duration 24 h, .*would take some [\d,]+ segments, \d+ (s|min|h) and .* GB in this page; needs at most a minute/);
    await done(opened);
});

test("a file is opened; a file that is not a scenario is rejected", async () => {
    const opened = await open();
    const { page } = opened;
    const give = (name, content) => page.setInputFiles("#file", { name, mimeType: "text/plain", buffer: Buffer.from(content) });
    const lot = readFileSync(new URL("../../scenarios/parking-lot.toml", import.meta.url));
    await rerun(page, () => give("parking-lot.toml", lot));
    assert.equal(await page.locator("#flow option").count(), 3);
    for (const [content, words] of [
        ["duration = ", /^bad\.toml: not TOML, .* \(at line 1, column \d+\); needs lines such as: duration = "10 s"$/],
        ['duraton = "5 s"', /^duraton: unknown field; did you mean 'duration'\? accepts name, defaults, duration/],
        ["\u0000\u0001", /^bad\.toml: not TOML/],
    ]) {
        await give("bad.toml", content);
        await page.waitForFunction(() => document.querySelector("#problems p"));
        assert.match((await problems(page))[0], words);
        await page.evaluate(() => document.querySelector("#problems").replaceChildren());
    }
    await done(opened);
});

test("a flow beyond the eighth is drawn if its segments are selected", async () => {
    const opened = await open({ hash: "#preset=web-and-bulk" });
    const { page } = opened;
    const drawn = () => page.locator("#window .u-series .u-label").allTextContents();
    const first = await drawn();
    assert.equal(first.length, 9);
    const last = await page.locator("#flow option").last().textContent();
    assert.ok(!first.some((label) => label.startsWith(last)));
    await rerun(page, () => page.locator("#flow").selectOption({ label: last }));
    const then = await drawn();
    assert.deepEqual(then.slice(0, 8), first.slice(0, 8));
    assert.ok(then[8].startsWith(last), then[8]);
    await done(opened);
});

test("fields that the form lacks are edited as text: groups, VBR, marking queues", async () => {
    const opened = await open({ hash: "#preset=lan-5-epd" });
    const { page } = opened;
    await page.locator("#text-box summary").click();
    assert.match(await page.inputValue("#text"), /kind = "dumbbell"/);
    const groups = `name = "groups"\nframing = "ip"\nduration = "10 s"
switch = { buffer = "100 packets", policy = { kind = "red", ecn = true } }
tcp = { mss = "1460 B", receiver_window = "auto", ecn = "classic", recovery = "sack" }
[network]\nkind = "dumbbell"\ntrunk_rate = "10 Mbit/s"
[[network.group]]\nname = "bulk"\ncount = 3\n[[network.group]]\nname = "web"\ncount = 2\ntraffic = "web"\n`;
    await page.fill("#text", groups);
    await rerun(page, () => page.click("#text-run"));
    assert.deepEqual(await problems(page), []);
    assert.equal(await page.locator("#flow option").count(), 5);
    assert.equal(await page.inputValue('[data-path="tcp.ecn"]'), "classic");
    const hash = await text(page, "hash");
    await rerun(page, () => set(page, "tcp.ecn", "off"));
    const without = await text(page, "hash");
    assert.notEqual(without, hash);
    await rerun(page, () => set(page, "tcp.profile", "linux-6"));
    assert.notEqual(await text(page, "hash"), without);
    assert.equal(await page.inputValue('[data-path="tcp.recovery"]'), "sack");
    const vbr = `name = "vbr"\nduration = "1 s"\nswitch = { buffer = "1000 cells", scheduler = "priority" }\nnetwork = { kind = "dumbbell", vbr = { period = "300 ms" } }\n`;
    await page.fill("#text", vbr);
    await rerun(page, () => page.press("#text", "Control+Enter"));
    assert.deepEqual(await problems(page), []);
    assert.match(await text(page, "command"), /vbr\.toml/);
    await page.fill("#text", "duration = 5");
    await page.click("#text-run");
    assert.match((await problems(page))[0], /^duration: /);
    await done(opened);
});

test("a link restores the scenario and the seed; a truncated link gives an error", async () => {
    const opened = await open({ hash: "#preset=wan-5-sack" });
    const { page } = opened;
    await rerun(page, () => set(page, "seed", "42"));
    const hash = await text(page, "hash");
    await page.click("#share");
    await page.waitForFunction(() => location.hash.includes("&s="));
    const link = new URL(page.url()).hash;
    const again = await open({ hash: link });
    assert.equal(await text(again.page, "hash"), hash);
    assert.equal(await again.page.inputValue("#seed"), "42");
    await done(again);
    const cut = await open({ hash: link.slice(0, -9) });
    assert.match((await problems(cut.page))[0], /^link: cannot be read/);
    await done(cut);
    const early = await open({ hash: link.slice(0, link.indexOf("&s=")) });
    assert.match((await problems(early.page))[0], /^link: cannot be read/);
    await done(early);
    // The page nevertheless shows a run.
    const odd = await open({ hash: "#step=2&seed=x" });
    assert.deepEqual(await problems(odd.page), ["seed: 'x'; needs a whole number from 0 to 18446744073709551615"]);
    assert.equal(await odd.page.inputValue("#seed"), "1");
    await done(odd);
    const unknown = await open({ hash: "#preset=wan-5-sak" });
    assert.match((await problems(unknown.page))[0], /^preset: 'wan-5-sak'; did you mean 'wan-5-sack'\?/);
    await done(unknown);
    await done(opened);
});

test("a run is cancelled, and another one starts", async () => {
    const opened = await open({ hash: "#preset=lan-5-epd" });
    const { page } = opened;
    await set(page, "duration", "60 s");
    await page.waitForSelector("#cancel:enabled");
    await page.click("#cancel");
    await page.waitForFunction(() => document.querySelector("#status").textContent.startsWith("Cancelled"));
    await rerun(page, () => set(page, "duration", "1 s"));
    assert.match(await text(page, "status"), /1 s simulated/);
    await done(opened);
});

test("zooming redraws the span, and the whole run can be restored", async () => {
    const opened = await open({ hash: "#preset=wan-5-sack" });
    const { page } = opened;
    const hash = await text(page, "hash");
    const box = await page.locator("#window .u-over").boundingBox();
    await rerun(page, async () => {
        await page.mouse.move(box.x + 0.3 * box.width, box.y + 20);
        await page.mouse.down();
        await page.mouse.move(box.x + 0.4 * box.width, box.y + 30, { steps: 4 });
        await page.mouse.up();
    });
    const [from, to] = [Number(await page.inputValue("#from")), Number(await page.inputValue("#to"))];
    assert.ok(from > 1 && to < 2 && to - from < 0.6, `${from} to ${to}`);
    assert.equal(await text(page, "hash"), hash);
    await rerun(page, () => page.click("#whole"));
    assert.equal(await page.inputValue("#to"), "4");
    await done(opened);
});

test("throughput counts arriving data and never exceeds the trunk's capacity", async () => {
    const opened = await open({ hash: "#preset=wan-5-sack" });
    const { page } = opened;
    // The delivery known from ACKs jumps when a gap is filled.
    for (const recovery of ["newreno", "reno"]) {
        const toml = `framing = "ip"\nduration = "20 s"\nnetwork = { kind = "dumbbell", sources = 3, trunk_rate = "10 Mbit/s", trunk_delay = "30 ms" }
switch.buffer = "1 BDP"\ntcp = { mss = "1460 B", receiver_window = "auto", recovery = "${recovery}" }`;
        await rerun(page, () => page.setInputFiles("#file", { name: "a.toml", mimeType: "text/plain", buffer: Buffer.from(toml) }));
        const words = await page.getAttribute("#throughput", "aria-label");
        const most = Number(/up to ([\d.]+):/.exec(words)[1]);
        // Within an interval of 0.2 s, one segment more may end than start.
        assert.ok(most > 9.6 && most < (10 * 1460) / 1500 + 0.06, `${recovery}: ${words}`);
        assert.match(await page.getAttribute("#sequence", "aria-label"), /, [1-9]\d* retransmitted/);
    }
    await done(opened);
});

test("RTTs lie between the delay of the links and this delay plus a full buffer", async () => {
    const opened = await open({ hash: sack() });
    const { page } = opened;
    const words = await page.getAttribute("#rtt", "aria-label");
    // The propagation RTT is 100 ms, and a buffer of one BDP adds 100 ms.
    const most = Number(/^RTT \[ms\] over time, up to ([\d.]+): flow1/.exec(words)[1]);
    assert.ok(most > 198 && most < 202, words);
    await done(opened);
});

/** Returns the indices of the window reductions of flow 1 whose explanations contain a text. */
async function explained(page) {
    const found = { timeouts: 0, fast_retransmits: 0, mark_reductions: 0 };
    const said = { timeouts: /No ACK arrived before/, fast_retransmits: /reported a loss|declared a segment lost/, mark_reductions: /echoed the mark/ };
    while (await page.isEnabled("#fall-next")) {
        await page.click("#fall-next");
        const words = await text(page, "why");
        const [kind] = Object.entries(said).find(([, pattern]) => pattern.test(words)) ?? [];
        assert.ok(kind !== undefined || /deflates the window/.test(words), words);
        assert.match(words, /RFC \d+ section|Kelly|Xu/);
        if (kind !== undefined) found[kind]++;
    }
    return found;
}

test("each timeout, loss and mark that the sender counted has an explanation of the window reduction", async () => {
    const opened = await open({ hash: sack() });
    const { page } = opened;
    const path = `network = { kind = "dumbbell", sources = 1, access_rate = "100 Mbit/s", trunk_rate = "10 Mbit/s", trunk_delay = "50 ms" }`;
    const tcps = [
        ['recovery = "vanilla"', '"tail-drop"'],
        ['recovery = "reno"', '"tail-drop"'],
        ['recovery = "tahoe"', '"tail-drop"'],
        ['recovery = "sack"\ncongestion = "cubic"', '"tail-drop"'],
        ['recovery = "rack"', '"tail-drop"'],
        ['recovery = "sack"\necn = "classic"', '{ kind = "red", ecn = true }'],
        ['recovery = "sack"\necn = "dctcp"\ncongestion = "dctcp"', '{ kind = "step-marking", threshold = 12 }'],
    ];
    let falls = 0;
    for (const [tcp, policy] of tcps) {
        const toml = `framing = "ip"\nduration = "20 s"\n${path}\nswitch = { buffer = "0.5 BDP", policy = ${policy} }\n[tcp]\nmss = "1460 B"\nreceiver_window = "1 MB"\n${tcp}\n`;
        await rerun(page, () => page.setInputFiles("#file", { name: "a.toml", mimeType: "text/plain", buffer: Buffer.from(toml) }));
        const { flows } = await page.evaluate((all) => longpipe.run(all), toml);
        const found = await explained(page);
        for (const [kind, count] of Object.entries(found)) assert.equal(count, flows[kind]?.[0] ?? 0, `${tcp}: ${kind}`);
        falls += Object.values(found).reduce((all, one) => all + one, 0);
    }
    assert.ok(falls > 30, String(falls));
    const box = await page.locator("#window .u-over").boundingBox();
    await page.mouse.click(box.x + 0.5 * box.width, box.y + 20);
    assert.match(await text(page, "why"), /^\d+ of \d+\. At |does not fall/);
    await done(opened);
});

test("a datagram flow has a picture of sent and received data", async () => {
    const opened = await open({ hash: "#preset=home" });
    const { page } = opened;
    assert.match(await page.getAttribute("#sequence", "aria-label"), /^sequence \[KB\] over time, up to \d.*: ping sent, arrived,/);
    assert.doesNotMatch(await page.getAttribute("#window", "aria-label"), /ping/);
    await done(opened);
});

test("an application with a rate has a window, RTTs and acknowledged segments", async () => {
    const opened = await open({ hash: "#preset=fiber" });
    const { page } = opened;
    const toml = `framing = "ip"\nduration = "5 s"\ntraffic = { kind = "stream", rate = "2 Mbit/s" }\nnetwork = { kind = "dumbbell", sources = 1, trunk_delay = "20 ms" }\n`;
    await rerun(page, () => page.setInputFiles("#file", { name: "call.toml", mimeType: "text/plain", buffer: Buffer.from(toml) }));
    for (const id of ["window", "rtt"]) assert.match(await page.getAttribute(`#${id}`, "aria-label"), /: flow1/);
    assert.match(await page.getAttribute("#sequence", "aria-label"), /: flow1 sent, acknowledged/);
    await done(opened);
});

test("a click into the window of a long run reports that reasons are not recorded", async () => {
    const opened = await open({ hash: "#preset=cellular" });
    const { page } = opened;
    const click = async () => {
        const box = await page.locator("#window .u-over").boundingBox();
        await page.mouse.click(box.x + 0.5 * box.width, box.y + 20);
        return text(page, "why");
    };
    assert.match(await click(), /^\d+ of \d+\. At |the window of flow1 does not fall/);
    await rerun(page, () => page.selectOption("#preset", "geo"));
    assert.match(await click(), /^The reason for a fall is not recorded in runs of more than 300,000 segments\.$/);
    await done(opened);
});

test("a run that sends fewer segments than its links could is recorded", async () => {
    const opened = await open();
    const { page } = opened;
    // The links could carry 500,000 segments; a window of 64 KiB over 100 ms sends 30,000.
    const toml = `framing = "ip"\nduration = "60 s"\ntcp = { mss = "1448 B" }\nnetwork = { kind = "dumbbell", sources = 1, trunk_rate = "100 Mbit/s", trunk_delay = "50 ms" }\n`;
    await rerun(page, () => page.setInputFiles("#file", { name: "window.toml", mimeType: "text/plain", buffer: Buffer.from(toml) }));
    await page.waitForFunction(() => document.getElementById("no-rtt").hidden);
    await done(opened);
});

test("a pinned run is shown together with the next run", async () => {
    const opened = await open({ hash: "#step=7" });
    const { page } = opened;
    await page.click("#pin");
    await rerun(page, () => page.click("#lesson-next"));
    const [now, before] = await page.$eval("#metric-efficiency", (one) => one.textContent.match(/[\d.]+/g).map(Number));
    assert.ok(now > before, `EPD ${now}, UBR ${before}`);
    assert.match(await text(page, "window"), /pinned flow1/);
    await done(opened);
});

test("the RTTs of a pinned run are those of the flow whose segments it showed, also after a zoom", async () => {
    const opened = await open({ hash: "#step=7" });
    const { page } = opened;
    await rerun(page, () => page.selectOption("#flow", "1"));
    await page.click("#pin");
    await rerun(page, () => page.selectOption("#flow", "2"));
    assert.match(await text(page, "rtt"), /pinned flow2.*flow3/);
    await rerun(page, () => page.fill("#to", "2").then(() => page.press("#to", "Enter")));
    await page.waitForFunction(() => /pinned flow2.*flow3/.test(document.getElementById("rtt").textContent));
    await done(opened);
});

test("saved files: TOML that repeats the run, CSV, PNG and SVG", async () => {
    const opened = await open({ hash: "#preset=wan-5-sack" });
    const { page } = opened;
    const saved = async (id) => {
        const [download] = await Promise.all([page.waitForEvent("download"), page.click(`#${id}`)]);
        return readFileSync(await download.path());
    };
    const toml = (await saved("toml")).toString();
    const hash = await page.evaluate(async (all) => (await longpipe.run(all)).state_hash, toml);
    assert.equal(hash, await text(page, "hash"));
    assert.match((await saved("csv")).toString(), /^flow,delivered_bytes,.*\nflow1,\d+/);
    assert.match((await saved("csv-ports")).toString(), /^port,kind,cells_in/);
    const png = await saved("png");
    assert.equal(png.subarray(1, 4).toString(), "PNG");
    // Width and height in the PNG's header are twice those of the SVG.
    const svg = (await saved("svg")).toString();
    const [, width, height] = svg.match(/width="(\d+)" height="(\d+)"/).map(Number);
    assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [2 * width, 2 * height]);
    const head = svg.slice(0, 600);
    assert.match(head, /Reno with SACK: 5 flows, 45 Mbit\/s, RTT 40 ms, buffer 4000 cells/);
    for (const said of ["cwnd [KB]", "queue [cells]", "RTT [ms]", "flow1", await text(page, "hash")]) assert.ok(svg.includes(said), said);
    const parsed = await page.evaluate((xml) => new DOMParser().parseFromString(xml, "image/svg+xml").querySelectorAll("path").length, svg);
    assert.ok(parsed > 5);
    await done(opened);
});

test("saved pictures state the settings of the pinned run that differ, or its title", async () => {
    const opened = await open({ hash: sack() });
    const { page } = opened;
    const pinnedIn = async (which) => {
        await page.selectOption("#which", which);
        const [download] = await Promise.all([page.waitForEvent("download"), page.click("#svg")]);
        return /pinned: [^<]*/.exec(readFileSync(await download.path()).toString())?.[0];
    };
    assert.equal(await pinnedIn("window"), undefined);
    await page.click("#pin");
    await rerun(page, () => set(page, "switch.buffer", "0.25 BDP"));
    assert.equal(await pinnedIn("window"), "pinned: switch.buffer 1 BDP");
    assert.equal(await page.getAttribute("#pin", "title"), "pinned: switch.buffer 1 BDP");
    assert.equal(await pinnedIn("sequence"), undefined);
    await rerun(page, () => set(page, "tcp.congestion", "cubic"));
    await rerun(page, () => set(page, "seed", "7"));
    assert.equal(await pinnedIn("window"), "pinned: seed 1, switch.buffer 1 BDP, tcp.congestion aimd");
    await rerun(page, () => page.selectOption("#preset", "gr-97-wan-15-12000-sack-05"));
    await page.waitForFunction(() => document.getElementById("window").textContent.includes("pinned"));
    assert.match(await pinnedIn("window"), /^pinned: Reno with SACK: 1 flow, 10 Mbit\/s, RTT 100 ms, buffer 1 BDP$/);
    await done(opened);
});

test("20 seeds give intervals, and two parameters a heat map", async () => {
    const opened = await open({ hash: "#preset=wan-5-sack" });
    const { page } = opened;
    await page.click("#seeds-box summary");
    await page.click("#seeds-run");
    await page.waitForSelector("#seeds table");
    const row = await page.$eval("#seeds tbody tr:nth-child(2)", (one) => one.textContent);
    assert.match(row, /efficiency0\.\d+ ± 0\.\d+/);
    await page.click("#factorial-box summary");
    await page.fill("#factor-rows-levels", "2000 cells, 4000 cells");
    await page.fill("#factor-columns-levels", "reno, sack");
    await page.click("#factorial-run");
    await page.waitForSelector("#factorial table");
    const cells = await page.$$eval("#factorial td", (all) => all.map((one) => Number(one.textContent)));
    assert.equal(cells.length, 4);
    assert.ok(cells.every((value) => value > 0 && value <= 1));
    await page.fill("#factor-columns-levels", "reno, cubic");
    await page.click("#factorial-run");
    await page.waitForFunction(() => document.querySelector("#factorial-status").textContent.startsWith("tcp.recovery"));
    await done(opened);
});

test("identical runs have a point instead of an interval, and a warning", async () => {
    const opened = await open({ hash: "#exercise=4" });
    const { page } = opened;
    await page.click("#seeds-box summary");
    await page.click("#seeds-run");
    await page.waitForSelector("#seeds table");
    assert.match(await page.textContent("#seeds p"), /^The runs are identical: nothing that affects them is random/);
    assert.equal(await page.locator("#seeds svg").count(), 10);
    assert.equal(await page.locator("#seeds svg path").count(), 0);
    const places = await page.$$eval("#seeds circle", (all) => all.map((one) => one.getAttribute("cx")));
    assert.deepEqual(new Set(places), new Set(["90.0"]));
    await done(opened);
});

test("the picture of a queue reaches its peak during a run", async () => {
    // The buffer is unlimited, so the packet that makes the longest queue is not lost.
    const opened = await open({ hash: sack({ duration: "2 s", buffer: "unlimited" }) });
    const { page } = opened;
    // Collects what the picture shows during a run, which takes much longer than the test.
    await page.evaluate(() => {
        window.shown = [];
        const queue = document.getElementById("queue");
        const note = () => document.body.dataset.state === "running" && window.shown.push(queue.getAttribute("aria-label"));
        new MutationObserver(note).observe(queue, { attributes: true, attributeFilter: ["aria-label"] });
    });
    await set(page, "duration", "10000 s");
    const peak = await text(page, "metric-peak_queue");
    await page.waitForFunction((peak) => window.shown.some((label) => label.includes(`up to ${peak}:`)), peak);
    const lengths = await page.evaluate(() => window.shown.map((label) => Number(/up to ([\d.]+):/.exec(label)?.[1] ?? 0)));
    assert.equal(Math.max(...lengths), Number(peak));
    await done(opened);
});

test("the loss is that of the bottleneck, and the picture of its queue reaches the peak", async () => {
    for (const exercise of [1, 2, 3, 4]) {
        const opened = await open({ hash: `#exercise=${exercise}` });
        const { page } = opened;
        const drawn = Number(/up to ([\d.]+):/.exec(await page.getAttribute("#queue", "aria-label"))[1]);
        assert.equal(drawn, Number((await text(page, "metric-peak_queue")).replaceAll(",", "")), `exercise ${exercise}`);
        if (exercise === 4) {
            // Four packets are lost of those that reach the trunk: all segments, which include the retransmitted ones.
            const sent = await page.$eval("#flow-table tbody tr", (row) => Number(row.children[3].textContent));
            assert.equal(await text(page, "metric-loss"), `${((100 * 4) / sent).toFixed(2)} %`);
            // Each of the two fields causes a run.
            for (const [field, seconds] of [["#from", "0.4"], ["#to", "0.6"]]) {
                await rerun(page, async () => {
                    await page.fill(field, seconds);
                    await page.press(field, "Enter");
                });
            }
            const most = Number(/up to ([\d.]+):/.exec(await page.getAttribute("#throughput", "aria-label"))[1]);
            assert.ok(most > 9.5 && most <= 10, `${most} Mbit/s`);
        }
        await done(opened);
    }
});

test("the page begins with the lesson, next to the pictures, or above them on a phone", async () => {
    for (const [width, below] of [[1300, false], [390, true]]) {
        const opened = await open({ width });
        const box = (selector) => opened.page.locator(selector).boundingBox();
        const [guide, picture] = [await box("#guide"), await box("#window")];
        assert.match(await text(opened.page, "lesson-box"), /^1\. Bufferbloat/);
        assert.ok(picture.y + picture.height < 900, `${width}: the first picture ends at ${picture.y + picture.height}`);
        assert.equal(guide.y + guide.height <= picture.y, below);
        await opened.page.evaluate(() => document.getElementById("queue").scrollIntoView());
        assert.ok((await box("#guide")).y >= 0, "the lesson remains visible");
        await done(opened);
    }
});

test("the steps of the lessons run, and their texts state the numbers of the runs", async () => {
    const opened = await open({ hash: "#step=1" });
    const { page } = opened;
    const of = async (metric) => text(page, `metric-${metric}`);
    const efficiency = async () => Number(await of("efficiency")).toFixed(2);
    const queue = async () => `${Number(await of("mean_queue")).toFixed(0)} `;
    const rate = async () => `${parseFloat(await of("throughput")).toFixed(0)} Mbit/s`;
    const busy = async () => `${parseFloat(await of("utilization")).toFixed(0)} %`;
    const loss = async () => of("loss");
    // Numbers of each step, and of the step with one change.
    const steps = [
        [[efficiency], ["switch.policy", "fq-codel", [efficiency]]],
        [[efficiency], ["switch.buffer", "0.1 BDP", [efficiency]]],
        [[efficiency, queue], ["tcp.congestion", "cubic", [queue]]],
        [[]],
        [[efficiency]],
        [[rate]],
        [[efficiency, busy]],
        [[efficiency, loss], ["switch.policy", "tail-drop", [efficiency, loss]]],
    ];
    for (const [index, [numbers, change]] of steps.entries()) {
        if (index > 0) await rerun(page, () => page.click("#lesson-next"));
        const lesson = await text(page, "lesson-box");
        assert.match(lesson, new RegExp(`^${index + 1}\\. `));
        for (const number of numbers) assert.ok(lesson.includes(await number()), `${await number()} in: ${lesson}`);
        if (change === undefined) continue;
        const [path, value, changed] = change;
        await rerun(page, () => (path === "switch.buffer" ? set(page, path, value) : page.selectOption(`[id="knob-${path}"]`, value)));
        for (const number of changed) assert.ok(lesson.includes(await number()), `${await number()} in: ${lesson}`);
        await rerun(page, () => page.goBack());
    }
    assert.equal(await page.isDisabled("#lesson-next"), false);
    await settled(page);
    await done(opened);
});

test("on a phone, a step of the lesson is collapsed until it is opened", async () => {
    const opened = await open({ hash: "#step=2", width: 390 });
    const height = () => opened.page.locator("#guide").boundingBox().then((box) => box.height);
    const collapsed = await height();
    assert.ok(collapsed < 130, `${collapsed} pixels`);
    await opened.page.click("#lesson-box summary");
    assert.ok((await height()) > collapsed);
    await done(opened);
});

/** For each exercise: its field in TOML, and whether a run's metrics meet its bound. */
const EXERCISES = [
    { line: (choice) => `buffer = "${choice}"`, field: /^buffer = .*$/m, meets: ({ metrics }) => metrics.efficiency >= 0.95, from: 0 },
    {
        line: (choice) => `access_delay = "${choice}"`,
        field: /^access_delay = .*$/m,
        meets: ({ flows }) => flows.delivered_bytes[1] / (flows.delivered_bytes[0] + flows.delivered_bytes[1]) >= 0.25,
        from: -1,
    },
    { line: (choice) => `threshold = ${parseInt(choice)}`, field: /^threshold = .*$/m, meets: ({ metrics }) => metrics.efficiency >= 0.98, from: 0 },
    {
        line: (choice) => `indices = [${[60, 63, 66, 69].slice(0, Number(choice))}]`,
        field: /^indices = .*$/m,
        meets: ({ metrics }) => metrics.timeouts === 0,
        from: -1,
    },
];

for (const [i, exercise] of EXERCISES.entries()) {
    test(`exercise ${i + 1}: the engine finds the answer, which runs of the same scenario confirm`, async () => {
        const opened = await open({ hash: `#exercise=${i + 1}` });
        const { page } = opened;
        const verdict = async () => {
            await page.click("#check");
            await page.waitForSelector("#verdict p", { timeout: 60_000 });
            return text(page, "verdict");
        };
        const toml = await page.inputValue("#text");
        const choices = await page.$$eval("#answer option:not([disabled])", (all) => all.map((one) => one.textContent));
        const runs = [];
        for (const choice of choices) {
            assert.match(toml, exercise.field);
            const own = toml.replace(exercise.field, exercise.line(choice));
            runs.push(await page.evaluate((all) => longpipe.run(all), own));
        }
        const meets = choices.map((_, k) => exercise.meets(runs[k]));
        const right = exercise.from === 0 ? meets.indexOf(true) : meets.lastIndexOf(true);
        assert.ok(right > 0 || i === 3, `the answer, ${choices[right]}, is not at the end of the choices`);
        assert.doesNotMatch(await verdict(), /^Right/);
        await rerun(page, () => page.selectOption("#answer", { label: choices[right] }));
        assert.equal(await text(page, "hash"), runs[right].state_hash);
        assert.match(await verdict(), new RegExp(`^Right\\. ${choices[right]}: `));
        if (i === 0) {
            await rerun(page, () => set(page, "switch.buffer", "8 ms"));
            assert.equal(await verdict(), "switch.buffer: not one of the choices; needs a value from the menu Buffer");
        }
        if (i === 3) {
            for (const [recovery, said] of [["newreno", /RFC 6582/], ["tahoe", /slow-starts/], ["rack", /RFC 8985/]]) {
                await rerun(page, () => set(page, "tcp.recovery", recovery));
                await rerun(page, () => page.selectOption("#answer", { label: "4" }));
                assert.match(await verdict(), said);
            }
        }
        await done(opened);
    });
}

test("the hand-in code of each homework is that of the teacher's key", async () => {
    assert.equal(expected.homework.length, 12);
    for (const { fragment, answer, code } of expected.homework) {
        const opened = await open({ hash: fragment });
        const { page } = opened;
        assert.equal(await page.$("#check"), null);
        await rerun(page, () => page.selectOption("#answer", { label: answer }));
        assert.equal(await text(page, "hand-in"), code, fragment);
        await page.reload();
        await settled(page);
        assert.equal(await text(page, "hand-in"), code, "after a reload");
        await done(opened);
    }
});

test("a change of the scenario cancels the check of the previous answer", async () => {
    const opened = await open({ hash: "#exercise=1" });
    const { page } = opened;
    await page.click("#check");
    assert.match(await text(page, "verdict"), /^Running 11 choices/);
    await rerun(page, () => page.selectOption("#answer", { label: "5 ms" }));
    assert.equal(await text(page, "verdict"), "");
    await done(opened);
});

test("settings survive a reload; undo and Back return to the previous ones, also to a place of the lesson", async () => {
    const opened = await open();
    const { page } = opened;
    const first = await text(page, "hash");
    assert.equal(await page.isDisabled("#undo"), true);
    await rerun(page, () => set(page, "tcp.initial_window", "20 segments"));
    const second = await text(page, "hash");
    await rerun(page, () => set(page, "seed", "7"));
    await page.waitForFunction(() => location.hash.includes("seed=7"));
    await page.reload();
    await settled(page);
    assert.equal(await page.inputValue('[data-path="tcp.initial_window"]'), "20 segments");
    assert.equal(await page.inputValue("#seed"), "7");
    assert.match(await text(page, "lesson-box"), /^1\. Bufferbloat/);
    await rerun(page, () => page.click("#undo"));
    assert.deepEqual([await text(page, "hash"), await page.inputValue("#seed")], [second, "1"]);
    await rerun(page, () => page.goBack());
    assert.equal(await text(page, "hash"), first);
    assert.equal(await page.isDisabled("#undo"), true);
    await rerun(page, () => page.click("#lesson-next"));
    await rerun(page, () => page.selectOption("#preset", "lan-5-epd"));
    assert.equal(await page.isHidden("#lesson-box"), true);
    await rerun(page, () => page.keyboard.press("Control+z"));
    assert.match(await text(page, "lesson-box"), /^2\. /);
    await done(opened);
});

test("Ctrl+Z undoes applied settings, also in the field just changed, and text that was not applied yet", async () => {
    const opened = await open({ hash: sack() });
    const { page } = opened;
    const rate = page.locator('[data-path="network.trunk_rate"]');
    const now = async () => [await rate.inputValue(), await text(page, "hash")];
    const first = await now();
    const enter = async (value) => {
        await rate.click();
        await page.keyboard.press("Control+a");
        // As a paste does.
        await page.keyboard.insertText(value);
        await page.keyboard.press("Enter");
    };
    await rerun(page, () => enter("20 Mbit/s"));
    const second = await now();
    assert.deepEqual([first[0], second[0]], ["10 Mbit/s", "20 Mbit/s"]);
    await page.waitForFunction(() => !document.getElementById("undo").disabled);
    await rerun(page, () => page.keyboard.press("Control+z"));
    assert.deepEqual(await now(), first);
    // Nothing remains to be undone, and the field is unchanged when it loses the focus.
    await page.keyboard.press("Control+z");
    await page.keyboard.press("Tab");
    assert.deepEqual(await now(), first);
    await rate.click();
    await rerun(page, () => page.keyboard.press("Control+Shift+z"));
    assert.deepEqual(await now(), second);
    await rerun(page, () => page.goBack());
    await rerun(page, () => page.goForward());
    await rate.click();
    await page.keyboard.press("End");
    await page.keyboard.type("x");
    await page.keyboard.press("Control+z");
    assert.deepEqual(await now(), second);
    await rerun(page, () => page.keyboard.press("Control+z"));
    assert.deepEqual(await now(), first);
    await rerun(page, () => page.keyboard.press("Control+y"));
    assert.deepEqual(await now(), second);
    assert.deepEqual(await problems(page), []);
    await done(opened);
});

test("menus offer the choices that the scenario accepts, and explain what the others need", async () => {
    const opened = await open({ hash: "#preset=fiber" });
    const { page } = opened;
    const choice = (path, value) =>
        page.$eval(`[data-path="${path}"] option[value="${value}"]`, (one) => [one.disabled, one.textContent]);
    // The preset has the recovery of Linux.
    await rerun(page, () => set(page, "tcp.recovery", "sack"));
    await page.focus('[data-path="tcp.congestion"]');
    assert.deepEqual(await choice("tcp.congestion", "bbr"), [true, "BBR: loss recovery needs 'rack' with congestion 'bbr'"]);
    assert.deepEqual(await choice("tcp.congestion", "vegas"), [false, "Vegas"]);
    await page.focus('[data-path="switch.policy"]');
    assert.deepEqual(await choice("switch.policy", "epd"), [true, "EPD: is for cells"]);
    await page.focus('[data-path="traffic"]');
    assert.deepEqual(await choice("traffic", "voice"), [true, "voice: is not supported on this page"]);
    assert.deepEqual(await choice("traffic", "cbr"), [false, "cbr"]);
    await rerun(page, () => set(page, "tcp.recovery", "rack"));
    await page.focus('[data-path="tcp.congestion"]');
    assert.deepEqual(await choice("tcp.congestion", "bbr"), [false, "BBR"]);
    await rerun(page, () => set(page, "tcp.congestion", "bbr"));
    assert.deepEqual(await problems(page), []);
    await done(opened);
});

test("a preset with a time-varying path runs unchanged, with any seed", async () => {
    const opened = await open({ hash: "#preset=cellular&seed=3" });
    const { page } = opened;
    const hash = await text(page, "hash");
    assert.equal(await page.isDisabled('[data-path="network.trunk_rate"]'), true);
    assert.match(await text(page, "fixed"), /Only its seed can be changed/);
    assert.equal(await text(page, "metric-efficiency"), "–");
    await rerun(page, () => set(page, "seed", "4"));
    assert.notEqual(await text(page, "hash"), hash);
    await rerun(page, () => page.click("#undo"));
    assert.equal(await text(page, "hash"), hash);
    await rerun(page, () => page.selectOption("#preset", "fiber"));
    assert.equal(await page.isEnabled('[data-path="network.trunk_rate"]'), true);
    await done(opened);
});
