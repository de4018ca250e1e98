/** Several runs: confidence intervals over seeds, and heat maps over two knobs. */
import { toJson } from "../scenario/json";
import { ScenarioError } from "../scenario/errors";
import { type Resolved, resolve } from "../scenario/resolve";
import { costOf } from "./cost";
import { byId, fill, make, table } from "./dom";
import { Cancelled, runAll } from "./engine";
import { KNOBS, changed, checkedAt, meant } from "./knobs";
import { METRICS, type Numbers, metricsOf, shownMetrics } from "./metrics";

type Table = Record<string, unknown>;

const SEEDS = 20;
const FACTORIAL_SEEDS = 3;
const MAX_LEVELS = 6;
/** The 97.5 % quantile of Student's t with 19 degrees of freedom. */
const T_19 = 2.093024054408263;
/** Maximum computing time of a request [s]. */
const MAX_SECONDS = 300;

let stop: AbortController | null = null;

/** Connects both boxes to the page; `current` returns the current scenario. */
export function prepareMany(current: () => { fields: Table; resolved: Resolved; seed: string }): void {
    button("seeds", async (signal) => seeds(current().resolved, signal));
    const knobs = KNOBS.filter((knob) => knob.levels.length > 1);
    const options = (chosen: string): HTMLOptionElement[] =>
        knobs.map((knob) => make("option", { value: knob.path, selected: knob.path === chosen }, knob.label));
    const pick = (id: string, label: string, chosen: string): (HTMLElement | string)[] => {
        const select = make("select", { id }, ...options(chosen));
        const levels = make("input", { id: `${id}-levels`, size: 34 });
        levels.setAttribute("aria-label", `Levels of the ${label}`);
        const refill = (): void => {
            fill(levels, knobs.find((knob) => knob.path === select.value)?.levels.join(", ") ?? "");
        };
        select.addEventListener("change", refill);
        refill();
        return [make("label", {}, `${label} `, select), levels];
    };
    const metrics = METRICS.map((metric) => make("option", { value: metric.id, selected: metric.id === "efficiency" }, metric.label));
    byId("factors").replaceChildren(
        ...pick("factor-rows", "rows", "switch.buffer"),
        ...pick("factor-columns", "columns", "tcp.recovery"),
        make("label", {}, "shows ", make("select", { id: "factor-metric" }, ...metrics)),
    );
    button("factorial", async (signal) => factorial(current(), signal));
}

/** A button that starts a computation, and stops it while it is running. */
function button(name: string, work: (signal: AbortSignal) => Promise<void>): void {
    const [press, status] = [byId<HTMLButtonElement>(`${name}-run`), byId(`${name}-status`)];
    const words = press.textContent ?? "";
    press.addEventListener("click", () => {
        if (stop !== null) {
            stop.abort();
            return;
        }
        stop = new AbortController();
        press.textContent = "Stop";
        work(stop.signal)
            .catch((error: unknown) => {
                if (error instanceof Cancelled) status.textContent = "stopped";
                else status.textContent = error instanceof Error ? error.message : String(error);
            })
            .finally(() => {
                stop = null;
                press.textContent = words;
            });
    });
}

async function seeds(resolved: Resolved, signal: AbortSignal): Promise<void> {
    afford([resolved], SEEDS);
    const core = toJson(resolved.core);
    const jobs = Array.from({ length: SEEDS }, (_, i) => ({ core, seed: String(i + 1) }));
    const status = byId("seeds-status");
    const began = performance.now();
    const counted = await runAll(jobs, (over) => (status.textContent = `${over} of ${SEEDS}`), signal);
    const runs = counted.map((run) => metricsOf(resolved, run));
    status.textContent = `seeds 1 to ${SEEDS}, in ${((performance.now() - began) / 1000).toFixed(1)} s`;
    const rows = shownMetrics(runs).map((metric) => {
        const values = runs.map((run) => run[metric.id] as number);
        const [middle, half] = interval(values);
        const label = make("span", { data: { tip: metric.tip }, tabIndex: 0 }, metric.label);
        const range = `${metric.show(Math.min(...values))} – ${metric.show(Math.max(...values))}`;
        return [label, `${metric.show(middle)} ${metric.unit}`, `± ${metric.show(half)}`, range, dots(values, middle, half)];
    });
    const differ = METRICS.some(({ id }) => runs.some((run) => !Object.is(run[id], runs[0]?.[id])));
    const warning = "The runs are identical: nothing that affects them is random. Random start times, for example, depend on the seed.";
    byId("seeds").replaceChildren(...(differ ? [] : [make("p", {}, make("strong", {}, warning))]), table(["", "mean", "95 % interval", "least – most", "each run"], rows));
}

/** Returns the mean, and the half-width of its 95 % confidence interval. */
function interval(values: number[]): [number, number] {
    const first = values[0] as number;
    // Rounding errors would give equal values a spread.
    if (values.every((value) => value === first)) return [first, 0];
    const middle = mean(values);
    const variance = values.reduce((total, value) => total + (value - middle) ** 2, 0) / (values.length - 1);
    return [middle, T_19 * Math.sqrt(variance / values.length)];
}

