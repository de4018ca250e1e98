/** Inputs and outputs of the page: files, links, pictures. */
import { toToml } from "../scenario/toml";
import { type ChartName, type Charts, colour } from "./charts";
import { byId } from "./dom";
import { csv, png, save, svg } from "./files";
import type { Counted } from "./protocol";
import { type Settings, toHash } from "./share";

/** Current data for the outputs. */
export interface Outputs {
    charts: Charts;
    name(): string;
    done(): Counted | null;
    fields(): Record<string, unknown>;
    settings(): Settings;
    opened(file: File): void;
}

/** Connects the buttons. */
export function prepareOutputs(of: Outputs): void {
    const file = byId<HTMLInputElement>("file");
    byId("open").addEventListener("click", () => file.click());
    file.addEventListener("change", () => {
        const chosen = file.files?.[0];
        if (chosen !== undefined) of.opened(chosen);
        file.value = "";
    });
    byId("toml").addEventListener("click", () => {
        save(`${of.name()}.toml`, new Blob([toToml(of.fields())], { type: "application/toml" }));
    });
    byId("share").addEventListener("click", () => void share(of));
    for (const [id, part] of [["csv", "flows"], ["csv-ports", "ports"]] as const) {
        byId(id).addEventListener("click", () => {
            const counted = of.done();
            if (counted !== null) save(`${of.name()}-${part}.csv`, csv(counted[part]));
        });
    }
    byId("png").addEventListener("click", () => void picture(of, "png"));
    byId("svg").addEventListener("click", () => void picture(of, "svg"));
}

async function share(of: Outputs): Promise<void> {
    history.replaceState(history.state, "", await toHash(of.settings()));
    // Without permission to copy, the address bar still shows the link.
    const copied = await navigator.clipboard?.writeText(location.href).then(
        () => true,
        () => false,
    );
    byId("status").textContent = copied === true ? "The link is copied" : "The link is in the address bar";
}

async function picture(of: Outputs, as: "png" | "svg"): Promise<void> {
    const name = byId<HTMLSelectElement>("which").value as ChartName;
    const [plot, canvas] = [of.charts.shown(name), of.charts.canvas(name)];
    if (plot === null || canvas === null) return;
    const content = as === "png" ? await png(canvas, colour("--paper")) : svg(plot, of.charts.marks(name));
    save(`${of.name()}-${name}.${as}`, content);
}
