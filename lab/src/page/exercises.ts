/** The check of an exercise: the engine runs all choices and finds the correct one. */
import { toJson } from "../scenario/json";
import { ScenarioError } from "../scenario/errors";
import { type Resolved, resolve } from "../scenario/resolve";
import { DESCRIPTION, type Exercise } from "../scenario/model";
import { runAll } from "./engine";
import { changed, checkedAt, written } from "./knobs";
import { metricsOf, throughputs } from "./metrics";
import type { Counted } from "./protocol";

type Table = Record<string, unknown>;

/** A measure of a run. */
interface Measure {
    name(exercise: Exercise): string;
    of(resolved: Resolved, run: Counted, exercise: Exercise): number;
    show(value: number): string;
}

/** The result of a check. `measured` contains the value of each choice. */
export interface Verdict {
    right: boolean;
    words: string;
    measured: number[];
}

const fixed = (digits: number) => (value: number) => value.toFixed(digits);

export const MEASURES: Record<Exercise["measure"], Measure> = {
    efficiency: { name: () => "efficiency", of: (resolved, run) => metricsOf(resolved, run)["efficiency"] as number, show: fixed(3) },
    timeouts: { name: () => "timeouts", of: (resolved, run) => metricsOf(resolved, run)["timeouts"] as number, show: fixed(0) },
    share: {
        name: ({ flow }) => `share of ${flow ?? ""}`,
        of: (resolved, run, { flow }) => {
            const rates = throughputs(resolved, run);
            return (rates[resolved.flows.indexOf(flow ?? "")] as number) / rates.reduce((total, rate) => total + rate, 0);
        },
        show: (value) => `${(100 * value).toFixed(1)} %`,
    },
};

export const EXERCISES = DESCRIPTION.exercises;

/** Returns the choice that a scenario contains; -1 for any other value. */
export function chosen(exercise: Exercise, fields: Table): number {
    let value: unknown = fields;
    for (const name of exercise.field.split(".")) value = (value as Table | undefined)?.[name];
    return exercise.choices.findIndex((choice) => text(choice.value) === text(value));
}

/** Returns the JSON of a value; integers that were read from TOML are bigints. */
function text(value: unknown): string | undefined {
    return JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? Number(one) : one));
}

/** Returns the explanation of the correct answer in a scenario. */
export function whyOf({ why }: Exercise, fields: Table): string {
    return typeof why === "string" ? why : (why[written(checkedAt(resolve(fields), "tcp.recovery")?.value)] ?? "");
}

/**
 * Runs the scenario with each choice and checks the current one. Throws ScenarioError if it is not one of the choices.
 */
export async function check(exercise: Exercise, fields: Table, seed: string, signal: AbortSignal): Promise<Verdict> {
    const own = chosen(exercise, fields);
    if (own < 0) throw new ScenarioError([`${exercise.field}: not one of the choices; needs a value from the menu ${exercise.label}`]);
    const all = exercise.choices.map((choice) => resolve(changed(fields, exercise.field, choice.value)));
    const runs = await runAll(all.map((choice) => ({ core: toJson(choice.core), seed })), () => undefined, signal);
    return judge(exercise, own, runs.map((run, i) => MEASURES[exercise.measure].of(all[i] as Resolved, run, exercise)));
}

/** Checks a choice against the measured value of each choice. */
export function judge(exercise: Exercise, own: number, measured: number[]): Verdict {
    const { choices, least, most, wanted } = exercise;
    const { show } = MEASURES[exercise.measure];
    const name = MEASURES[exercise.measure].name(exercise);
    const meets = measured.map((value) => value >= (least ?? -Infinity) && value <= (most ?? Infinity));
    const right = wanted === "smallest" ? meets.indexOf(true) : meets.lastIndexOf(true);
    const measuredText = `${choices[own]?.words ?? ""}: ${name} ${show(measured[own] as number)}`;
    const bound = least !== undefined ? `at least ${show(least)}` : `at most ${show(most ?? 0)}`;
    if (right < 0) return { right: false, words: `With these settings no choice has ${name} of ${bound}.`, measured };
    if (own === right) return { right: true, words: `Right. ${measuredText}.`, measured };
    if (!meets[own]) return { right: false, words: `${measuredText}; needs ${bound}. Try a ${wanted === "smallest" ? "larger" : "smaller"} one.`, measured };
    return { right: false, words: `${measuredText}, which is ${bound}. But a ${wanted === "smallest" ? "smaller" : "larger"} one suffices, too.`, measured };
}
