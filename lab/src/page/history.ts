/** Settings as entries of the browser's history: a reload keeps them, Back and Undo return to the previous ones. */
import { byId, isEdited } from "./dom";
import { type Settings, toHash } from "./share";

/**
 * Changes of one field within this time [ms] form one entry, so that moving a slider with the keyboard does not fill
 * the history.
 */
const ONE_STEP_MS = 800;

/** Creates the entries, and calls `restore` when the user returns to one. */
export class SettingsHistory {
    /** Number of this page's entries before the current one, and before the last one, to which Redo can return. */
    private before = 0;
    private last = 0;
    /** Whether the browser is on its way to another entry. */
    private moving = false;
    private latest = 0;
    private changedMs = Number.NEGATIVE_INFINITY;
    private changedWhat = "";
    private readonly undo = byId<HTMLButtonElement>("undo");

    constructor(restore: () => void) {
        this.last = this.before = beforeNow();
        this.undo.addEventListener("click", () => this.move(-1));
        this.show();
        addEventListener("popstate", () => {
            // Discard an entry that is still being created, because it belongs to the previous settings.
            this.latest++;
            this.changedWhat = "";
            this.moving = false;
            this.before = beforeNow();
            this.show();
            restore();
        });
        document.addEventListener("keydown", (event) => {
            const key = event.key.toLowerCase();
            const undoes = key === "z" && !event.shiftKey;
            const redoes = (key === "z" && event.shiftKey) || (key === "y" && event.ctrlKey);
            // A text that was not applied yet has the browser's own undo.
            if (!(undoes || redoes) || !(event.ctrlKey || event.metaKey) || event.altKey || isEdited(event.target)) return;
            if (redoes && this.before >= this.last) return;
            event.preventDefault();
            this.move(undoes ? -1 : 1);
        });
    }

    /** Goes to the previous or the next entry, never to another page's. */
    private move(by: 1 | -1): void {
        const to = this.before + by;
        if (this.moving || to < 0 || to > this.last) return;
        this.moving = true;
        history.go(by);
    }

    /**
     * Adds an entry with the settings after a change of the field `what`, or of all fields (""); without a change
     * (null), the present entry is updated.
     */
    async enter(settings: Settings, what: string | null): Promise<void> {
        const mine = ++this.latest;
        const hash = await toHash(settings);
        if (mine !== this.latest || hash === location.hash) return;
        const now = performance.now();
        const again = what === null || (what !== "" && what === this.changedWhat && now - this.changedMs < ONE_STEP_MS);
        [this.changedMs, this.changedWhat] = [now, what ?? ""];
        if (again) history.replaceState({ before: this.before }, "", hash);
        else history.pushState({ before: (this.last = ++this.before) }, "", hash);
        this.show();
    }

    private show(): void {
        this.undo.disabled = this.before === 0;
    }
}

function beforeNow(): number {
    return (history.state as { before?: number } | null)?.before ?? 0;
}
