/** The page: a scenario and a seed, which are simulated after each change of a field, and drawn during the run. */
import { type JsonTable, toJson } from "../scenario/json";
import { ScenarioError, repr } from "../scenario/errors";
import { DESCRIPTION } from "../scenario/model";
import { keepModule } from "../scenario/modules";
import { valueOf } from "../scenario/part";
import { type Resolved, resolve } from "../scenario/resolve";
import { fromToml, toToml } from "../scenario/toml";
import { Charts } from "./charts";
import { learn, segmentsOf, tooMuch } from "./cost";
import { byId, fill, make } from "./dom";
import { drawn, pinnedTitle, titleOf } from "./drawing";
import { prepareEditor } from "./editor";
import { Cancelled, EngineWorker, RunFailed, type Running, prepare as prepareEngine, runAll } from "./engine";
import { Form } from "./form";
import { Reductions } from "./reductions";
import { Guide, type Place } from "./guide";
import { changed } from "./knobs";
import { CHARTS, type Drawn, MAX_FLOWS } from "./models";
import { prepareMany } from "./many";
import { prepareOutputs } from "./outputs";
import { type Numbers, durationS, metricsOf, numbers } from "./metrics";
import { showFlows, showNumbers } from "./tables";
import type { Counted, Picture, View } from "./protocol";
import { keepSent, notRecorded, recorded, recordingOf } from "./recording";
import { type StartingPoint, startOf } from "./starting_points";
import { SettingsHistory } from "./history";
import { keepCore, resolveAny } from "./preset";
import { fromHash } from "./share";
import { explainOnHover } from "./terms";

type Table = Record<string, unknown>;

/** A finished run with its inputs. */
interface Done {
    fields: Table;
    resolved: Resolved;
    seed: string;
    counted: Counted;
    view: View;
}

const BINS = 1000;
/** Maximum duration of a run that is repeated while a slider moves [ms]. */
const LIVE_MS = 150;
/** The field that names a module. */
const CONTROL = "tcp.congestion";
const LARGEST_SEED = 2n ** 64n - 1n;

const workers = { now: new EngineWorker(), pinned: new EngineWorker() };
let fields: Table = {};
let seed = "1";
let resolved: Resolved | null = null;
let span: [number, number] | null = null;
let sequence = 0;
let done: Done | null = null;
let pinned: Done | null = null;
let running: Running | null = null;
let lastMs = Number.POSITIVE_INFINITY;
/** Whether a scenario was shown before; showing the first one cannot be undone. */
let started = false;
/** The origin of the scenario, and its fields at this origin. */
let origin: { place: StartingPoint; fields: Table | null } = { place: {}, fields: null };

const charts = new Charts(
    { window: byId("window"), queue: byId("queue"), rtt: byId("rtt"), throughput: byId("throughput"), sequence: byId("sequence") },
    (from, to) => zoom([from, to]),
    (at) => reductions.near(at),
);
const reductions = new Reductions();
const form = new Form(byId("knobs"), (path, value, released) => {
    if (!released && lastMs > LIVE_MS) return;
    if (path === "seed") seed = String(value);
    const next = path === "seed" ? fields : changed(fields, path, value);
    if (take(next, false) && released) remember(path);
}, () => byId("module-file").click());
const guide = new Guide({
    go: (place) => guarded(() => usePlace(place)),
    set: (next, what) => {
        if (take(next, false)) remember(what);
    },
    now: () => ({ fields, seed }),
});
const history = new SettingsHistory(() => void followHash());
const showText = prepareEditor((read) => guarded(() => takeOwn(read(), "As written below.")));

/** Adds the present settings to the history, after a change of the field `what`. */
function remember(what: string | null): void {
    const own = fields === origin.fields ? undefined : fields;
    void history.enter({ ...origin.place, fields: own, seed }, started ? what : null);
    started = true;
}

/**
 * Accepts other fields if they are valid; `fresh` is set if they belong to another scenario. Returns whether they are
 * valid.
 */
