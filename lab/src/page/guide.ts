/**
 * The panel of the lesson and the exercises: a hint on what to observe, and the answer to an exercise, which the engine
 * checks.
 */
import type { Exercise } from "../scenario/model";
import { byId, make, table } from "./dom";
import { Cancelled } from "./engine";
import { EXERCISES, MEASURES, check, chosen, whyOf } from "./exercises";
import { changed as withValue } from "./knobs";
import { LESSON } from "./lesson";

type Table = Record<string, unknown>;

/** A position in the lesson: a step or an exercise, counted from 1. */
export interface Place {
    step?: number | undefined;
    exercise?: number | undefined;
    /** Whether the answer of the exercise is handed in instead of checked. */
    homework?: boolean | undefined;
}

/** Number of digits of the state hash in a hand-in code, as in python/longpipe/homework.py. */
const HASH_DIGITS = 10;

/** Parts of the page that the panel uses. */
interface Page {
    go(place: Place): void;
    set(fields: Table, what: string): void;
    now(): { fields: Table; seed: string };
}

/** All positions, in the order of the menu. */
const PLACES: Place[] = [...LESSON.map((_, i) => ({ step: i + 1 })), ...EXERCISES.map((_, i) => ({ exercise: i + 1 }))];

/** The panel, which shows one step or exercise, or the list of all of them. */
export class Guide {
    /** Index of the shown position in `PLACES`; -1 if none is shown. */
    private current = -1;
    /** Cancels the check in progress; null if there is none. */
    private checking: AbortController | null = null;
    private readonly menu = byId<HTMLSelectElement>("lesson-menu");

    constructor(private readonly page: Page) {
        const options = (parts: { title: string }[], name: string, from: number): HTMLElement =>
            make("optgroup", { label: name === "Step" ? "Lesson" : "Exercises" }, ...parts.map(({ title }, i) => make("option", { value: String(from + i) }, `${name} ${i + 1}: ${title}`)));
        this.menu.replaceChildren(
            make("option", { value: "-1" }, "Lesson: choose a step or an exercise"),
            options(LESSON, "Step", 0),
            options(EXERCISES, "Exercise", LESSON.length),
        );
        this.menu.addEventListener("change", () => {
            page.go(PLACES[Number(this.menu.value)] ?? {});
        });
        byId("lesson-before").addEventListener("click", () => page.go(PLACES[this.current - 1] as Place));
        byId("lesson-next").addEventListener("click", () => page.go(PLACES[this.current + 1] as Place));
        this.show({});
    }

    /** Shows a step or exercise; without an argument, it shows nothing. */
    show(place: Place): void {
        this.current = PLACES.findIndex(({ step, exercise }) => step === place.step && exercise === place.exercise);
        this.menu.value = String(this.current);
        byId<HTMLButtonElement>("lesson-before").disabled = this.current <= 0;
        byId<HTMLButtonElement>("lesson-next").disabled = this.current === PLACES.length - 1;
        const box = byId<HTMLDetailsElement>("lesson-box");
        box.hidden = this.current < 0;
        if (place.step !== undefined) {
            const step = LESSON[place.step - 1];
            if (step === undefined) return;
            const heading = make("summary", {}, make("h2", {}, `${place.step}. ${step.title}`));
            box.replaceChildren(heading, make("p", {}, step.text), make("p", {}, make("b", {}, "Look: "), step.look));
        } else if (place.exercise !== undefined) {
            const exercise = EXERCISES[place.exercise - 1];
            if (exercise !== undefined) this.showExercise(exercise, place.exercise, place.homework === true);
        }
        // On a phone, a step would cover half of the pictures; an exercise is opened, because it has controls.
        box.open = place.exercise !== undefined || !matchMedia("(max-width: 900px)").matches;
        this.changed();
    }

    /** Updates the answer after a change of the scenario, and cancels the check of the previous one. */
    changed(): void {
        this.checking?.abort();
        this.checking = null;
        const exercise = EXERCISES[(PLACES[this.current]?.exercise ?? 0) - 1];
        if (exercise === undefined) return;
        byId<HTMLSelectElement>("answer").value = String(chosen(exercise, this.page.now().fields));
        byId("verdict").replaceChildren();
        this.showCode(exercise, null);
    }

