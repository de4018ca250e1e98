/** Explanations of terms, which are shown when the pointer or the focus is on them. */

export const TERMS: Record<string, string> = {
    cwnd: "cwnd, the congestion window: the maximum number of unacknowledged bytes that the sender allows itself to have in flight. It doubles per RTT in slow start, grows by one segment per RTT in congestion avoidance, and shrinks after a loss. Slow start ends at ssthresh.",
    queue: "The queue of a switch's output port, including the cell (ATM) or packet (IP) in service. A full buffer drops arrivals; a policy such as EPD drops whole packets earlier.",
    rtt: "Round-trip time: the time from sending a segment to the first acknowledgement that covers it, excluding retransmitted segments. It is the delay of the links plus the queueing delay.",
    throughput: "Rate at which data reach the receivers. Duplicates are not counted.",
    sequence: "Sequence numbers of the segments that one flow sent, over time. The slope is the sending rate. ACKs follow one RTT later; the data between the two lines are in flight.",
    hash: "A hash of the final state of all senders, receivers and ports. The command line prints the same hash for the same scenario and seed, because the runs are bit-identical.",
    seed: "Seed of all random streams: order of simultaneous packets, timer phases, start times, losses. The same seed gives the same run.",
};

let place: HTMLElement | null = null;

/** Shows the explanation of the element under the pointer or with the focus; Escape hides it. */
export function explainOnHover(tip: HTMLElement): void {
    const show = (event: Event): void => {
        const target = (event.target as Element).closest<HTMLElement>("[data-term], [data-tip]");
        if (target === null) return;
        const words = target.dataset["tip"] ?? TERMS[target.dataset["term"] ?? ""];
        if (words === undefined || words === "") return;
        place = target;
        tip.textContent = words;
        tip.hidden = false;
        const [at, size] = [target.getBoundingClientRect(), tip.getBoundingClientRect()];
        tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
        tip.style.top = `${at.bottom + size.height + 10 < innerHeight ? at.bottom + 6 : Math.max(4, at.top - size.height - 6)}px`;
        target.setAttribute("aria-describedby", "tip");
    };
    const hide = (): void => {
        place?.removeAttribute("aria-describedby");
        place = null;
        tip.hidden = true;
    };
    for (const name of ["pointerover", "focusin"]) document.addEventListener(name, show);
    for (const name of ["pointerout", "focusout"]) document.addEventListener(name, hide);
    document.addEventListener("keydown", (event) => {
        if (event.key === "Escape") hide();
    });
    for (const target of document.querySelectorAll<HTMLElement>("[data-term]")) target.tabIndex = 0;
}
