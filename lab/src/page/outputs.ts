/** Inputs and outputs of the page: files, links, pictures. */
import { toToml } from "../scenario/toml";
import type { Charts } from "./charts";
import { byId } from "./dom";
import { type Title, pngOf, svgOf } from "./figure";
import { csv, save } from "./files";
import type { ChartName } from "./models";
import type { Counted } from "./protocol";
import { type Settings, toHash } from "./share";

/** Current data for the outputs. */
export interface Outputs {
    charts: Charts;
    name(): string;
    title(): Title;
    done(): Counted | null;
    fields(): Record<string, unknown>;
    settings(): Settings;
    opened(files: File[]): void;
}

/** Connects the buttons. */
export function prepareOutputs(of: Outputs): void {
    const file = byId<HTMLInputElement>("file");
    byId("open").addEventListener("click", () => file.click());
    for (const input of [file, byId<HTMLInputElement>("module-file")]) {
        input.addEventListener("change", () => {
            of.opened([...(input.files ?? [])]);
            input.value = "";
        });
    }
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
    // Without permission to copy, the link is still in the address bar.
    const copied = await navigator.clipboard?.writeText(location.href).then(
        () => true,
        () => false,
    );
    byId("status").textContent = copied === true ? "The link is copied" : "The link is in the address bar";
}

async function picture(of: Outputs, as: "png" | "svg"): Promise<void> {
    const which = byId<HTMLSelectElement>("which").value;
    const printed = of.charts.printed();
    if (printed === null) return;
    // Empty pictures, such as the RTTs of a run that does not record them, are omitted.
    const charts = (which.split(" ") as ChartName[]).map((name) => printed.charts[name]).filter((chart) => chart.lines.length > 0);
    if (charts.length === 0) {
        byId("status").textContent = `No file: the picture of ${which} is empty`;
        return;
    }
    const svg = svgOf(charts, printed.view, of.title());
    const content = as === "png" ? await pngOf(svg) : new Blob([svg.text], { type: "image/svg+xml" });
    save(`${of.name()}-${which.replaceAll(" ", "-")}.${as}`, content);
}
