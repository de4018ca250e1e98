/** A table of a run's metrics, next to those of a pinned run, and a table of its flows. */
import type { Resolved } from "../scenario/resolve";
import { make, table } from "./dom";
import { metricsOf, numbers, shownMetrics, throughputs } from "./metrics";
import type { Counted } from "./protocol";

const MAX_ROWS = 100;

interface Run {
    resolved: Resolved;
    counted: Counted;
}

/** Shows the metrics and the state hash. */
export function showNumbers(place: HTMLElement, now: Run, pinned: Run | null): void {
    const values = metricsOf(now.resolved, now.counted);
    const before = pinned === null ? null : metricsOf(pinned.resolved, pinned.counted);
    const cards = shownMetrics(before === null ? [values] : [values, before]).map((metric) => {
        const shown = make("dd", { id: `metric-${metric.id}` }, `${metric.show(values[metric.id] as number)} ${metric.unit}`.trim());
        if (before !== null) {
            shown.append(make("span", { className: "was" }, `pinned ${metric.show(before[metric.id] as number)}`));
        }
        const label = make("span", { data: { tip: metric.tip }, tabIndex: 0 }, metric.label);
        return make("div", {}, make("dt", {}, label), shown);
    });
    const label = make("span", { data: { term: "hash" }, tabIndex: 0 }, "state hash");
    const hash = make("dd", { className: "hash", id: "hash" }, now.counted.state_hash);
    cards.push(make("div", {}, make("dt", {}, label), hash));
    place.replaceChildren(make("dl", { className: "cards" }, ...cards));
}

/** Shows each flow in a row. */
export function showFlows(place: HTMLElement, resolved: Resolved, run: Counted): void {
    const names = resolved.flows;
    const rates = throughputs(resolved, run);
    const total = rates.reduce((sum, rate) => sum + rate, 0);
    const columns = ["sent_segments", "retransmitted_segments", "timeouts", "fast_retransmits"].map((name) =>
        numbers(run, "flows", name),
    );
    const ends = numbers(run, "flows", "completion_s");
    const rows = names.slice(0, MAX_ROWS).map((name, i) => {
        const rate = rates[i] as number;
        const end = ends[i] as number;
        return [
            name,
            (rate / 1e6).toFixed(3),
            total > 0 ? `${((100 * rate) / total).toFixed(1)} %` : "–",
            ...columns.map((column) => String(column[i])),
            Number.isNaN(end) ? "–" : end.toFixed(3),
        ];
    });
    const head = ["flow", "throughput [Mbit/s]", "share", "segments sent", "resent", "timeouts", "fast retransmits", "complete [s]"];
    place.replaceChildren(table(head, rows));
    if (names.length > MAX_ROWS) place.append(make("p", {}, `${MAX_ROWS} of ${names.length} flows; the CSV has all`));
}
