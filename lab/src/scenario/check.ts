/** Checks fields and completes them to parts with all fields, each within its bounds; reports all problems together. */
import { in_parts, nearest } from "../../build/engine/engine";
import { violations } from "./constraints";
import { withDefaults } from "./defaults";
import { ScenarioError, accepts, repr, shown, str } from "./errors";
import { DESCRIPTION, type Field, type Model, type Type, kindOfField, model, namesOf } from "./model";
import { missing, moduleOf } from "./modules";
import { type Part, type Value, kindOf, valueOf } from "./part";
import { byRules, formerOptions, isTable } from "./profiles";
import { ValueProblem, checkedBuffer, checkedQuantity, dimension } from "./units";

/** Problem with fields and kinds that only the command line supports. */
const ELSEWHERE = "is not supported on this page; longpipe run supports it";

/** Maximum number of fields that the problem of a value in place of a table lists. */
const MAX_FIELDS = 12;

type Table = Record<string, unknown>;
type Say = (path: string, problem: string) => void;

/**
 * Checks a part from a table of fields; calls `say` with the field's name for each problem. `kinds` are the parts of all
 * kinds that the part could have.
 */
export function checkPart(name: string, table: Table, path: string, say: Say, kinds: string[] = []): Part {
    const known = model(name);
    const values: Record<string, Value> = {};
    const written = new Set<string>();
    let sound = true;
    const tell: Say = (where, problem) => {
        sound = false;
        say(where, problem);
    };
    // Those of a flow, group or proxy are in a part of the network.
    if (name === "Tcp" && path.includes(".") && table["congestion"] === undefined) {
        for (const [former, kind] of Object.entries(DESCRIPTION.former)) {
            if (former in table) tell(path, `${former}: ${shown(table[former])}; needs congestion = {kind = '${kind}', ...} instead`);
        }
    }
    const fields = beforehand(name, table);
    for (const field of known.fields) {
        const where = path === "" ? field.name : `${path}.${field.name}`;
        const given = fields[field.name];
        if (given !== undefined) {
            written.add(field.name);
            values[field.name] = checkValue(field.type, given, where, tell);
        } else if ("default" in field) {
            values[field.name] = field.default === null ? null : checkValue(field.type, field.default, where, tell);
        } else {
            tell(where, missingValue(field.description));
        }
        if (sound) afterField(name, field.name, values, where, tell);
    }
    const within = (field: string): string => (path === "" ? field : `${path}.${field}`);
    const others = Object.keys(fields).filter((given) => !known.fields.some((field) => field.name === given));
    const names = namesOf(name);
    for (const given of others) if (names.includes(given)) tell(within(given), ELSEWHERE);
    const unknown = others.filter((given) => !names.includes(given));
    const first = unknown[0] ?? "";
    const misplaced = ofMissingTable(within(first), unknown, names);
    if (misplaced !== null) tell(within(first), misplaced);
    else for (const given of unknown) tell(within(given), `unknown field; ${accepts(given, names)}${holders(given, known, kinds)}`);
    const made = { part: name, values, written };
    if (sound) together(made, path, tell);
    return made;
}

/** Returns a part without written fields. */
export function plainPart(name: string, table: Table = {}): Part {
    return checkPart(name, table, "", (field, problem) => {
        throw new ScenarioError([`${field}: ${problem}`]);
    });
}

/** Returns the problem of a missing value, with the description of its field. */
function missingValue(description: string | undefined): string {
    const words = description || "a value";
    return `missing; needs ${words[0]?.toLowerCase()}${words.slice(1)}`;
}

/** Returns the clauses that name the tables, and the other kinds, which have a field that a part does not have. */
function holders(name: string, { fields }: Model, kinds: string[]): string {
    const has = (part: string): boolean => namesOf(part).includes(name);
    const tables = fields.filter(({ type }) => partsOf(type).some(has)).map((field) => field.name);
    const others = kinds.filter(has).map((part) => String(model(part).kind));
    const more = others.length > 4 ? ` and ${others.length - 4} more` : "";
    return [
        tables.length === 1 || tables.length === 2 ? `; ${name} is a field of ${tables.join(", ")}` : "",
        others.length > 0 ? `; kinds with this field: ${others.slice(0, 4).join(", ")}${more}` : "",
    ].join("");
}