function mean(values: number[]): number {
    return values.reduce((total, value) => total + value, 0) / values.length;
}

/** Draws each value and the interval; equal values are a dot in the middle, without an interval. */
function dots(values: number[], middle: number, half: number): Node {
    const [low, high] = [Math.min(...values, middle - half), Math.max(...values, middle + half)];
    const at = (value: number): string => (high > low ? 8 + (164 * (value - low)) / (high - low) : 90).toFixed(1);
    const svg = make("span");
    const bar = half === 0 ? "" : `<path d="M${at(middle - half)} 9H${at(middle + half)}" stroke="currentColor" stroke-width="5" opacity=".3"/>`;
    const marks = values.map((value) => `<circle cx="${at(value)}" cy="9" r="2.5" fill="currentColor" opacity=".7"/>`);
    svg.innerHTML = `<svg width="180" height="18" aria-hidden="true">${bar}${marks.join("")}</svg>`;
    return svg;
}

async function factorial({ fields }: { fields: Table }, signal: AbortSignal): Promise<void> {
    const factor = (id: string): { label: string; path: string; levels: string[] } => {
        const path = byId<HTMLSelectElement>(id).value;
        const levels = byId<HTMLInputElement>(`${id}-levels`).value.split(",").map((level) => level.trim());
        const label = KNOBS.find((knob) => knob.path === path)?.label ?? path;
        return { label, path, levels: levels.filter((level) => level !== "") };
    };
    const [rows, columns] = [factor("factor-rows"), factor("factor-columns")];
    for (const { path, levels } of [rows, columns]) {
        if (levels.length === 0 || levels.length > MAX_LEVELS) {
            throw new ScenarioError([`${path}: ${levels.length} levels; needs 1 to ${MAX_LEVELS}, with commas between them`]);
        }
    }
    if (rows.path === columns.path) throw new ScenarioError([`${rows.path}: twice; needs two different knobs`]);
    const points = rows.levels.flatMap((row) => columns.levels.map((column) => at(at(fields, rows.path, row), columns.path, column)));
    const resolved = points.map((point) => resolve(point));
    afford(resolved, FACTORIAL_SEEDS);
    const jobs = resolved.flatMap((scenario) => {
        const core = toJson(scenario.core);
        return Array.from({ length: FACTORIAL_SEEDS }, (_, i) => ({ core, seed: String(i + 1) }));
    });
    const status = byId("factorial-status");
    const counted = await runAll(jobs, (over) => (status.textContent = `${over} of ${jobs.length} runs`), signal);
    const runs = counted.map((run, i) => metricsOf(resolved[Math.floor(i / FACTORIAL_SEEDS)] as Resolved, run));
    const cells = points.map((_, i) => runs.slice(i * FACTORIAL_SEEDS, (i + 1) * FACTORIAL_SEEDS));
    status.textContent = `${jobs.length} runs`;
    heat(rows, columns, cells);
}

function at(fields: Table, path: string, level: string): Table {
    const checked = checkedAt(resolve(fields), path);
    if (checked === null) throw new ScenarioError([`${path}: this network does not have it; needs another knob`]);
    return changed(fields, path, meant(level, checked.field.type));
}

function heat(rows: { label: string; levels: string[] }, columns: { label: string; levels: string[] }, cells: Numbers[][]): void {
    const metric = METRICS.find((candidate) => candidate.id === byId<HTMLSelectElement>("factor-metric").value) ?? METRICS[0];
    if (metric === undefined) return;
    const means = cells.map((runs) => mean(runs.map((run) => run[metric.id] as number)));
    const finite = means.filter((value) => !Number.isNaN(value));
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    const body = rows.levels.map((row, i) => [
        row,
        ...columns.levels.map((_, j) => {
            const value = means[i * columns.levels.length + j] as number;
            const share = high > low ? (value - low) / (high - low) : 0.5;
            const cell = make("td", {}, metric.show(value));
            // The scale ranges from a pale color to a blue on which black text is still legible.
            cell.style.background = `hsl(205 75% ${(95 - 33 * share).toFixed(0)}%)`;
            cell.style.color = "#10151d";
            return cell;
        }),
    ]);
    const caption = `${metric.label}${metric.unit === "" ? "" : ` [${metric.unit}]`} by ${rows.label} (rows) and ${columns.label} (columns)`;
    const shown = table([`${rows.label} \\ ${columns.label}`, ...columns.levels], body, "heat");
    shown.prepend(make("caption", {}, caption));
    byId("factorial").replaceChildren(shown);
}

/** Throws ScenarioError if the runs would take too long. */
function afford(resolved: Resolved[], seedsEach: number): void {
    const seconds = resolved.reduce((total, scenario) => total + costOf(scenario).seconds * seedsEach, 0);
    if (seconds > MAX_SECONDS) {
        const minutes = (seconds / 60).toFixed(0);
        throw new ScenarioError([`duration: ${resolved.length * seedsEach} runs would take about ${minutes} min; needs at most 5 min, so a shorter duration or a lower rate`]);
    }
}
