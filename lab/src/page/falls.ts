/** "Why did the window fall?": the falls of the visible span, one after the other or by a click. */
import type { JsonTable } from "../scenario/core";
import { byId } from "./dom";
import type { Fall, View } from "./protocol";
import { explain } from "./why";

/** Distance within which a click means a fall, as a share of the visible span. */
const NEAR = 0.03;

/** The explanations of one run. */
export class Falls {
    private falls: Fall[] = [];
    private tcp: JsonTable = {};
    private span = 1;
    private at = -1;

    constructor() {
        byId("fall-before").addEventListener("click", () => this.tell(this.at - 1));
        byId("fall-next").addEventListener("click", () => this.tell(this.at + 1));
    }

    /** Takes the falls of a finished run, of a flow with this TCP; `tcp` is undefined for datagrams. */
    show(falls: Fall[], tcp: JsonTable | undefined, view: View): void {
        this.falls = falls.filter((fall) => fall.time_s >= view.from_s && fall.time_s <= view.to_s);
        [this.tcp, this.span, this.at] = [tcp ?? {}, view.to_s - view.from_s, -1];
        byId("why").textContent = "";
        this.enable();
    }

    /** Explains the fall next to an instant [s]. */
    near(instant: number): void {
        const distance = (i: number): number => Math.abs((this.falls[i] as Fall).time_s - instant);
        const best = this.falls.map((_, i) => i).reduce((nearest, i) => (nearest < 0 || distance(i) < distance(nearest) ? i : nearest), -1);
        if (best >= 0 && distance(best) <= NEAR * this.span) this.tell(best);
        else byId("why").textContent = `Near ${instant.toFixed(2)} s the window does not fall.`;
    }

    private tell(place: number): void {
        const fall = this.falls[place];
        if (fall === undefined) return;
        this.at = place;
        byId("why").textContent = `${place + 1} of ${this.falls.length}. ${explain(fall, this.tcp)}`;
        this.enable();
    }

    private enable(): void {
        byId<HTMLButtonElement>("fall-before").disabled = this.at <= 0;
        byId<HTMLButtonElement>("fall-next").disabled = this.at >= this.falls.length - 1;
    }
}
