//! Checks fields and completes them to parts with all fields, each within its bounds; reports all problems together.

use super::description::{float, get, whole, Description, Field, Is, Items, Model, Number, Type};
use super::part::{in_parts, integer, json_text, Part, Value};
use super::words::{fields_of, plain, repr, shown, OPAQUE};
use crate::names::nearest;
use crate::rules::six_digits;
use crate::Problems;
use longpipe_json::Json;
use longpipe_units::{buffer, Decimal, Dimension};
use std::cmp::Ordering;
use std::rc::Rc;

/// Problem of fields and kinds that this build does not support.
const ELSEWHERE: &str = "is not supported on this page; longpipe run supports it";
/// Maximum number of fields that the problem of a value in place of a table lists.
const MAX_FIELDS: usize = 12;
/// Maximum number of kinds with a field that a message lists.
const MAX_KINDS: usize = 4;
/// Depth of the tables of which a header may be missing.
const DEPTH: usize = 3;
/// Maximum number of unknown fields of a table that have a line each, and of further ones that a common line names.
const MAX_SINGLE: usize = 3;
const MAX_OTHERS: usize = 8;
/// One, in parts per billion.
const ONE_PPB: u64 = 1_000_000_000;

/// A file with a congestion control.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) digest: String,
    /// Names of its parameters, in alphabetical order.
    pub(crate) parameters: Vec<String>,
}

/// Checks parts of a scenario.
pub(crate) struct Checker<'d> {
    pub(crate) description: &'d Description,
    pub(crate) modules: &'d [Module],
    /// Field and message of each problem.
    problems: Vec<(String, String)>,
}

