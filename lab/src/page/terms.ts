/** What terms mean, one hover or focus away. */

export const TERMS: Record<string, string> = {
    cwnd: "cwnd, the congestion window: how many bytes a sender may have on the way without an ACK, by its own caution. It doubles each round trip in slow start, grows by a segment each round trip in congestion avoidance, and shrinks at a loss. ssthresh is where slow start ends.",
    queue: "What waits at a switch's output port, the one in service included: cells with ATM, packets with IP. A full buffer loses what comes next; a policy such as EPD refuses whole packets before.",
    throughput: "Data that reached the receivers per second, when they came. What came twice counts once.",
    sequence: "The byte numbers of what one flow sent, over time: its slope is the rate. Acknowledgements follow a round trip later; between the two lines lies what is on the way.",
    hash: "A number made of the final state of every sender, receiver and port. The command line prints the same for the same scenario and seed: every bit of the run is equal.",
    seed: "Where every random stream begins: order of ties, phases of clocks, random starts, losses. The same seed gives the same run.",
};

let place: HTMLElement | null = null;

/** Shows the words of whatever is under the pointer or has the focus; Escape hides them. */
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