function take(next: Table, fresh: boolean): boolean {
    let candidate: Resolved;
    try {
        checkSeed(seed);
        candidate = resolveAny(next);
        const problem = tooMuch(candidate);
        if (problem !== null) throw new ScenarioError([problem]);
    } catch (error) {
        if (!(error instanceof ScenarioError)) throw error;
        tell(error.problems);
        form.mark(error.problems);
        return false;
    }
    tell([]);
    if (fresh || resolved === null || durationS(resolved) !== durationS(candidate)) span = null;
    if (fresh) sequence = 0;
    [fields, resolved] = [next, candidate];
    sequence = Math.min(sequence, candidate.flows.length - 1);
    // StartingPoint the run first, so that the worker runs while the form is built.
    run();
    form.show(candidate, next, seed);
    guide.changed();
    showScenario();
    return true;
}

function checkSeed(of: string): void {
    if (!/^\d+$/.test(of) || BigInt(of) > LARGEST_SEED) {
        throw new ScenarioError([`seed: ${repr(of)}; needs a whole number from 0 to ${LARGEST_SEED}`]);
    }
}

function tell(problems: string[]): void {
    byId("problems").replaceChildren(...problems.map((problem) => make("p", {}, problem)));
}

function showScenario(): void {
    if (resolved === null) return;
    showText(fields);
    const name = String(valueOf(resolved.scenario, "name"));
    byId("command").textContent = `longpipe run ${fileName(name)}.toml --seed ${seed}`;
    const { flows } = resolved;
    const select = byId<HTMLSelectElement>("flow");
    const shown = flows.slice(0, 200);
    if (select.options.length !== shown.length || select.options[0]?.text !== shown[0]) {
        select.replaceChildren(...shown.map((flow, i) => make("option", { value: String(i) }, flow)));
    }
    select.value = String(sequence);
    const [from, to] = span ?? [0, durationS(resolved)];
    for (const [id, at] of [["from", from], ["to", to]] as const) fill(byId<HTMLInputElement>(id), String(Number(at.toPrecision(6))));
    byId<HTMLButtonElement>("whole").disabled = span === null;
}

function fileName(name: string): string {
    return name.replaceAll(/[^A-Za-z0-9_.-]+/g, "-");
}

function viewOf(of: Resolved): View {
    const [from_s, to_s] = span ?? [0, durationS(of)];
    const flows = Math.max(1, Math.min(Math.max(MAX_FLOWS, sequence + 1), of.flows.length));
    return { from_s, to_s, bins: BINS, flows, sequence };
}

function run(): void {
    if (resolved === null) return;
    running?.cancel();
    const what = { fields, resolved, seed, view: viewOf(resolved) };
    const whole = span === null;
    busy(true);
    const detail = recordingOf(resolved, sequence);
    const told = (progress: number, picture: Picture | null): void => {
        byId<HTMLProgressElement>("progress").value = progress;
        if (picture !== null && whole && running === mine) draw(drawn(what.resolved, what.view, { picture }, progress), null);
    };
    const mine = workers.now.run(recorded(resolved, detail), seed, what.view, told, detail);
    running = mine;
    mine.done
        .then(({ counted: found, run_ms }) => {
            if (running === mine) finished({ ...what, counted: found }, run_ms);
        })
        .catch((error: unknown) => {
            if (running === mine) failed(error);
        });
}