impl<'d> Checker<'d> {
    pub(crate) fn new(description: &'d Description, modules: &'d [Module]) -> Checker<'d> {
        Checker {
            description,
            modules,
            problems: vec![],
        }
    }

    /// Returns a scenario with all fields.
    ///
    /// # Errors
    /// Returns a line for each problem.
    pub(crate) fn scenario(mut self, fields: &Json<'static>) -> Result<Part<'d>, Problems> {
        let scenario = self.part("Scenario", fields, "", &[]);
        let mut lines: Vec<String> = vec![];
        for (field, problem) in &self.problems {
            for line in problem.split('\n') {
                let line = if field.is_empty() {
                    line.to_owned()
                } else {
                    format!("{field}: {line}")
                };
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        if lines.is_empty() {
            Ok(scenario)
        } else {
            Err(Problems(lines))
        }
    }

    /// Returns a part of which all fields are defaults, or have the given values.
    pub(crate) fn part_of(&mut self, name: &str, fields: &Json<'static>) -> Part<'d> {
        self.part(name, fields, "", &[])
    }

    fn say(&mut self, path: &str, problem: impl Into<String>) {
        self.problems.push((path.to_owned(), problem.into()));
    }

    /// Checks a part from a table of fields. `kinds` are the parts of all kinds that the part could have.
    fn part(&mut self, name: &str, given: &Json<'static>, path: &str, kinds: &[(String, String)]) -> Part<'d> {
        let (description, before) = (self.description, self.problems.len());
        let model = description.model(name);
        // Settings of a flow, group or proxy are in a part of the network.
        if name == "Tcp" && path.contains('.') && get(given, "congestion").is_none() {
            self.refuse_former(given, path);
        }
        let fields = description.completed(name, given);
        let (mut values, mut written) = (Vec::with_capacity(model.fields.len()), vec![]);
        for field in &model.fields {
            let place = within(path, &field.name);
            let value = match (get(&fields, &field.name), &field.default) {
                (Some(value), _) => {
                    written.push(field.name.clone());
                    self.value(&field.ty, value, &place)
                }
                (None, Some(Json::Null)) => Value::Plain(Json::Null),
                (None, Some(default)) => self.value(&field.ty, default, &place),
                (None, None) => {
                    self.say(&place, field.missing());
                    Value::Plain(Json::Null)
                }
            };
            values.push(value);
            if name == "Web" && self.problems.len() == before {
                self.check_web(model, field, &values, &place);
            }
        }
        self.check_names(model, &fields, path, kinds);
        let mut part = Part { model, values, written };
        if self.problems.len() == before {
            let problems = self.together(&part, path);
            self.problems.extend(problems);
            if name == "Tcp" {
                self.agree(&mut part, path);
            }
        }
        part
    }

    /// Reports former fields of TCP with options of a congestion control.
    fn refuse_former(&mut self, given: &Json<'static>, path: &str) {
        let Json::Table(former) = self.description.facts.at("former") else {
            return;
        };
        for (name, kind) in former {
            if let Some(value) = get(given, name) {
                let kind = kind.as_str().unwrap_or_default();
                let needs = format!("needs congestion = {{kind = '{kind}', ...}} instead");
                self.say(path, format!("{name}: {}; {needs}", shown(value)));
            }
        }
    }

    /// Reports fields that a part does not have.
    fn check_names(&mut self, model: &'d Model, fields: &Json<'static>, path: &str, kinds: &[(String, String)]) {
        let Json::Table(fields) = fields else {
            return;
        };
        let others = fields.iter().map(|(name, _)| name.as_ref());
        let others: Vec<&str> = others.filter(|name| model.field(name).is_none()).collect();
        let names: Vec<&str> = model.names.iter().map(String::as_str).collect();
        let (unsupported, unknown): (Vec<&str>, Vec<&str>) = others.into_iter().partition(|name| names.contains(name));
        for name in unsupported {
            self.say(&within(path, name), ELSEWHERE);
        }
        let Some((first, further)) = unknown.split_first() else {
            return;
        };
        let place = within(path, first);
        if let Some(problem) = self.of_missing_table(&place, first, further, &names) {
            self.say(&place, problem);
            return;
        }
        for name in unknown {
            let accepts = self.description.accepts(name, &names);
            let holders = self.holders(name, model, kinds);
            self.say(&within(path, name), format!("unknown field; {accepts}{holders}"));
        }
    }

    /// Returns the clauses that name the tables, and the other kinds, which have a field that a part does not have.
    fn holders(&self, name: &str, model: &Model, kinds: &[(String, String)]) -> String {
        let has = |part: &str| self.description.model(part).names.iter().any(|own| own == name);
        let tables = model
            .fields
            .iter()
            .filter(|field| field.ty.parts().into_iter().any(has));
        let tables: Vec<&str> = tables.map(|field| field.name.as_str()).collect();
        let others = kinds
            .iter()
            .filter(|(_, part)| has(part))
            .map(|(kind, _)| kind.as_str());
        let others: Vec<&str> = others.collect();
        let mut text = String::new();
        if (1..=2).contains(&tables.len()) {
            text += &format!("; {name} is a field of {}", tables.join(", "));
        }
        if !others.is_empty() {
            let listed = others[..others.len().min(MAX_KINDS)].join(", ");
            text += &format!("; kinds with this field: {listed}");
        }
        if others.len() > MAX_KINDS {
            text += &format!(" and {} more", others.len() - MAX_KINDS);
        }
        text
    }

    /// Returns the problem of unknown fields that are probably those of a table whose header is missing; None for independent
    /// mistakes. `path` is that of the first one, and `accepted` are the fields of their table.
    fn of_missing_table(&self, path: &str, first: &str, further: &[&str], accepted: &[&str]) -> Option<String> {
        if further.is_empty() {
            return None;
        }
        let inner = path.strip_suffix(first).unwrap_or_default();
        let has_all = |names: &[String]| {
            [first]
                .iter()
                .chain(further)
                .all(|name| names.iter().any(|own| own == name))
        };
        // Another kind of the unknown fields' table may have other tables.
        let is_possible = |table: &str| {
            let below = table.strip_prefix(inner).filter(|_| !inner.is_empty());
            below.is_none_or(|below| accepted.contains(&below.split('.').next().unwrap_or_default()))
        };
        let mut tables = vec![];
        self.add_tables("Scenario", "", DEPTH, &mut |table, names| {
            if has_all(names) && is_possible(&table) {
                tables.push(table);
            }
        });
        let dots = |table: &String| table.split('.').count();
        let table = tables
            .into_iter()
            .min_by(|a, b| dots(a).cmp(&dots(b)).then_with(|| a.cmp(b)));
        if table.is_none() && further.len() < MAX_SINGLE {
            return None;
        }
        let more = match further.len().checked_sub(MAX_OTHERS) {
            Some(rest) if rest > 0 => format!(" and {rest} more"),
            _ => String::new(),
        };
        let verb = if further.len() > 1 { "are" } else { "is" };
        let listed = further[..further.len().min(MAX_OTHERS)].join(", ");
        let line = format!("unknown field, as {verb} {listed}{more}");
        Some(match table {
            None => format!("{line}; accepts {}", accepted.join(", ")),
            Some(table) => format!("{line}; all are fields of {table}, whose line [{table}] may be missing"),
        })
    }

    /// Calls `add` with the dotted path and the fields of each table within a part, for each of its kinds.
    fn add_tables(&self, part: &str, path: &str, depth: usize, add: &mut impl FnMut(String, &'d [String])) {
        if depth == 0 {
            return;
        }
        for field in &self.description.model(part).fields {
            let inner = within(path, &field.name);
            for part in field.ty.parts() {
                add(inner.clone(), &self.description.model(part).names);
                self.add_tables(part, &inner, depth - 1, add);
            }
        }
    }

    fn value(&mut self, ty: &'d Type, given: &Json<'static>, path: &str) -> Value<'d> {
        self.checked(ty, given, path).unwrap_or_else(|problem| {
            self.say(path, problem);
            Value::Plain(Json::Null)
        })
    }

    fn checked(&mut self, ty: &'d Type, given: &Json<'static>, path: &str) -> Result<Value<'d>, String> {
        let plain = match &ty.is {
            Is::Quantity { bounds, is_auto } => match text_of(given, bounds.dimension()) {
                Ok(text) => json_text(&bounds.check(text)?),
                Err(problem) if *is_auto => return Err(format!("{problem}, or 'auto'")),
                Err(problem) => return Err(problem),
            },
            Is::Buffer => {
                let unlimited = Dimension {
                    unlimited: true,
                    ..*longpipe_units::BUFFER
                };
                json_text(&buffer(text_of(given, &unlimited)?)?)
            }
            Is::IntegerOr { low, high, word } => integer_or(given, *low, *high, word)?,
            Is::Text { least, most, letters } => {
                let Json::Text(text) = given else {
                    return Err(format!("{}; needs text", shown(given)));
                };
                let length = text.chars().count() as u64;
                if let Some(least) = least.filter(|least| length < *least) {
                    return Err(format!("{}; needs at least {least} character", shown(given)));
                }
                if let Some(most) = most.filter(|most| length > *most) {
                    return Err(format!("{}; needs at most {most} characters", shown(given)));
                }
                if letters.as_ref().is_some_and(|letters| !letters.accept(text)) {
                    return Err(format!(
                        "{}; needs 1 to 64 letters, digits, '_', '.' or '-'",
                        shown(given)
                    ));
                }
                given.clone()
            }
            Is::Bool => match given {
                Json::Bool(_) => given.clone(),
                _ => return Err(format!("{}; needs true or false", shown(given))),
            },
            Is::Number(number) => number.checked(given)?,
            Is::OneOf(values) => self.one_of(values, given)?,
            Is::List(items) => return self.list(items, given, path),
            Is::Values(most) => return self.values(*most, given, path),
            Is::Part(part) => {
                let Some(table) = fields_of(given) else {
                    let names = &self.description.model(part).names;
                    let listed = if names.len() <= MAX_FIELDS {
                        format!(": {}", names.join(", "))
                    } else {
                        String::new()
                    };
                    return Err(format!("{}; needs a table of fields{listed}", shown(given)));
                };
                return Ok(Value::Part(Rc::new(self.part(part, table, path, &[]))));
            }
            Is::Kinds { kinds, .. } => {
                let table = match given {
                    Json::Text(_) => Json::Table(vec![("kind".into(), given.clone())]),
                    _ => given.clone(),
                };
                let part = self.kind(kinds, given, &table)?;
                return Ok(Value::Part(Rc::new(self.part(part, &table, path, kinds))));
            }
        };
        Ok(Value::Plain(plain))
    }

    fn one_of(&self, values: &'d [Json<'static>], given: &Json<'static>) -> Result<Json<'static>, String> {
        let is_given =
            |value: &&Json<'static>| *value == given || float(value).is_some_and(|number| float(given) == Some(number));
        values.iter().find(is_given).cloned().ok_or_else(|| {
            let names: Vec<String> = values.iter().map(plain).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{}; {}", shown(given), self.description.accepts(&plain(given), &names))
        })
    }

    fn list(&mut self, items: &'d Items, given: &Json<'static>, path: &str) -> Result<Value<'d>, String> {
        let Json::List(values) = given else {
            return Err(format!("{}; needs a list", shown(given)));
        };
        if let Some(most) = items.length.or(items.most).filter(|most| values.len() > *most) {
            return Err(format!("{}; needs {most} items", shown(given)));
        }
        let checked = values.iter().enumerate();
        let checked = checked
            .map(|(i, value)| self.value(items.at(i), value, &format!("{path}[{i}]")))
            .collect();
        for i in values.len()..items.length.unwrap_or_default() {
            self.say(&format!("{path}[{i}]"), items.missing());
        }
        Ok(Value::List(checked))
    }

    /// Checks values by name, which become pairs in the order of the names.
    fn values(&mut self, most: Option<u64>, given: &Json<'static>, path: &str) -> Result<Value<'d>, String> {
        let Some(Json::Table(fields)) = fields_of(given) else {
            return Err(format!("{}; needs a table of values", shown(given)));
        };
        if let Some(most) = most.filter(|most| fields.len() as u64 > *most) {
            return Err(format!("{}; needs {most} items", shown(given)));
        }
        let mut fields: Vec<_> = fields.iter().collect();
        fields.sort_by(|(a, _), (b, _)| a.cmp(b));
        let pairs = fields.into_iter().map(|(name, value)| {
            let is_plain = !matches!(value, Json::Null | Json::List(_) | Json::Table(_));
            if !is_plain {
                let needs = "needs a number, a boolean or text";
                self.say(&format!("{path}.{name}"), format!("{}; {needs}", shown(value)));
            }
            let value = if is_plain { value.clone() } else { Json::Null };
            Value::List(vec![Value::Plain(json_text(name)), Value::Plain(value)])
        });
        Ok(Value::List(pairs.collect()))
    }

    /// Returns the part of the kind that a table selects.
    fn kind(
        &self,
        kinds: &'d [(String, String)],
        given: &Json<'static>,
        table: &Json<'static>,
    ) -> Result<&'d str, String> {
        let names: Vec<&str> = kinds.iter().map(|(kind, _)| kind.as_str()).collect();
        if fields_of(table).is_none() {
            let example = if float(given).is_some() {
                self.example(kinds, given)
            } else {
                String::new()
            };
            return Err(format!("{}; accepts {}{example}", shown(given), names.join(", ")));
        }
        let Some(tag) = get(table, "kind") else {
            return Err(format!("{}; needs a kind: {}", shown(given), names.join(", ")));
        };
        let word = plain(tag);
        let found = kinds.iter().find(|(kind, _)| *kind == word && tag.as_str().is_some());
        if let Some((_, part)) = found {
            if self.description.model(part).fields.is_empty() {
                return Err(format!("{}; {ELSEWHERE}", repr(tag)));
            }
            return Ok(part);
        }
        let example = tag.as_str().and_then(percent);
        let example = example.map_or_else(String::new, |share| self.example(kinds, &Json::Float(share)));
        let accepts = self.description.accepts(&word, &names);
        Err(format!("{}; {accepts}{example}", shown(&json_text(&word))))
    }

    /// Returns an example of the table to write in place of a number, for the first kind with a required field of a number.
    fn example(&self, kinds: &[(String, String)], number: &Json<'static>) -> String {
        let is_needed = |field: &&Field| {
            let is_float = matches!(field.ty.is, Is::Number(Number { is_float: true, .. }));
            is_float && field.default.is_none()
        };
        let mut fields = kinds.iter().filter_map(|(kind, part)| {
            let field = self.description.model(part).fields.iter().find(is_needed)?;
            Some((kind, &field.name))
        });
        fields.next().map_or_else(String::new, |(kind, field)| {
            format!(
                ", as in {{kind = {}, {field} = {}}}",
                repr(&json_text(kind)),
                repr(number)
            )
        })
    }

    /// Checks a field of web traffic together with the fields before it.
    fn check_web(&mut self, model: &'d Model, field: &Field, values: &[Value<'d>], path: &str) {
        let part = Part {
            model,
            values: values.to_vec(),
            written: vec![],
        };
        for (name, problem) in part.violations() {
            if name == field.name {
                self.say(path, problem);
            }
        }
        if field.name != "class_shares" {
            return;
        }
        let shares: Vec<f64> = part
            .get("class_shares")
            .items()
            .iter()
            .filter_map(|share| float(&share.plain()))
            .collect();
        let sum = shares.iter().filter_map(|share| in_parts(*share, 9)).sum::<u64>();
        if sum != ONE_PPB {
            let listed = repr(&Json::List(shares.into_iter().map(Json::Float).collect()));
            let sum = six_digits(sum as f64 / ONE_PPB as f64);
            self.say(
                path,
                format!("{listed} adds up to {sum}; needs shares that add up to 1"),
            );
        }
    }

    /// Returns the problems of combinations of fields of a part.
    fn together(&self, part: &Part<'d>, path: &str) -> Vec<(String, String)> {
        let mut problems = vec![];
        match part.model.name.as_str() {
            "Module" => problems.extend(self.module_problem(part, path)),
            "Jitter" => {
                let distribution = part.text("distribution");
                if self.description.fact("distributions", distribution).is_none() {
                    let Json::Table(known) = self.description.facts.at("distributions") else {
                        return problems;
                    };
                    let names: Vec<&str> = known.iter().map(|(name, _)| name.as_ref()).collect();
                    let needs = format!("is not in this page, accepts {}", names.join(", "));
                    let shown = shown(&json_text(distribution));
                    problems.push((format!("{path}.distribution"), format!("{shown}; {needs}")));
                }
            }
            _ => {}
        }
        // Kinds of congestion control and of loss recovery check their own options.
        let kinds = ["congestion", "recovery"].map(|field| self.description.kinds_of_tcp(field));
        if kinds
            .iter()
            .any(|kinds| kinds.iter().any(|(_, name)| *name == part.model.name))
        {
            let violations = part.violations().into_iter();
            problems.extend(violations.map(|(name, problem)| (path.to_owned(), format!("{name} {problem}"))));
        }
        problems
    }

    /// Returns the problem of a module: an unknown file, unknown parameters, or another digest.
    fn module_problem(&self, part: &Part<'d>, path: &str) -> Option<(String, String)> {
        let file = part.text("file");
        let Some(module) = self.module(file) else {
            let needs =
                "is not in this page, needs a WebAssembly module (.wasm) that was opened before or together with this";
            return Some((format!("{path}.file"), format!("{}; {needs}", repr(&json_text(file)))));
        };
        let names: Vec<&str> = module.parameters.iter().map(String::as_str).collect();
        let set = part.get("parameters").items().iter();
        let set = set.filter_map(|pair| pair.items().first().map(Value::text));
        if let Some(name) = set.into_iter().find(|name| !names.contains(name)) {
            let accepts = match &names[..] {
                [] => "the module has no parameters".to_owned(),
                _ => nearest(name, &names, usize::MAX),
            };
            return Some((path.to_owned(), format!("parameters.{name}: unknown; {accepts}")));
        }
        let digest = part.text("digest");
        if digest.is_empty() || digest == module.digest {
            return None;
        }
        let now = &module.digest[..12];
        let needs = format!("needs the unchanged file, or no digest; {file} has {now}... now");
        Some((path.to_owned(), format!("digest: {}...; {needs}", &digest[..12])))
    }

    /// Returns the module with a path, by its file name.
    pub(crate) fn module(&self, path: &str) -> Option<&'d Module> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        self.modules.iter().find(|module| module.name == name)
    }

    /// Copies specified options between the recovery and the field of TCP with its name, so that both agree.
    fn agree(&mut self, tcp: &mut Part<'d>, path: &str) {
        let chosen = tcp.part("recovery");
        let Some(kept) = tcp.get(chosen.kind()).part() else {
            return;
        };
        let name = chosen.kind();
        let options = || chosen.fields().filter(|(field, _)| field.name != "kind");
        let values = chosen.fields().map(|(field, value)| {
            let is_own = field.name == "kind" || chosen.sets(&field.name);
            if is_own {
                value.clone()
            } else {
                kept.get(&field.name).clone()
            }
        });
        let completed = Part {
            model: chosen.model,
            values: values.collect(),
            written: chosen.written.clone(),
        };
        let problems = self.together(&completed, "");
        if !problems.is_empty() {
            let lines: Vec<String> = problems.into_iter().map(|(_, problem)| problem).collect();
            self.say(path, format!("recovery: {}", lines.join("\n")));
            return;
        }
        let is_set = options().any(|(field, _)| chosen.sets(&field.name));
        let kept = is_set.then(|| {
            let values = kept.fields().map(|(field, _)| completed.get(&field.name).clone());
            Part {
                model: kept.model,
                values: values.collect(),
                written: kept.written.clone(),
            }
        });
        *tcp = tcp.with("recovery", Value::Part(Rc::new(completed)));
        if let Some(kept) = kept {
            *tcp = tcp.with(name, Value::Part(Rc::new(kept)));
            if !tcp.sets(name) {
                tcp.written.push(name.to_owned());
            }
        }
    }
}