/** Returns the parts that a type accepts. */
function partsOf(type: Type): string[] {
    if (type.is === "list") return partsOf(type.of);
    return type.is === "part" ? [type.part] : type.is === "kinds" ? Object.values(type.kinds) : [];
}

/** Depth of the tables of which a header may be missing. */
const DEPTH = 3;
/** Maximum number of unknown fields of a table that have a line each, and of further ones that a common line names. */
const [MAX_SINGLE, MAX_OTHERS] = [3, 8];

/**
 * Returns the problem of unknown fields that are probably those of a table whose header is missing; null for independent
 * mistakes. `path` is that of the first one, and `accepted` are the fields of their table.
 */
function ofMissingTable(path: string, [first = "", ...further]: string[], accepted: string[]): string | null {
    if (further.length === 0) return null;
    const inner = path.slice(0, path.length - first.length);
    // Another kind of the unknown fields' table may have other tables.
    const isPossible = (table: string): boolean => inner === "" || !table.startsWith(inner) || accepted.includes(table.slice(inner.length).split(".")[0] as string);
    const tables = tablesOf("Scenario", "", DEPTH).filter(([table, names]) => [first, ...further].every((name) => names.includes(name)) && isPossible(table));
    const dots = (table: string): number => table.split(".").length;
    const [table] = tables.map(([table]) => table).sort((a, b) => dots(a) - dots(b) || (a < b ? -1 : 1));
    if (table === undefined && further.length < MAX_SINGLE) return null;
    const more = further.length > MAX_OTHERS ? ` and ${further.length - MAX_OTHERS} more` : "";
    const line = `unknown field, as ${further.length > 1 ? "are" : "is"} ${further.slice(0, MAX_OTHERS).join(", ")}${more}`;
    return table === undefined ? `${line}; accepts ${accepted.join(", ")}` : `${line}; all are fields of ${table}, whose line [${table}] may be missing`;
}

/** Returns the dotted path and the fields of each table within a part, for each of its kinds. */
function tablesOf(part: string, path: string, depth: number): [string, string[]][] {
    if (depth === 0) return [];
    return model(part).fields.flatMap(({ name, type }) => {
        const inner = path === "" ? name : `${path}.${name}`;
        return partsOf(type).flatMap((one): [string, string[]][] => [[inner, namesOf(one)], ...tablesOf(one, inner, depth - 1)]);
    });
}

function checkValue(type: Type, given: unknown, path: string, say: Say): Value {
    try {
        return checked(type, given, path, say);
    } catch (problem) {
        if (!(problem instanceof ValueProblem)) throw problem;
        say(path, problem.message);
        return null;
    }
}

function checked(type: Type, given: unknown, path: string, say: Say): Value {
    switch (type.is) {
        case "quantity":
            return quantity(type, given);
        case "buffer":
            return checkedBuffer(textOf(given, "buffer", true));
        case "integer or word":
            return integerOrWord(type, given);
        case "text":
            return text(type, given);
        case "bool":
            if (typeof given === "boolean") return given;
            throw new ValueProblem(`${shown(given)}; needs true or false`);
        case "int":
        case "float":
            return number(type, given);
        case "one of":
            return oneOf(type.values, given);
        case "list":
            return list(type, given, path, say);
        case "values":
            return values(type, given, path, say);
        case "part":
            return checkPart(type.part, tableOf(given, type.part), path, say);
        case "kinds":
            return checkPart(kind(type, given), kindTable(given, type.kinds), path, say, Object.values(type.kinds));
    }
}

function quantity(type: Type & { is: "quantity" }, given: unknown): Value {
    try {
        return checkedQuantity(type, textOf(given, type.dimension, type.unlimited));
    } catch (problem) {
        if (problem instanceof ValueProblem && type.auto && typeof given !== "string") throw new ValueProblem(`${problem.message}, or 'auto'`);
        throw problem;
    }
}

function textOf(given: unknown, name: string, unlimited: boolean): string {
    const what = dimension(name).accepts(unlimited);
    if (typeof given === "string") return given.split(/\s+/).filter(Boolean).join(" ");
    const numeric = typeof given === "number" || typeof given === "bigint";
    throw new ValueProblem(numeric ? `${repr(given)} has no unit; ${what}` : `${shown(given)}; ${what}`);
}

