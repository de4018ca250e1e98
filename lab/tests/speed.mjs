// Measures the speed of the page in this browser on this machine: `npm run speed`. It prints medians of several
// repetitions with the minimum, because other load on the machine slows all repetitions but the fastest.
import { close, noteFirstPictures, open, rerun } from "./page.mjs";

const say = (what, tries, digits, unit) => {
    const sorted = [...tries].sort((a, b) => a - b);
    const median = sorted[Math.floor(sorted.length / 2)].toFixed(digits);
    const best = (unit === "ms" ? sorted[0] : sorted[sorted.length - 1]).toFixed(digits);
    process.stdout.write(`${what.padEnd(66)} ${median} ${unit}, best ${best} of ${tries.length}\n`);
};
// Anything that takes longer than this is assumed to hang.
const limit = setTimeout(() => {
    process.stderr.write("speed: nothing for 5 minutes; needs a machine with less to do\n");
    process.exit(1);
}, 300_000);

async function opened() {
    const { page } = await open({ ready: false, first: noteFirstPictures });
    await page.waitForFunction(() => performance.getEntriesByName("pictures").length > 0, null, { timeout: 60_000 });
    const instant = await page.evaluate(() => performance.getEntriesByName("pictures")[0].startTime);
    await page.context().close();
    return instant;
}

const first = [];
for (let i = 0; i < 5; i++) first.push(await opened());
say("from opening to the first picture", first, 0, "ms");

const TCP = 'mss = "1460 B"\nreceiver_window = "auto"\nrecovery = "sack"';
const SIZES = {
    "IP, 10 Mbit/s": `framing = "ip"\nduration = "100 s"\nnetwork = { kind = "dumbbell", sources = 15, trunk_rate = "10 Mbit/s", trunk_delay = "10 ms" }\nswitch.buffer = "1 BDP"\n[tcp]\n${TCP}`,
    "IP, 155.52 Mbit/s": `framing = "ip"\nduration = "100 s"\nnetwork = { kind = "dumbbell", sources = 15, trunk_delay = "10 ms" }\nswitch.buffer = "1 BDP"\n[tcp]\n${TCP}`,
    "cells, 155.52 Mbit/s": `duration = "100 s"\nnetwork = { kind = "dumbbell", sources = 15, trunk_delay = "10 ms" }\nswitch.buffer = "1 BDP"\n[tcp]\n${TCP}`,
};

/**
 * Sets the seed as a user does, and waits until the next frame after the picture: [total, time of the engine] in ms.
 */
const letGo = (page, seed) =>
    page.evaluate(
        (value) =>
            new Promise((resolve) => {
                const knob = document.getElementById("seed");
                const began = performance.now();
                const drawn = () =>
                    requestAnimationFrame(() => {
                        const [, engine] = /in ([\d.]+) s,/.exec(document.getElementById("status").textContent);
                        resolve([performance.now() - began, 1000 * Number(engine)]);
                    });
                document.addEventListener("drawn", drawn, { once: true });
                knob.value = value;
                knob.dispatchEvent(new Event("change", { bubbles: true }));
            }),
        String(seed),
    );

/** Returns the frames per second while spans of the run are shown in sequence. */
const zoomed = (page, duration) =>
    page.evaluate(async (whole) => {
        const [from, to] = ["from", "to"].map((id) => document.getElementById(id));
        let frames = 0;
        let over = false;
        const count = () => {
            frames++;
            if (!over) requestAnimationFrame(count);
        };
        const began = performance.now();
        requestAnimationFrame(count);
        for (let step = 1; step <= 10; step++) {
            from.value = String((whole / 2) * (step / 11));
            to.value = String(whole - (whole / 2) * (step / 11));
            to.dispatchEvent(new Event("change", { bubbles: true }));
            await new Promise((resolve) => setTimeout(resolve, 150));
        }
        over = true;
        return (1000 * frames) / (performance.now() - began);
    }, duration);

for (const [name, toml] of Object.entries(SIZES)) {
    const { page } = await open();
    const file = { name: "speed.toml", mimeType: "text/plain", buffer: Buffer.from(toml) };
    await rerun(page, () => page.setInputFiles("#file", file));
    const drawn = [];
    for (let seed = 2; seed < 7; seed++) drawn.push(await letGo(page, seed));
    say(`15 flows, 100 s, ${name}: from releasing a slider to the picture`, drawn.map(([all]) => all), 0, "ms");
    say(`15 flows, 100 s, ${name}: of which the engine`, drawn.map(([, engine]) => engine), 0, "ms");
    const counted = await page.evaluate(async (text) => {
        const found = [];
        for (let i = 0; i < 4; i++) {
            const began = performance.now();
            const { flows } = await longpipe.run(text);
            const segments = flows.sent_segments.reduce((all, one) => all + one, 0);
            found.push((2 * segments) / (performance.now() - began) / 1000);
        }
        return found;
    }, toml);
    say(`15 flows, 100 s, ${name}: counted alone`, counted, 1, "million packets per second");
    if (name === "IP, 155.52 Mbit/s") {
        const frames = [];
        for (let i = 0; i < 3; i++) frames.push(await zoomed(page, 100));
        say(`15 flows, 100 s, ${name}: zooming a million segments`, frames, 0, "frames per second");
    }
    await page.context().close();
}
await close();
clearTimeout(limit);
