/** The lab's page in the output of a notebook's cell, which reports its runs to longpipe.lab.jupyter. */

async function render({ model, el }) {
    const page = new Blob([model.get("page")]).stream().pipeThrough(new DecompressionStream("gzip"));
    const address = URL.createObjectURL(new Blob([await new Response(page).arrayBuffer()], { type: "text/html" }));
    const frame = document.createElement("iframe");
    frame.title = "longpipe lab";
    frame.style = `width: 100%; height: ${model.get("height")}px; border: 0`;

    const report = () => {
        const { longpipe, location } = frame.contentWindow;
        const shown = longpipe.shown();
        if (shown === null) return;
        model.set("shown", shown);
        model.set("fragment", location.hash);
        model.save_changes();
    };
    frame.addEventListener("load", () => {
        frame.contentDocument.addEventListener("drawn", report);
        // The first run may have ended before the page was completely loaded.
        report();
    });
    const follow = ({ fragment }) => {
        frame.contentWindow.location.hash = fragment;
    };
    model.on("msg:custom", follow);

    frame.src = address + model.get("fragment");
    el.append(frame);
    return () => {
        model.off("msg:custom", follow);
        URL.revokeObjectURL(address);
    };
}

export default { render };