function finished(ended: Done, runMs: number): void {
    done = ended;
    lastMs = runMs;
    busy(false);
    const segments = segmentsOf(numbers(ended.counted, "flows", "sent_segments"));
    learn(ended.resolved, segments, runMs / 1000);
    keepSent(ended.resolved, segments);
    const flows = ended.resolved.flows.length;
    const speed = Number(((2 * segments) / runMs / 1000).toPrecision(2));
    const what = `${flows} ${flows === 1 ? "flow" : "flows"}, ${durationS(ended.resolved)} s simulated`;
    byId("status").textContent = `${what} in ${(runMs / 1000).toFixed(2)} s, ${speed} million packets per second`;
    document.body.dataset["hash"] = ended.counted.state_hash;
    guide.ran(ended.counted.state_hash);
    if (ended.counted.replaced.length > 0) tell(ended.counted.replaced);
    showNumbers(byId("numbers"), ended, pinned);
    showFlows(byId("flow-table"), ended.resolved, ended.counted);
    drawDone();
    document.dispatchEvent(new CustomEvent("drawn"));
    if (pinned !== null && !sameView(pinned.view, ended.view)) runPinned(ended.view);
    // The capacity of the links allowed more segments than the run sent, so that its details can be recorded after all.
    if (ended.counted.detail === undefined && ended.resolved === resolved && recordingOf(resolved, sequence) !== undefined) run();
}

function failed(error: unknown): void {
    busy(false);
    if (error instanceof Cancelled) {
        byId("status").textContent = "Cancelled; the numbers are those of the last completed run";
        drawDone();
        return;
    }
    const words = error instanceof Error ? error.message : String(error);
    byId("status").textContent = "The run failed";
    const defect = error instanceof RunFailed && error.defect;
    tell([defect ? `${words}; a defect of longpipe, please report it with the link of this page` : words]);
    if (done !== null) drawDone();
}

function busy(is: boolean): void {
    byId<HTMLButtonElement>("cancel").disabled = !is;
    byId<HTMLProgressElement>("progress").value = is ? 0 : 1;
    document.body.dataset["state"] = is ? "running" : "ready";
    if (is) byId("status").textContent = "Running…";
}

function drawDone(): void {
    if (done?.counted.picture === undefined) return;
    const behind = pinned?.counted.picture === undefined || !sameView(pinned.view, done.view) ? null : pinned;
    draw(drawn(done.resolved, done.view, done.counted, 1), behind === null ? null : drawn(behind.resolved, behind.view, behind.counted, 1));
    byId("pin").title = pinned === null ? "" : pinnedTitle(pinned, done);
    const flow = (done.resolved.core["flows"] as JsonTable[])[done.view.sequence] as JsonTable;
    const detail = done.counted.detail;
    const missing = detail === undefined ? notRecorded(flow) : null;
    reductions.show(detail?.reductions ?? [], flow, done.view, missing);
    byId("no-rtt").hidden = missing === null;
    byId("no-rtt").textContent = missing;
}

function draw(now: Drawn, behind: Drawn | null): void {
    charts.draw(now, behind, sequence);
}

function sameView(a: View, b: View): boolean {
    return a.from_s === b.from_s && a.to_s === b.to_s;
}

function runPinned(view: View): void {
    const of = pinned;
    if (of === null) return;
    const own: View = { ...of.view, from_s: view.from_s, to_s: view.to_s };
    const detail = recordingOf(of.resolved, own.sequence);
    const { done: over } = workers.pinned.run(recorded(of.resolved, detail), of.seed, own, undefined, detail);
    over.then(({ counted: found }) => {
        if (pinned !== of && pinned?.fields !== of.fields) return;
        pinned = { ...of, counted: found, view: own };
        drawDone();
    }).catch(() => undefined);
}

function zoom(to: [number, number] | null): void {
    if (resolved === null) return;
    const duration = durationS(resolved);
    if (to !== null) {
        const [from, end] = [Math.max(0, to[0]), Math.min(duration, to[1])];
        if (!(end - from >= 1e-6)) {
            tell([`span: ${to[0]} s to ${to[1]} s; needs two times within the run, from 0 s to ${duration} s, in ascending order`]);
            return;
        }
        to = [from, end];
    }
    tell([]);
    span = to;
    showScenario();
    run();
}

function usePreset(name: string): void {
    show({ preset: name }, null);
}

function usePlace({ step, exercise }: Place): void {
    // If there is no step or exercise, the scenario is unchanged and the panel is empty.
    show({ step, exercise }, step === undefined && exercise === undefined ? fields : null);
}

