/** Settings as entries of the browser's history: a reload keeps them, Back and Undo return to the previous ones. */
import { byId } from "./dom";
import { type Settings, toHash } from "./share";

/**
 * Changes of one field within this time [ms] form one entry, so that moving a slider with the keyboard does not fill
 * the history.
 */
const ONE_STEP_MS = 800;

/** Creates the entries, and calls `restore` when the user returns to one. */
export class Past {
    /** Number of this page's entries before the current one. */
    private before = 0;
    private latest = 0;
    private changedMs = Number.NEGATIVE_INFINITY;
    private changedWhat = "";
    private readonly undo = byId<HTMLButtonElement>("undo");

    constructor(restore: () => void) {
        this.before = beforeNow();
        this.undo.addEventListener("click", () => history.back());
        this.show();
        addEventListener("popstate", () => {
            // Discard an entry that is still being created, because it belongs to the previous settings.
            this.latest++;
            this.changedWhat = "";
            this.before = beforeNow();
            this.show();
            restore();
        });
        document.addEventListener("keydown", (event) => {
            const writes = event.target instanceof HTMLTextAreaElement || (event.target instanceof HTMLInputElement && event.target.type !== "range");
            if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || writes || this.before === 0) return;
            event.preventDefault();
            history.back();
        });
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
        else history.pushState({ before: ++this.before }, "", hash);
        this.show();
    }

    private show(): void {
        this.undo.disabled = this.before === 0;
    }
}

function beforeNow(): number {
    return (history.state as { before?: number } | null)?.before ?? 0;
}
