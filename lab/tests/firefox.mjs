// Firefox, driven by WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/), because Playwright needs its own build of
// Firefox.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import WebSocket from "ws";

const PLACES = ["/usr/bin/firefox-esr", "/usr/bin/firefox"];

/** The program, or undefined if there is none. */
export const FIREFOX = process.env.FIREFOX ?? PLACES.find((path) => existsSync(path));

// Preferences of a new profile, with which Firefox itself sends no requests to the network.
const PREFERENCES = {
    "app.normandy.enabled": false,
    "app.update.disabledForTesting": true,
    "browser.aboutwelcome.enabled": false,
    "browser.safebrowsing.update.enabled": false,
    "datareporting.policy.dataSubmissionEnabled": false,
    "network.captive-portal-service.enabled": false,
    "network.connectivity-service.enabled": false,
    "services.settings.server": "data:,",
};

/** Starts Firefox, in which `open` opens pages; `close` ends the program and removes its profile. */
export async function start() {
    const profile = mkdtempSync(join(tmpdir(), "longpipe-firefox-"));
    const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`);
    writeFileSync(join(profile, "user.js"), lines.join("\n"));
    const options = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"];
    const firefox = spawn(FIREFOX, options, { stdio: ["ignore", "ignore", "pipe"] });
    const ended = new Promise((resolve) => firefox.once("close", resolve));
    const connection = await connect(await address(firefox));
    await connection.send("session.new", { capabilities: {} });
    await connection.send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
    const close = async () => {
        firefox.kill();
        await ended;
        rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    };
    return { open: (url, options) => open(connection, url, options), close };
}

/** Returns the address of the browser's WebDriver BiDi server, which Firefox prints. */
async function address(firefox) {
    const printed = [];
    for await (const line of createInterface({ input: firefox.stderr })) {
        const found = /^WebDriver BiDi listening on (ws:\S+)/.exec(line);
        if (found) return `${found[1]}/session`;
        printed.push(line);
    }
    throw new Error(`Firefox ended: ${printed.join("\n")}`);
}

/** Connects to the server; `send` performs a command and returns its result. */
async function connect(url) {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const waiting = new Map();
    const listeners = new Set();
    let last = 0;
    socket.on("message", (text) => {
        const message = JSON.parse(text);
        if (message.type === "event") {
            for (const listener of listeners) listener(message.method, message.params);
            return;
        }
        const { resolve, reject } = waiting.get(message.id);
        waiting.delete(message.id);
        if (message.type === "success") resolve(message.result);
        else reject(new Error(`${message.error}: ${message.message}`));
    });
    const send = (method, params) => {
        last += 1;
        socket.send(JSON.stringify({ id: last, method, params }));
        return new Promise((resolve, reject) => waiting.set(last, { resolve, reject }));
    };
    return { send, listeners };
}

/**
 * Opens a page after running `first` in it. `evaluate` calls a function in the page, as Playwright's does; its argument
 * and its result are JSON. `errors` lists errors on the console and requests to the network.
 */
async function open({ send, listeners }, url, { width, height, first }) {
    const { context } = await send("browsingContext.create", { type: "tab" });
    await send("script.addPreloadScript", { functionDeclaration: `${first}`, contexts: [context] });
    await send("browsingContext.setViewport", { context, viewport: { width, height } });
    const errors = [];
    const listener = (method, { source, context: of, level, text, request }) => {
        if ((source?.context ?? of) !== context) return;
        if (method === "log.entryAdded" && level === "error") errors.push(text);
        if (request && !/^(file|blob|data|about):/.test(request.url)) errors.push(`requested ${request.url}`);
    };
    listeners.add(listener);
    await send("browsingContext.navigate", { context, url, wait: "complete" });
    const evaluate = async (work, argument = null) => {
        const found = await send("script.callFunction", {
            functionDeclaration: `async (text) => JSON.stringify((await (${work})(JSON.parse(text))) ?? null)`,
            arguments: [{ type: "string", value: JSON.stringify(argument) }],
            target: { context },
            awaitPromise: true,
        });
        if (found.type === "exception") throw new Error(found.exceptionDetails.text);
        return JSON.parse(found.result.value);
    };
    const close = async () => {
        listeners.delete(listener);
        await send("browsingContext.close", { context });
    };
    return { evaluate, close, errors };
}
