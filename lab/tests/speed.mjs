// How fast the page is, in this browser on this machine: npm run speed
import { close, open, rerun } from "./page.mjs";

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const say = (what, value) => process.stdout.write(`${what.padEnd(62)} ${value}\n`);

const first = [];
for (let i = 0; i < 5; i++) {
    const { page } = await open({ ready: false });
    await page.waitForSelector("#sequence .uplot");
    first.push(await page.evaluate(() => performance.now()));
    await page.context().close();
}
say("from opening to the first picture", `${median(first).toFixed(0)} ms`);

const TCP = 'mss = "1460 B"\nreceiver_window = "auto"\nrecovery = "sack"';
const SIZES = {
    "IP, 10 Mbit/s": `framing = "ip"\nduration = "100 s"\nnetwork = { kind = "dumbbell", sources = 15, trunk_rate = "10 Mbit/s", trunk_delay = "10 ms" }\nswitch.buffer = "1 BDP"\n[tcp]\n${TCP}`,
    "IP, 155.52 Mbit/s": `framing = "ip"\nduration = "100 s"\nnetwork = { kind = "dumbbell", sources = 15, trunk_delay = "10 ms" }\nswitch.buffer = "1 BDP"\n[tcp]\n${TCP}`,
    "cells, 155.52 Mbit/s": `duration = "100 s"\nnetwork = { kind = "dumbbell", sources = 15, trunk_delay = "10 ms" }\nswitch.buffer = "1 BDP"\n[tcp]\n${TCP}`,
};
for (const [name, toml] of Object.entries(SIZES)) {
    const { page } = await open();
    const drawn = [];
    for (let i = 0; i < 3; i++) {
        const give = { name: "speed.toml", mimeType: "text/plain", buffer: Buffer.from(toml) };
        const began = Date.now();
        await rerun(page, () => page.setInputFiles("#file", give));
        drawn.push(Date.now() - began);
    }
    say(`15 flows, 100 s, ${name}: run and drawn`, `${median(drawn)} ms`);
    const counted = await page.evaluate(async (text) => {
        const found = [];
        for (let i = 0; i < 3; i++) {
            const began = performance.now();
            const { flows } = await longpipe.run(text);
            const segments = flows.sent_segments.reduce((all, one) => all + one, 0);
            found.push((2 * segments) / (performance.now() - began) / 1000);
        }
        return Math.max(...found);
    }, toml);
    say(`15 flows, 100 s, ${name}: counted alone`, `${counted.toFixed(1)} million packets per second`);
    await page.context().close();
}
await close();
