/** Scenarios to start from: presets, steps of the lesson, and exercises. */
import { nearest } from "../../build/engine/engine";
import { ScenarioError, repr } from "../scenario/errors";
import { DESCRIPTION } from "../scenario/model";
import { EXERCISES } from "./exercises";
import { LESSON } from "./lesson";
import type { Settings } from "./share";

type Table = Record<string, unknown>;

/** Starting point of a scenario: a preset, a step of the lesson, or an exercise. */
export type StartingPoint = Omit<Settings, "seed" | "fields">;

/** Returns fields and description of a starting point; null without one. Throws ScenarioError if it does not exist. */
export function startOf({ preset, step, exercise }: StartingPoint): { fields: Table; words: string } | null {
    if (step !== undefined) return stepOf(step);
    if (exercise !== undefined) return exerciseOf(exercise);
    return preset === undefined ? null : presetOf(preset);
}

function presetOf(name: string): { fields: Table; words: string } {
    const preset = DESCRIPTION.presets.find((candidate) => candidate.name === name);
    if (preset !== undefined) return preset;
    throw new ScenarioError([`preset: ${repr(name)}; ${nearest(name, DESCRIPTION.presets.map((candidate) => candidate.name))}`]);
}

function stepOf(number: number): { fields: Table; words: string } {
    const step = LESSON[number - 1];
    if (step === undefined) throw new ScenarioError([`step: ${number}; needs 1 to ${LESSON.length}`]);
    return { fields: step.fields, words: `Step ${number} of the lesson.` };
}

function exerciseOf(number: number): { fields: Table; words: string } {
    const exercise = EXERCISES[number - 1];
    if (exercise === undefined) throw new ScenarioError([`exercise: ${number}; needs 1 to ${EXERCISES.length}`]);
    return { fields: exercise.scenario, words: `Exercise ${number}.` };
}