function integerOrWord({ low, high, word }: Type & { is: "integer or word" }, given: unknown): Value {
    if (typeof given === "string" && given.split(/\s+/).filter(Boolean).join(" ") === word) return word;
    const whole = wholeNumber(given);
    if (whole !== null && whole >= BigInt(low) && whole <= BigInt(high)) return whole;
    throw new ValueProblem(`${repr(given)}; needs ${low} to ${high}, or '${word}'`);
}

function text(type: Type & { is: "text" }, given: unknown): Value {
    if (typeof given !== "string") throw new ValueProblem(`${shown(given)}; needs text`);
    const length = [...given].length;
    if (type.least !== undefined && length < type.least) {
        throw new ValueProblem(`${shown(given)}; needs at least ${type.least} character`);
    }
    if (type.most !== undefined && length > type.most) {
        throw new ValueProblem(`${shown(given)}; needs at most ${type.most} characters`);
    }
    if (type.pattern !== undefined && !new RegExp(type.pattern, "u").test(given)) {
        throw new ValueProblem(`${shown(given)}; needs 1 to 64 letters, digits, '_', '.' or '-'`);
    }
    return given;
}

function wholeNumber(given: unknown): bigint | null {
    if (typeof given === "bigint") return given;
    return typeof given === "number" && Number.isInteger(given) && Math.abs(given) < 2 ** 63 ? BigInt(given) : null;
}

function number(type: Type & { is: "int" | "float" }, given: unknown): Value {
    const value = type.is === "int" ? wholeNumber(given) : typeof given === "bigint" ? Number(given) : given;
    if (typeof given === "number" && !Number.isFinite(given)) throw new ValueProblem(`${shown(given)}; needs a finite number`);
    if (typeof value !== "number" && typeof value !== "bigint") throw new ValueProblem(`${shown(given)}; needs ${type.is === "int" ? "a whole number" : "a number"}`);
    const needs = (what: string, bound: number): never => {
        const shownBound = type.is === "float" ? repr(bound) : String(bound);
        throw new ValueProblem(`${shown(given)}; needs ${what} ${shownBound}`);
    };
    if (type.le !== undefined && value > type.le) needs("at most", type.le);
    if (type.lt !== undefined && value >= type.lt) needs("less than", type.lt);
    if (type.ge !== undefined && value < type.ge) needs("at least", type.ge);
    if (type.gt !== undefined && value <= type.gt) needs("more than", type.gt);
    if (type.decimals !== undefined && !isExact(Number(value), type.decimals)) {
        throw new ValueProblem(`${repr(Number(value))}; needs at most ${type.decimals} decimals`);
    }
    return value;
}

/** Returns whether a number has at most this many decimals. */
function isExact(value: number, decimals: number): boolean {
    try {
        in_parts(value, decimals);
        return true;
    } catch {
        return false;
    }
}

function oneOf(values: (string | number)[], given: unknown): Value {
    const plain = typeof given === "bigint" ? Number(given) : given;
    const found = values.find((value) => value === plain);
    if (found !== undefined) return found;
    throw new ValueProblem(`${shown(given)}; ${accepts(str(given), values.map(String))}`);
}

function list(type: Type & { is: "list" }, given: unknown, path: string, say: Say): Value {
    if (!Array.isArray(given)) throw new ValueProblem(`${shown(given)}; needs a list`);
    const most = type.length ?? type.most;
    if (most !== undefined && given.length > most) throw new ValueProblem(`${shown(given)}; needs ${most} items`);
    const items = given.map((one, i) => checkValue(type.each?.[i] ?? type.of, one, `${path}[${i}]`, say));
    for (let i = given.length; i < (type.length ?? 0); i++) say(`${path}[${i}]`, missingValue(type.needs));
    return items;
}