    /** Updates the hand-in code of homework after a run with this state hash. */
    ran(hash: string): void {
        const exercise = EXERCISES[(PLACES[this.current]?.exercise ?? 0) - 1];
        if (exercise !== undefined) this.showCode(exercise, hash);
    }

    /** Shows the hand-in code: the number of the choice, and the first digits of the state hash of its run. */
    private showCode(exercise: Exercise, hash: string | null): void {
        const output = document.getElementById("hand-in");
        if (output === null) return;
        const choice = chosen(exercise, this.page.now().fields);
        const code = hash === null ? "…" : `${choice + 1}-${hash.slice(0, HASH_DIGITS)}`;
        output.textContent = choice < 0 ? `none: choose one of the values of ${exercise.label}` : code;
    }

    /** Shows an exercise with the choices of its answer. */
    private showExercise(exercise: Exercise, number: number, homework: boolean): void {
        const answer = make("select", { id: "answer" }, make("option", { value: "-1", disabled: true, hidden: true }, "another value"));
        answer.append(...exercise.choices.map(({ words }, i) => make("option", { value: String(i) }, words)));
        answer.addEventListener("change", () => {
            const choice = exercise.choices[Number(answer.value)];
            if (choice !== undefined) this.page.set(withValue(this.page.now().fields, exercise.field, choice.value), exercise.field);
        });
        const press = make("button", { type: "button", id: "check" }, "Check my answer");
        press.addEventListener("click", () => void this.check(exercise));
        const verdict = make("div", { id: "verdict" });
        verdict.setAttribute("role", "status");
        const code = make("p", {}, make("b", {}, "Hand in: "), make("output", { id: "hand-in" }));
        byId("lesson-box").replaceChildren(
            make("summary", {}, make("h2", {}, `Exercise ${number}. ${exercise.title}`)),
            make("p", {}, exercise.text, ...(homework ? [" ", make("b", {}, "Your settings differ from those in this text; the form shows them.")] : [])),
            make("p", {}, make("b", {}, "Task: "), exercise.task),
            make("div", { className: "row" }, make("label", { htmlFor: "answer" }, exercise.label), answer, ...(homework ? [] : [press])),
            ...(homework ? [code] : []),
            verdict,
            make("p", {}, make("b", {}, "Look: "), exercise.look),
        );
    }

    /** Runs all choices of an exercise and shows the verdict, unless another check begins in the meantime. */
    private async check(exercise: Exercise): Promise<void> {
        this.checking?.abort();
        const controller = new AbortController();
        this.checking = controller;
        const verdict = byId("verdict");
        showIn(verdict, make("span", {}, `Running ${exercise.choices.length} choices…`));
        try {
            const { fields, seed } = this.page.now();
            const result = await check(exercise, fields, seed, controller.signal);
            if (this.checking !== controller) return;
            showIn(verdict, make("p", { className: result.right ? "right" : "wrong" }, result.words));
            if (!result.right) return;
            const rows = exercise.choices.map(({ words }, i) => [words, MEASURES[exercise.measure].show(result.measured[i] as number)]);
            const all = make("details", {}, make("summary", {}, "All choices"), table([exercise.label, MEASURES[exercise.measure].name(exercise)], rows));
            verdict.append(make("p", {}, whyOf(exercise, fields)), all);
        } catch (error) {
            if (error instanceof Cancelled || this.checking !== controller) return;
            if (!(error instanceof Error)) throw error;
            showIn(verdict, make("p", { className: "wrong" }, error.message));
        } finally {
            if (this.checking === controller) this.checking = null;
        }
    }
}

/** Shows an element in a box, and scrolls it into view, because on a phone an exercise is longer than its box. */
function showIn(box: HTMLElement, element: HTMLElement): void {
    box.replaceChildren(element);
    element.scrollIntoView({ block: "nearest" });
}