/**
 * Shows a scenario by its origin: a preset, a step of the lesson, or none; `own` are its fields if they were changed.
 */
function show(place: StartingPoint, own: Table | null, entered = true): void {
    const from = startOf(place);
    const next = own ?? from?.fields;
    if (own !== null && place.core !== undefined) keepCore(own, place.core);
    const taken = next !== undefined && take(next, true);
    if (taken) {
        origin = { place, fields: from?.fields ?? null };
        byId("preset-words").textContent = from?.words ?? "";
        guide.show(place);
        if (entered) remember("");
    }
    byId<HTMLSelectElement>("preset").value = origin.place.preset ?? "";
}

/** Performs an action that may fail, and shows the error. */
function guarded(work: () => void): void {
    try {
        work();
    } catch (error) {
        if (!(error instanceof ScenarioError)) throw error;
        tell(error.problems);
    }
}

/** Shows the settings contained in the address; returns whether there are any. */
async function followHash(): Promise<boolean> {
    try {
        const settings = await fromHash(location.hash);
        if (settings === null) {
            // A link to an anchor replaced the settings in the address, so they are written again.
            if (resolved !== null) remember(null);
            return false;
        }
        checkSeed(settings.seed);
        const { seed: saidSeed, fields: own, ...place } = settings;
        seed = saidSeed;
        const isPlaced = Object.values(place).some((part) => part !== undefined);
        show(place, own ?? null, false);
        started = true;
        if (!isPlaced) byId("preset-words").textContent = "A scenario from a link.";
        return true;
    } catch (error) {
        if (!(error instanceof ScenarioError)) throw error;
        tell(error.problems);
        return false;
    }
}

function takeOwn(own: Table, words: string): void {
    show({}, own);
    byId("preset-words").textContent = words;
}

/** Opens a scenario, and before it the modules that it names; modules alone control the present scenario. */
async function openFiles(files: File[]): Promise<void> {
    const isModule = ({ name }: File): boolean => name.endsWith(".wasm");
    const scenario = files.find((file) => !isModule(file));
    const modules = await Promise.all(files.filter(isModule).map(async (file) => ({ name: file.name, content: await file.arrayBuffer() })));
    const text = await scenario?.text();
    try {
        for (const { name, content } of modules) await keepModule(name, new Uint8Array(content));
        if (scenario !== undefined && text !== undefined) {
            const own = fromToml(text, scenario.name);
            const name = scenario.name.replace(/\.[^.]*$/, "");
            takeOwn({ name, ...own }, `From ${scenario.name}.`);
        } else if (modules[0] !== undefined && take(controlledBy(modules[0].name), false)) {
            remember(CONTROL);
        }
    } catch (error) {
        if (!(error instanceof ScenarioError)) throw error;
        tell(error.problems);
    }
}

/** The present fields with a module as congestion control; a new version of the present module keeps its parameters. */
function controlledBy(file: string): Table {
    const found = (fields["tcp"] as Table | undefined)?.["congestion"] as Table | string | undefined;
    const { digest: _, ...kept }: Table = typeof found === "object" && found["file"] === file ? found : { kind: "module", file };
    return changed(fields, CONTROL, kept);
}

function togglePin(): void {
    pinned = pinned === null ? done : null;
    const button = byId<HTMLButtonElement>("pin");
    button.setAttribute("aria-pressed", String(pinned !== null));
    button.textContent = pinned === null ? "Pin this run" : `Unpin ${String(valueOf(pinned.resolved.scenario, "name"))}`;
    if (done !== null) showNumbers(byId("numbers"), done, pinned);
    drawDone();
}

