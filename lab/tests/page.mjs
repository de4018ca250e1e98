// A browser that displays the page, for the tests.
import { chromium } from "playwright-core";
import { existsSync } from "node:fs";

export const PAGE = new URL("../../python/longpipe/lab/page.html", import.meta.url).href;
const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = process.env.CHROMIUM ?? BROWSERS.find((path) => existsSync(path));

// The tests do not measure time, so a busy machine may take this long [ms] for any step.
const STEP_TIMEOUT = 120_000;

let browser = null;

/** The browser, started once. */
async function start() {
    if (executablePath === undefined) throw new Error("no Chromium: needs Debian's package chromium, or CHROMIUM=path");
    // A sandbox needs privileges that a container does not have.
    browser ??= await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    return browser;
}

/**
 * Returns the page after loading; `first` is run before its own scripts. Errors on the console fail the test that
 * closes the page.
 */
export async function open({ hash = "", width = 1300, scheme = "light", ready = true, first = null } = {}) {
    const options = { viewport: { width, height: 900 }, colorScheme: scheme, acceptDownloads: true };
    const context = await (await start()).newContext(options);
    const page = await context.newPage();
    page.setDefaultTimeout(STEP_TIMEOUT);
    const errors = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("request", (request) => !/^(file|blob|data):/.test(request.url()) && errors.push(`requested ${request.url()}`));
    if (first !== null) await page.addInitScript(first);
    await page.goto(PAGE + hash);
    if (ready) await settled(page);
    return { page, errors };
}

/** An empty page. */
export async function blank() {
    return (await (await start()).newContext()).newPage();
}

/**
 * Runs in the page, because queries from outside take time: marks the frame after the last picture was drawn.
 */
export function noteFirstPictures() {
    const look = (_, observer) => {
        if (document.querySelector("#sequence .uplot") === null) return;
        observer.disconnect();
        requestAnimationFrame(() => performance.mark("pictures"));
    };
    new MutationObserver(look).observe(document, { childList: true, subtree: true });
}

/** Waits until a run is finished and drawn. */
export async function settled(page) {
    await page.waitForFunction(() => document.body.dataset.state === "ready" && document.body.dataset.hash, null, {
        timeout: 60_000,
    });
}

/**
 * Performs an action that causes another run, and waits until the page is idle again; an error of the page is reported
 * if it draws none.
 */
export async function rerun(page, work) {
    await page.evaluate(() => {
        window.drawn = new Promise((resolve, reject) => {
            document.addEventListener("drawn", resolve, { once: true });
            const told = () => [...document.querySelectorAll("#problems p")].map((line) => line.textContent);
            setTimeout(() => reject(new Error(`no picture within a minute: ${told().join("; ")}`)), 60_000);
        });
    });
    await work();
    await page.evaluate(() => window.drawn);
    // The page may run the scenario once more at once, to record what it left out.
    await settled(page);
}

/** Closes the browser. */
export async function close() {
    await browser?.close();
}