impl Number {
    fn checked(&self, given: &Json<'static>) -> Result<Json<'static>, String> {
        if matches!(given, Json::Float(number) if !number.is_finite()) {
            return Err(format!("{}; needs a finite number", shown(given)));
        }
        let value = if self.is_float {
            float(given).map(Json::Float)
        } else {
            large(given).map(integer)
        };
        let number = if self.is_float {
            float(given)
        } else {
            large(given).map(|value| value as f64)
        };
        let (Some(value), Some(number)) = (value, number) else {
            let what = if self.is_float { "a number" } else { "a whole number" };
            return Err(format!("{}; needs {what}", shown(given)));
        };
        // Integers are compared exactly.
        let order = |bound: f64| match large(given).filter(|_| !self.is_float) {
            Some(value) => value.partial_cmp(&(bound as i128)),
            None => number.partial_cmp(&bound),
        };
        let is = |bound: Option<f64>, accepted: fn(Ordering) -> bool| bound.and_then(order).is_none_or(accepted);
        let bounds = [
            (self.most, "at most", !is(self.most, Ordering::is_le)),
            (self.below, "less than", !is(self.below, Ordering::is_lt)),
            (self.least, "at least", !is(self.least, Ordering::is_ge)),
            (self.above, "more than", !is(self.above, Ordering::is_gt)),
        ];
        if let Some((Some(bound), what, _)) = bounds.into_iter().find(|(_, _, is_violated)| *is_violated) {
            let bound = if self.is_float {
                repr(&Json::Float(bound))
            } else {
                (bound as i128).to_string()
            };
            return Err(format!("{}; needs {what} {bound}", shown(given)));
        }
        if let Some(decimals) = self.decimals.filter(|decimals| in_parts(number, *decimals).is_none()) {
            return Err(format!(
                "{}; needs at most {decimals} decimals",
                repr(&Json::Float(number))
            ));
        }
        Ok(value)
    }
}

/// Returns a whole number, which may have more than 64 bits.
fn large(given: &Json<'_>) -> Option<i128> {
    match given {
        Json::Table(fields) => match &fields[..] {
            [(key, Json::Text(digits))] if key == OPAQUE => digits.parse().ok(),
            _ => None,
        },
        _ => whole(given),
    }
}

/// Returns a text with a unit.
fn text_of<'j>(given: &'j Json<'_>, dimension: &Dimension) -> Result<&'j str, String> {
    let accepts = || dimension.accepts();
    match given {
        Json::Text(text) => Ok(text),
        Json::Number(_) | Json::Negative(_) | Json::Float(_) => {
            Err(format!("{} has no unit; {}", repr(given), accepts()))
        }
        _ => Err(format!("{}; {}", shown(given), accepts())),
    }
}

fn integer_or(given: &Json<'static>, low: i128, high: i128, word: &str) -> Result<Json<'static>, String> {
    let words = given
        .as_str()
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    if words.is_some_and(|words| words == word) {
        return Ok(json_text(word));
    }
    let value = large(given).filter(|value| (low..=high).contains(value));
    value
        .map(integer)
        .ok_or_else(|| format!("{}; needs {low} to {high}, or '{word}'", repr(given)))
}

/// Returns the fraction that a text such as "1 %" denotes.
fn percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number =
        |digits: &str, most| (1..=most).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_digit());
    let is_percent = is_number(whole, 3) && is_number(fraction, 6);
    let number = Decimal::read(number).filter(|_| is_percent)?;
    number.to_string().parse::<f64>().ok().map(|number| number / 100.0)
}

/// Returns the dotted name of a field within a part.
fn within(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_fractions_with_at_most_six_decimals() {
        for (text, fraction) in [
            ("1 %", Some(0.01)),
            ("12.5%", Some(0.125)),
            (" 100 % ", Some(1.0)),
            ("1", None),
        ] {
            assert_eq!(percent(text), fraction, "{text}");
        }
        for text in ["1000 %", "1.1234567 %", "-1 %", ".5 %", "x %", "1. %"] {
            assert_eq!(percent(text), None, "{text}");
        }
    }
}
