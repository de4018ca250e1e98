// The page as one file: the compressed engine, the worker, and the page's script and style, all inlined.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const PAGE = new URL("../python/longpipe/lab/page.html", import.meta.url);
const common = {
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    legalComments: "inline",
    charset: "utf8",
    // The engine's module arrives in a message, so its script does not need a location.
    logOverride: { "empty-import-meta": "silent" },
};

const text = async (options) => (await build({ ...common, ...options })).outputFiles[0].text;
const read = (name) => readFileSync(new URL(name, import.meta.url));

// Removes code that is never executed, shares local variables, and sorts functions by name: similar functions, for example
// the instances of a generic one, are then close together, which improves compression by gzip.
const order = [
    "--remove-unused-module-elements", "--dce", "--remove-unused-brs", "--rse", "--duplicate-function-elimination", "--simplify-locals-nostructure",
    "--coalesce-locals", "--merge-blocks", "--vacuum", "--reorder-locals", "--reorder-functions-by-name", "--strip-debug", "--strip-producers",
];
const from = new URL("build/engine/engine_bg.wasm", import.meta.url);
const to = new URL("build/engine/ordered.wasm", import.meta.url);
const wasmOpt = new URL("node_modules/binaryen/bin/wasm-opt", import.meta.url);
execFileSync(process.execPath, [wasmOpt, from, "--output", to, ...order].map((part) => (part instanceof URL ? fileURLToPath(part) : part)));
// XZ is a fifth smaller than gzip, more than its decoder in the page (10 kB). Node cannot write it, but Python can.
const XZ = `
import lzma, sys
filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0, "dict_size": 1 << 22}]
sys.stdout.buffer.write(lzma.compress(open(sys.argv[1], "rb").read(), check=lzma.CHECK_CRC32, filters=filters))
`;
const engine = execFileSync(process.env["PYTHON"] ?? "python3", ["-c", XZ, fileURLToPath(to)], { maxBuffer: 2 * statSync(to).size });
// The page and its workers share the bindings of the engine, which are the page's first script.
const bindings = await text({ entryPoints: ["build/engine/engine.js"], globalName: "bindings" });
const shared = {
    name: "shared",
    setup: (own) => {
        own.onResolve({ filter: /\/build\/engine\/engine$/ }, () => ({ path: "bindings", namespace: "shared" }));
        own.onLoad({ filter: /^bindings$/, namespace: "shared" }, () => ({ contents: "module.exports = bindings;" }));
    },
};
const worker = await text({ entryPoints: ["src/page/worker.ts"], plugins: [shared] });
const packedEngine = JSON.stringify(Buffer.from(engine).toString("base64"));
const script = await text({
    entryPoints: ["src/page/main.ts"],
    plugins: [shared],
    define: { ENGINE: packedEngine, WORKER: JSON.stringify(worker) },
});
const escaped = (code) => code.replaceAll("</script", "<\\/script");
const style = await text({ entryPoints: ["src/page/style.css"] });
// Use a function, because `$` has a special meaning in a replacement string.
const page = read("src/page/page.html")
    .toString()
    .replace("/* style */", () => style)
    .replace("/* bindings */", () => escaped(bindings))
    .replace("/* script */", () => escaped(script));
writeFileSync(PAGE, page);
// The engine for notebooks in the browser.
const module = { entryPoints: ["src/notebook/main.ts"], format: "esm", define: { ENGINE: packedEngine } };
writeFileSync(new URL("../integrations/pyodide/longpipe_lab/engine.mjs", import.meta.url), await text(module));
await build({ ...common, entryPoints: ["src/scenario/main.ts"], format: "esm", platform: "node", write: true, outfile: "build/resolve.mjs" });
const packed = gzipSync(page, { level: 9 }).length;
process.stdout.write(`engine ${engine.length} bytes compressed, page ${page.length} bytes, ${packed} gzipped\n`);
