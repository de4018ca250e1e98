/** Congestion controllers that are WebAssembly modules, executed by the browser: the other side of crates/wasm/src/browser.rs. */

const PAGE_BYTES = 65536;

/** The file of a module. */
export class ModuleFile {
    constructor(private readonly content: Uint8Array<ArrayBuffer>) {}

    /** Instantiates the module, with at most `most` bytes of memory, and runs its start functions. Throws an Error of one line. */
    instantiate(most: number): Guest {
        const module = prefixed("not a WebAssembly module: ", () => new WebAssembly.Module(this.content));
        const imports = importsOf(module);
        const instance = prefixed("cannot be instantiated: ", () => new WebAssembly.Instance(module, imports));
        const { _initialize, memory, __indirect_function_table: table } = instance.exports;
        if (typeof _initialize === "function" && _initialize.length === 0) prefixed("_initialize: ", () => _initialize());
        if (!(memory instanceof WebAssembly.Memory)) throw new Error("needs to export its memory");
        if (!(table instanceof WebAssembly.Table)) {
            throw new Error("does not export its table; needs the linker's --export-table and --growable-table");
        }
        return new Guest(instance.exports, memory, table, most);
    }
}

/** An instance of a module. */
class Guest {
    private readonly functions: Function[] = [];
    private bytes = new Uint8Array(0);

    constructor(
        private readonly exports: WebAssembly.Exports,
        private readonly memory: WebAssembly.Memory,
        private readonly table: WebAssembly.Table,
        private readonly most: number,
    ) {
        this.viewMemory();
    }

    /** Value of an exported 32-bit global. */
    global(name: string): number | undefined {
        const entry = this.exports[name];
        const value: unknown = entry instanceof WebAssembly.Global ? entry.value : undefined;
        return typeof value === "number" && Number.isInteger(value) ? value >>> 0 : undefined;
    }

    /**
     * Registers the function at an index of the table, and returns its number for `call`; undefined if there is none, or if the
     * adapter cannot import it.
     */
    function(index: number, adapter: Uint8Array<ArrayBuffer>): number | undefined {
        const operation: unknown = index < this.table.length ? this.table.get(index) : null;
        if (typeof operation !== "function") return undefined;
        try {
            adapted(adapter, operation);
        } catch (error) {
            if (error instanceof WebAssembly.LinkError) return undefined;
            throw error;
        }
        return this.functions.push(operation) - 1;
    }

    /** Adds a function to the table and returns its index. */
    add(added: Function, adapter: Uint8Array<ArrayBuffer>): number | undefined {
        try {
            return this.table.grow(1, adapted(adapter, added));
        } catch (error) {
            if (error instanceof RangeError) return undefined;
            throw error;
        }
    }

    /** Adds a page to the memory and returns its address. */
    addPage(): number {
        const pages = prefixed("its memory: ", () => this.memory.grow(1));
        this.viewMemory();
        return pages * PAGE_BYTES;
    }

    /** Calls a function with as many of the arguments as it has parameters. */
    call(number: number, a: number, b: number | bigint, c: number, d: number): number {
        const returned: unknown = (this.functions[number] as Function)(a, b, c, d);
        // A detached view has no bytes.
        if (this.bytes.length === 0) this.viewMemory();
        return returned as number;
    }

    memorySize(): number {
        return this.bytes.length;
    }

    read(at: number, into: Uint8Array): void {
        if (at + into.length > this.bytes.length) throw new Error("has an address outside its memory");
        into.set(this.bytes.subarray(at, at + into.length));
    }

    write(at: number, bytes: Uint8Array): void {
        this.bytes.set(bytes, at);
    }

    /** Creates the view of the memory; growth of the memory detaches the previous view. Throws an Error if the memory is too large. */
    private viewMemory(): void {
        this.bytes = new Uint8Array(this.memory.buffer);
        if (this.bytes.length > this.most) throw new Error(`its memory has ${this.bytes.length} bytes; needs at most ${this.most}`);
    }
}

/** Returns the result of `work`, or throws an Error whose message begins with `prefix`. */
function prefixed<T>(prefix: string, work: () => T): T {
    try {
        return work();
    } catch (error) {
        throw new Error(`${prefix}${error instanceof Error ? error.message : String(error)}`);
    }
}

/** The imports of a module, as functions that fail when they are called. Throws an Error for an import that is not a function. */
function importsOf(module: WebAssembly.Module): WebAssembly.Imports {
    const imports: WebAssembly.Imports = {};
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
        if (kind !== "function") throw new Error(`imports ${from}.${name}; needs a module that imports only functions`);
        (imports[from] ??= {})[name] = () => {
            throw new Error(`calls ${from}.${name}, which a sandbox does not have`);
        };
    }
    return imports;
}

/** Returns a function as a module exports it that has imported it. Throws a LinkError if it has another signature than the module's. */
function adapted(adapter: Uint8Array<ArrayBuffer>, of: Function): Function {
    const instance = new WebAssembly.Instance(new WebAssembly.Module(adapter), { "": { "": of as WebAssembly.ImportValue } });
    return instance.exports["f"] as Function;
}
