// Accessibility of the page: contrast, names of controls, keyboard, narrow screens, dark mode, and print.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { close, open, rerun } from "./page.mjs";

after(close);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");

for (const scheme of ["light", "dark"]) {
    for (const width of [1300, 390]) {
        test(`axe finds nothing wrong: ${scheme}, ${width} pixels`, async () => {
            const { page, errors } = await open({ hash: "#step=1", scheme, width });
            await page.$$eval("details", (all) => all.forEach((one) => (one.open = true)));
            await page.evaluate(axe);
            const { violations } = await page.evaluate(() => axe.run());
            assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 150))]), []);
            assert.deepEqual(errors, []);
            await page.context().close();
        });
    }
}

test("nothing is wider than 390 pixels", async () => {
    const { page } = await open({ width: 390 });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    const wide = await page.$$eval(".uplot", (all) => all.map((one) => one.getBoundingClientRect().right));
    assert.ok(wide.every((right) => right <= 390), String(wide));
    await page.context().close();
});

test("the page can be used with the keyboard alone", async () => {
    const { page } = await open({ hash: "#preset=lan-5-epd" });
    const reach = async (id, most = 120) => {
        for (let i = 0; i < most; i++) {
            if (await page.evaluate((wanted) => document.activeElement?.id === wanted, id)) return;
            await page.keyboard.press("Tab");
        }
        assert.fail(`${id} is not reachable`);
    };
    await reach("knob-tcp.recovery");
    await rerun(page, () => page.keyboard.press("ArrowDown"));
    assert.equal(await page.inputValue('[id="knob-tcp.recovery"]'), "newreno");
    await reach("pin");
    await page.keyboard.press("Enter");
    assert.equal(await page.getAttribute("#pin", "aria-pressed"), "true");
    await reach("from");
    await rerun(page, () => page.keyboard.type("2").then(() => page.keyboard.press("Enter")));
    assert.ok(Number(await page.inputValue("#from")) > 0);
    await reach("csv");
    await page.context().close();
});

test("explanations of terms appear on hover and on keyboard focus", async () => {
    const { page } = await open();
    await page.hover('[data-term="cwnd"]');
    assert.match(await page.textContent("#tip"), /^cwnd, the congestion window/);
    await page.keyboard.press("Escape");
    assert.equal(await page.isVisible("#tip"), false);
    await page.focus('[data-term="hash"]');
    assert.equal(await page.isVisible("#tip"), true);
    const label = page.locator('label[for="knob-tcp.mss"]');
    await label.hover();
    assert.match(await page.textContent("#tip"), /Default: 512 B \(ATM Forum\/96-1761 section 3\.1\)\. In a file: tcp\.mss$/);
    await page.context().close();
});

test("printed pages contain pictures and numbers, but no buttons", async () => {
    const { page } = await open();
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.isVisible("#pin"), false);
    assert.equal(await page.isVisible("#numbers"), true);
    assert.equal(await page.isVisible("#window canvas"), true);
    await page.context().close();
});

test("the answer of every exercise is in view at 390 pixels before the text is scrolled", async () => {
    for (const number of [1, 2, 3, 4]) {
        const { page } = await open({ hash: `#exercise=${number}`, width: 390 });
        const [guide, answer, check] = await page.$$eval("#guide, #answer, #check", (all) => all.map((one) => one.getBoundingClientRect().toJSON()));
        for (const one of [answer, check]) assert.ok(one.bottom <= guide.bottom, JSON.stringify([number, guide, one]));
        await page.context().close();
    }
});

test("the verdict on an answer is in view at 390 pixels", async () => {
    for (const number of [1, 4]) {
        const { page } = await open({ hash: `#exercise=${number}`, width: 390 });
        await page.click("#check");
        await page.waitForSelector("#verdict p", { timeout: 60_000 });
        const [guide, verdict] = await page.$$eval("#guide, #verdict p", (all) => all.map((one) => one.getBoundingClientRect().toJSON()));
        assert.ok(verdict.top >= guide.top && verdict.bottom <= guide.bottom + 1, JSON.stringify([guide, verdict]));
        await page.context().close();
    }
});
