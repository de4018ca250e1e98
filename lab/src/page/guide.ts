/**
 * The panel of the lesson and the exercises: a hint on what to observe, and the answer to an exercise, which the engine
 * checks.
 */
import { byId, make, table } from "./dom";
import { Cancelled } from "./engine";
import { EXERCISES, type Exercise, check, chosen, whyOf } from "./exercises";
import { changed } from "./knobs";
import { LESSON } from "./lesson";

type Table = Record<string, unknown>;

/** A position in the lesson: a step or an exercise, counted from 1. */
export interface Place {
    step?: number | undefined;
    exercise?: number | undefined;
}

/** Parts of the page that the panel uses. */
interface Page {
    go(place: Place): void;
    set(fields: Table, what: string): void;
    now(): { fields: Table; seed: string };
}

const PLACES: Place[] = [...LESSON.map((_, i) => ({ step: i + 1 })), ...EXERCISES.map((_, i) => ({ exercise: i + 1 }))];

/** The panel, which shows one step or exercise, or the list of all of them. */
export class Guide {
    private place = -1;
    private checking: AbortController | null = null;
    private readonly menu = byId<HTMLSelectElement>("lesson-menu");

    constructor(private readonly page: Page) {
        const options = (of: { title: string }[], name: string, from: number): HTMLElement =>
            make("optgroup", { label: name === "Step" ? "Lesson" : "Exercises" }, ...of.map(({ title }, i) => make("option", { value: String(from + i) }, `${name} ${i + 1}: ${title}`)));
        this.menu.replaceChildren(
            make("option", { value: "-1" }, "Lesson: choose a step or an exercise"),
            options(LESSON, "Step", 0),
            options(EXERCISES, "Exercise", LESSON.length),
        );
        this.menu.addEventListener("change", () => {
            page.go(PLACES[Number(this.menu.value)] ?? {});
        });
        byId("lesson-before").addEventListener("click", () => page.go(PLACES[this.place - 1] as Place));
        byId("lesson-next").addEventListener("click", () => page.go(PLACES[this.place + 1] as Place));
        this.show({});
    }

    /** Shows a step or exercise; without an argument, it shows nothing. */
    show(place: Place): void {
        this.place = PLACES.findIndex((one) => one.step === place.step && one.exercise === place.exercise);
        this.menu.value = String(this.place);
        byId<HTMLButtonElement>("lesson-before").disabled = this.place <= 0;
        byId<HTMLButtonElement>("lesson-next").disabled = this.place === PLACES.length - 1;
        const box = byId<HTMLDetailsElement>("lesson-box");
        box.hidden = this.place < 0;
        if (place.step !== undefined) {
            const step = LESSON[place.step - 1];
            if (step === undefined) return;
            const heading = make("summary", {}, make("h2", {}, `${place.step}. ${step.title}`));
            box.replaceChildren(heading, make("p", {}, step.text), make("p", {}, make("b", {}, "Look: "), step.look));
        } else if (place.exercise !== undefined) {
            const exercise = EXERCISES[place.exercise - 1];
            if (exercise !== undefined) this.showExercise(exercise, place.exercise);
        }
        box.open = true;
        this.changed();
    }

    /** Updates the answer after a change of the scenario, and cancels the check of the previous one. */
    changed(): void {
        this.checking?.abort();
        this.checking = null;
        const exercise = EXERCISES[(PLACES[this.place]?.exercise ?? 0) - 1];
        if (exercise === undefined) return;
        byId<HTMLSelectElement>("answer").value = String(chosen(exercise, this.page.now().fields));
        byId("verdict").replaceChildren();
    }

    private showExercise(exercise: Exercise, number: number): void {
        const answer = make("select", { id: "answer" }, make("option", { value: "-1", disabled: true, hidden: true }, "another value"));
        answer.append(...exercise.choices.map(({ words }, i) => make("option", { value: String(i) }, words)));
        answer.addEventListener("change", () => {
            const choice = exercise.choices[Number(answer.value)];
            if (choice !== undefined) this.page.set(changed(this.page.now().fields, exercise.path, choice.value), exercise.path);
        });
        const press = make("button", { type: "button", id: "check" }, "Check my answer");
        press.addEventListener("click", () => void this.check(exercise));
        const verdict = make("div", { id: "verdict" });
        verdict.setAttribute("role", "status");
        byId("lesson-box").replaceChildren(
            make("summary", {}, make("h2", {}, `Exercise ${number}. ${exercise.title}`)),
            make("p", {}, exercise.text),
            make("p", {}, make("b", {}, "Task: "), exercise.task),
            make("div", { className: "row" }, make("label", { htmlFor: "answer" }, exercise.label), answer, press),
            verdict,
            make("p", {}, make("b", {}, "Look: "), exercise.look),
        );
    }

    private async check(exercise: Exercise): Promise<void> {
        this.checking?.abort();
        const mine = new AbortController();
        this.checking = mine;
        const place = byId("verdict");
        tell(place, make("span", {}, `Running ${exercise.choices.length} choices…`));
        try {
            const { fields, seed } = this.page.now();
            const found = await check(exercise, fields, seed, mine.signal);
            if (this.checking !== mine) return;
            tell(place, make("p", { className: found.right ? "right" : "wrong" }, found.words));
            if (!found.right) return;
            const rows = exercise.choices.map(({ words }, i) => [words, exercise.measure.show(found.measured[i] as number)]);
            const all = make("details", {}, make("summary", {}, "All choices"), table([exercise.label, exercise.measure.name], rows));
            place.append(make("p", {}, whyOf(exercise, fields)), all);
        } catch (error) {
            if (error instanceof Cancelled || this.checking !== mine) return;
            if (!(error instanceof Error)) throw error;
            tell(place, make("p", { className: "wrong" }, error.message));
        } finally {
            if (this.checking === mine) this.checking = null;
        }
    }
}

/** Shows one element in a place, and scrolls it into view: on a phone, the text of an exercise is longer than its box. */
function tell(place: HTMLElement, said: HTMLElement): void {
    place.replaceChildren(said);
    said.scrollIntoView({ block: "nearest" });
}