/** Values by name, as pairs in the order of the names. */
function values(type: Type & { is: "values" }, given: unknown, path: string, say: Say): Value {
    if (!isTable(given)) throw new ValueProblem(`${shown(given)}; needs a table of values`);
    const names = Object.keys(given).sort();
    if (type.most !== undefined && names.length > type.most) throw new ValueProblem(`${shown(given)}; needs ${type.most} items`);
    return names.map((name) => {
        const value = given[name];
        const plain = ["string", "number", "bigint", "boolean"].includes(typeof value);
        if (!plain) say(`${path}.${name}`, `${shown(value)}; needs a number, a boolean or text`);
        return [name, plain ? (value as Value) : null];
    });
}

function tableOf(given: unknown, part: string): Table {
    if (isTable(given)) return given;
    const names = namesOf(part);
    throw new ValueProblem(`${shown(given)}; needs a table of fields${names.length <= MAX_FIELDS ? `: ${names.join(", ")}` : ""}`);
}

function kindTable(given: unknown, kinds: Record<string, string>): Table {
    if (typeof given === "string") return { kind: given };
    if (isTable(given)) return given;
    const number = typeof given === "bigint" || typeof given === "number" ? given : null;
    throw new ValueProblem(`${shown(given)}; accepts ${Object.keys(kinds).join(", ")}${example(kinds, number)}`);
}

/** Returns an example of the table to write in place of a number, for the first kind that has a numeric field. */
function example(kinds: Record<string, string>, number: bigint | number | null): string {
    if (number === null) return "";
    for (const [tag, part] of Object.entries(kinds)) {
        const field = model(part).fields.find((one) => one.type.is === "float" && !("default" in one));
        if (field !== undefined) return `, as in {kind = ${repr(tag)}, ${field.name} = ${repr(number)}}`;
    }
    return "";
}

/** Returns the fraction that a text such as "1 %" denotes. */
function percent(text: string): number | null {
    const found = /^(\d{1,3}(?:\.\d{1,6})?)\s*%$/.exec(text.trim());
    return found === null ? null : Number(found[1]) / 100;
}

function kind({ kinds }: Type & { is: "kinds" }, given: unknown): string {
    const table = kindTable(given, kinds);
    const names = Object.keys(kinds);
    const tag = table["kind"];
    if (tag === undefined) throw new ValueProblem(`${shown(given)}; needs a kind: ${names.join(", ")}`);
    const word = str(tag);
    const found = Object.hasOwn(kinds, word) ? kinds[word] : undefined;
    if (found !== undefined && typeof tag === "string") {
        if (model(found).fields.length === 0) throw new ValueProblem(`${repr(tag)}; ${ELSEWHERE}`);
        return found;
    }
    throw new ValueProblem(`${shown(word)}; ${accepts(word, names)}${example(kinds, typeof tag === "string" ? percent(tag) : null)}`);
}

/** Returns whether a specified `initial_rtt` is a time above zero, which replaces the handshake of a profile. */
function tellsARoundTrip(initialRtt: unknown): boolean {
    try {
        return typeof initialRtt === "string" && dimension("time").parse(initialRtt) > 0n;
    } catch {
        return false;
    }
}

/** Returns the fields of a part with what follows from others: the defaults, the profile, and the number of sources. */
function beforehand(name: string, table: Table): Table {
    const fields: Table = {};
    for (const [given, value] of Object.entries(table)) fields[given === "from_" ? "from" : given] = value;
    if (name === "Scenario") return withDefaults(fields);
    if (name === "Tcp") {
        const defaults = DESCRIPTION.profiles[str(fields["profile"])] ?? {};
        const whole: Table = { ...defaults, ...fields };
        for (const part of ["recovery", "congestion"]) {
            const [own, usual] = [whole[part], defaults[part]];
            if (isTable(own) && isTable(usual) && !("kind" in own)) whole[part] = { ...usual, ...own };
        }
        if (!("handshake" in fields) && tellsARoundTrip(fields["initial_rtt"])) delete whole["handshake"];
        const former = formerOptions(whole);
        for (const one of Object.keys(DESCRIPTION.former)) delete whole[one];
        if (former !== undefined) whole["congestion"] = former;
        const congestion = whole["congestion"];
        if (typeof congestion === "string" || isTable(congestion)) {
            const { kind, ...said }: Table = typeof congestion === "string" ? { kind: congestion } : congestion;
            const ruled = byRules(str(fields["profile"]), str(kind), said);
            if (ruled !== undefined) whole["congestion"] = { kind, ...ruled };
        }
        return whole;
    }
    const groups = fields["group"];
    if (name !== "Dumbbell" || !Array.isArray(groups) || groups.length === 0 || "sources" in fields) return fields;
    const counts = groups.map((group: unknown) => (isTable(group) ? wholeNumber(group["count"] ?? 1) : null) ?? 0n);
    return counts.every((count) => count !== 0n)
        ? { ...fields, sources: counts.reduce((all, one) => all + one, 0n) }
        : fields;
}

