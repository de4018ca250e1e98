/** "Why was the window reduced?": the window reductions of the visible span, shown in sequence or selected by a click. */
import type { JsonTable } from "../scenario/json";
import { byId } from "./dom";
import type { Reduction, View } from "./protocol";
import { explain } from "./reduction_rules";

/** Maximum distance of a click from a window reduction, as a share of the visible span. */
const NEAR = 0.03;

/** The explanations for one run. */
export class Reductions {
    private reductions: Reduction[] = [];
    private flow = "";
    private tcp: JsonTable = {};
    private missing: string | null = null;
    private span = 1;
    private at = -1;

    constructor() {
        byId("fall-before").addEventListener("click", () => this.tell(this.at - 1));
        byId("fall-next").addEventListener("click", () => this.tell(this.at + 1));
    }

    /** Sets the window reductions of a flow in a finished run; `missing` is the reason if none are recorded. */
    show(reductions: Reduction[], flow: JsonTable, view: View, missing: string | null): void {
        this.reductions = reductions.filter((reduction) => reduction.time_s >= view.from_s && reduction.time_s <= view.to_s);
        [this.flow, this.tcp, this.missing] = [String(flow["name"]), flow["tcp"] as JsonTable, missing];
        [this.span, this.at] = [view.to_s - view.from_s, -1];
        byId("why").textContent = "";
        this.enable();
    }

    /** Explains the window reduction closest to a time [s]. */
    near(instant: number): void {
        const distance = (i: number): number => Math.abs((this.reductions[i] as Reduction).time_s - instant);
        const best = this.reductions.map((_, i) => i).reduce((nearest, i) => (nearest < 0 || distance(i) < distance(nearest) ? i : nearest), -1);
        if (best >= 0 && distance(best) <= NEAR * this.span) this.tell(best);
        else byId("why").textContent = this.missing === null ? `Near ${instant.toFixed(2)} s the window of ${this.flow} does not fall.` : `The reason for a fall ${this.missing}.`;
    }

    private tell(place: number): void {
        const reduction = this.reductions[place];
        if (reduction === undefined) return;
        this.at = place;
        byId("why").textContent = `${place + 1} of ${this.reductions.length}. ${explain(reduction, this.tcp)}`;
        this.enable();
    }

    private enable(): void {
        byId<HTMLButtonElement>("fall-before").disabled = this.at <= 0;
        byId<HTMLButtonElement>("fall-next").disabled = this.at >= this.reductions.length - 1;
    }
}
