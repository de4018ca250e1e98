// A browser with the page in it, as the tests use it.
import { chromium } from "playwright-core";
import { existsSync } from "node:fs";

export const PAGE = new URL("../../python/longpipe/lab/page.html", import.meta.url).href;
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env.CHROMIUM ?? BROWSERS.find((path) => existsSync(path));

let browser = null;

/** The browser, started once. */
async function start() {
    if (executablePath === undefined) throw new Error("no Chromium: needs Debian's package chromium, or CHROMIUM=path");
    // A sandbox takes privileges that a container has not.
    browser ??= await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    return browser;
}

/** The page, ready, `first` run in it before its own scripts; what it tells the console as an error fails the test that closes it. */
export async function open({ hash = "", width = 1300, scheme = "light", ready = true, first = null } = {}) {
    const options = { viewport: { width, height: 900 }, colorScheme: scheme, acceptDownloads: true };
    const context = await (await start()).newContext(options);
    const page = await context.newPage();
    const errors = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("request", (request) => !/^(file|blob|data):/.test(request.url()) && errors.push(`asked for ${request.url()}`));
    if (first !== null) await page.addInitScript(first);
    await page.goto(PAGE + hash);
    if (ready) await settled(page);
    return { page, errors };
}

/** An empty page. */
export async function blank() {
    return (await (await start()).newContext()).newPage();
}

/** Waits until a run is over and drawn. */
export async function settled(page) {
    await page.waitForFunction(() => document.body.dataset.state === "ready" && document.body.dataset.hash, null, {
        timeout: 60_000,
    });
}

/** Does something that has another run made, and waits for it; a page that draws none says why. */
export async function rerun(page, work) {
    await page.evaluate(() => {
        window.drawn = new Promise((resolve, reject) => {
            document.addEventListener("drawn", resolve, { once: true });
            const told = () => [...document.querySelectorAll("#problems p")].map((line) => line.textContent);
            setTimeout(() => reject(new Error(`nothing drawn within a minute: ${told().join("; ")}`)), 60_000);
        });
    });
    await work();
    await page.evaluate(() => window.drawn);
}

/** Ends the browser. */
export async function close() {
    await browser?.close();
}