function prepare(): void {
    const groups = new Map<string, HTMLOptGroupElement>();
    for (const preset of DESCRIPTION.presets) {
        const group = groups.get(preset.group) ?? make("optgroup", { label: preset.group });
        groups.set(preset.group, group);
        group.append(make("option", { value: preset.name }, preset.name));
    }
    const select = byId<HTMLSelectElement>("preset");
    select.replaceChildren(make("option", { value: "", disabled: true, hidden: true }, "choose a preset"), ...groups.values());
    select.addEventListener("change", () => guarded(() => usePreset(select.value)));
    const sets = { "window, queue and RTT": "window queue rtt", all: CHARTS.join(" "), ...Object.fromEntries(CHARTS.map((name) => [name, name])) };
    byId("which").replaceChildren(...Object.entries(sets).map(([words, value]) => make("option", { value }, words)));
    byId("version").textContent = `${DESCRIPTION.version}, engine ${DESCRIPTION.engine}`;
    byId("cancel").addEventListener("click", () => running?.cancel());
    byId("pin").addEventListener("click", togglePin);
    byId("whole").addEventListener("click", () => zoom(null));
    for (const id of ["from", "to"]) {
        const ends = (): [number, number] => [Number(byId<HTMLInputElement>("from").value), Number(byId<HTMLInputElement>("to").value)];
        byId(id).addEventListener("change", () => zoom(ends()));
    }
    byId("flow").addEventListener("change", () => {
        sequence = Number(byId<HTMLSelectElement>("flow").value);
        run();
    });
    // On a narrow screen the pictures come before the expanded fields.
    byId<HTMLDetailsElement>("knob-box").open = innerWidth > 900;
    prepareOutputs({
        charts,
        name: () => fileName(resolved === null ? "scenario" : String(valueOf(resolved.scenario, "name"))),
        title: () => (done === null ? { title: "", subtitle: "" } : { ...titleOf(done), pinned: pinned && pinnedTitle(pinned, done) }),
        done: () => done?.counted ?? null,
        fields: () => fields,
        opened: (files) => void openFiles(files),
        // The link contains the whole scenario, so that it means the same in another version of the page.
        settings: () => (resolved?.fixed === true && origin.fields !== null ? { ...origin.place, seed } : { core: origin.place.core, fields, seed }),
    });
    prepareMany(() => {
        if (resolved === null) throw new ScenarioError(["scenario: none; needs one"]);
        return { fields, resolved, seed };
    });
    explainOnHover(byId("tip"));
}

/**
 * For the browser's console: `await longpipe.run(toml, seed)` returns the counters of a run, including its state hash.
 */
async function runText(text: string, of = "1"): Promise<Counted & { metrics: Numbers }> {
    const resolvedText = resolve(fromToml(text, "TOML text"));
    const ended = await runResolved(toJson(resolvedText.core), of);
    return { ...ended, metrics: metricsOf(resolvedText, ended) };
}

/** Runs a scenario that was resolved elsewhere, in the form that `Scenario.resolved_json()` returns in Python. */
async function runResolved(core: string, of = "1"): Promise<Counted> {
    const [ended] = await runAll([{ core, seed: of }], () => undefined, new AbortController().signal);
    if (ended === undefined) throw new Cancelled("cancelled");
    return ended;
}

/** Keeps a WebAssembly module, which scenarios name by `file`. */
async function keep(name: string, content: Uint8Array<ArrayBuffer>): Promise<void> {
    await keepModule(name, content);
}

/** Returns the last completed run for longpipe.lab.jupyter; null before the first. */
function shown(): Record<string, string> | null {
    return done && { toml: toToml(done.fields), seed: done.seed, state_hash: done.counted.state_hash };
}

/** Prepares the page, and shows the scenario of the address, or else the first step of the lesson. */
async function start(): Promise<void> {
    try {
        await prepareEngine();
    } catch (error) {
        tell([`the engine cannot be started here: ${String(error)}`]);
        return;
    }
    Object.assign(globalThis, { longpipe: { run: runText, runResolved, keepModule: keep, shown } });
    prepare();
    if ((await followHash()) || resolved !== null) return;
    const problems = [...byId("problems").childNodes].map((node) => node.textContent ?? "");
    usePlace({ step: 1 });
    if (problems.length > 0) tell(problems);
}

void start();