function afterField(part: string, name: string, values: Record<string, Value>, path: string, say: Say): void {
    if (part !== "Web") return;
    for (const [field, problem] of violations({ part, values, written: new Set() })) {
        if (field === name) say(path, problem);
    }
    if (name === "class_shares") {
        const shares = (values["class_shares"] as number[]).map(Number);
        const sum = shares.reduce((all, share) => all + in_parts(share, 9), 0n);
        if (sum !== 1_000_000_000n) {
            const listed = `[${shares.map(repr).join(", ")}]`;
            const adds = Number((Number(sum) / 1e9).toPrecision(6));
            say(path, `${listed} adds up to ${adds}; needs shares that add up to 1`);
        }
    }
}

/** Checks combinations of fields of a part. */
function together(made: Part, path: string, say: Say): void {
    if (made.part === "Module") checkModule(made, path, say);
    const distribution = made.part === "Jitter" ? String(valueOf(made, "distribution")) : "uniform";
    if (!Object.hasOwn(DESCRIPTION.distributions, distribution)) {
        say(`${path}.distribution`, `${shown(distribution)}; is not in this page, accepts ${Object.keys(DESCRIPTION.distributions).join(", ")}`);
    }
    // Kinds of congestion control and of loss recovery check their own options.
    const known = model(made.part);
    if (["congestion", "recovery"].some((name) => kindOfField("Tcp", name, known.kind ?? "") === known)) {
        for (const [name, problem] of violations(made)) say(path, `${name} ${problem}`);
    }
    if (made.part === "Tcp") agree(made, path, say);
}

/** Checks that the page has the file of a module, and that it has the parameters. */
function checkModule(made: Part, path: string, say: Say): void {
    const file = String(valueOf(made, "file"));
    const found = moduleOf(file);
    if (found === undefined) {
        say(`${path}.file`, missing(file));
        return;
    }
    const names = [...found.parameters.keys()].sort();
    for (const [name] of valueOf(made, "parameters") as [string, Value][]) {
        if (names.includes(name)) continue;
        say(path, `parameters.${name}: unknown; ${names.length > 0 ? nearest(name, names) : "the module has no parameters"}`);
        return;
    }
    const digest = valueOf(made, "digest");
    if (digest === null || digest === found.digest) return;
    const needs = `needs the unchanged file, or no digest; ${file} has ${found.digest.slice(0, 12)}... now`;
    say(path, `digest: ${String(digest).slice(0, 12)}...; ${needs}`);
}

/** Copies specified options between the table of the recovery and the field with its name, so that both agree. */
function agree(tcp: Part, path: string, say: Say): void {
    const chosen = valueOf(tcp, "recovery") as Part;
    const kind = kindOf(chosen);
    const options = model(chosen.part).fields.filter((field) => field.name !== "kind");
    const inTcp = tcp.values[kind] as Part | undefined;
    if (inTcp === undefined) return;
    const said = options.filter((field) => chosen.written.has(field.name));
    for (const field of options) {
        if (!chosen.written.has(field.name)) chosen.values[field.name] = valueOf(inTcp, field.name);
    }
    const problems: string[] = [];
    together(chosen, "", (_, problem) => problems.push(problem));
    if (problems.length > 0) {
        say(path, `recovery: ${problems.join("\n")}`);
        return;
    }
    if (said.length === 0) return;
    const kept = { ...inTcp, values: { ...inTcp.values } };
    for (const field of options) kept.values[field.name] = valueOf(chosen, field.name);
    tcp.values[kind] = kept;
    tcp.written.add(kind);
}

/** Returns the fields of a model by name. */
export function fieldsOf(part: Part): Field[] {
    const known: Model = model(part.part);
    return known.fields;
}
