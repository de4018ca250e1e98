//! Checked parts of a scenario, and their form in the core: names with units, and quantities as integers.

use super::description::{float, whole, Description, Field, Is, Model, Type};
use crate::{units, Problems};
use longpipe_json::Json;
use longpipe_units::{repr_of_float, Decimal, UNLIMITED};
use serde::Serialize;
use std::rc::Rc;

/// A checked part.
#[derive(Debug)]
pub(crate) struct Part<'d> {
    pub(crate) model: &'d Model,
    /// Values of the model's fields, in their order.
    pub(crate) values: Vec<Value<'d>>,
    /// Names of the fields that were specified, or that a profile determines.
    pub(crate) written: Vec<String>,
}

/// A checked value: quantities are texts in canonical form.
#[derive(Clone, Debug)]
pub(crate) enum Value<'d> {
    /// A number, a boolean, a text, or null.
    Plain(Json<'static>),
    List(Vec<Value<'d>>),
    Part(Rc<Part<'d>>),
}

/// Name of a field, its name in the core, and its value there.
pub(crate) type Row = (String, String, Json<'static>);

/// Returns a text as JSON.
pub(crate) fn json_text(text: &str) -> Json<'static> {
    Json::Text(text.to_owned().into())
}

/// Returns a value as JSON text.
pub(crate) fn text<T: Serialize>(value: &T) -> Result<String, Problems> {
    serde_json::to_string(value).map_err(|error| error.to_string().into())
}

/// Returns a table of values by name.
pub(crate) fn table<const N: usize>(fields: [(&'static str, Json<'static>); N]) -> Json<'static> {
    Json::Table(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

impl<'d> Value<'d> {
    /// Returns the part, if the value is one.
    pub(crate) fn part(&self) -> Option<&Rc<Part<'d>>> {
        match self {
            Value::Part(part) => Some(part),
            _ => None,
        }
    }

    /// Returns the items of a list; null is an empty list.
    pub(crate) fn items(&self) -> &[Value<'d>] {
        match self {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the parts of a list.
    pub(crate) fn parts(&self) -> Vec<Rc<Part<'d>>> {
        self.items().iter().filter_map(|item| item.part().cloned()).collect()
    }

    /// Returns whether the value is null.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Value::Plain(Json::Null))
    }

    /// Returns the text, or an empty text for other values.
    pub(crate) fn text(&self) -> &str {
        match self {
            Value::Plain(Json::Text(text)) => text,
            _ => "",
        }
    }

    /// Returns the value, in which parts are tables of all their fields.
    pub(crate) fn plain(&self) -> Json<'static> {
        match self {
            Value::Plain(value) => value.clone(),
            Value::List(items) => Json::List(items.iter().map(Value::plain).collect()),
            Value::Part(part) => part.plain(),
        }
    }

    /// Returns whether the value is a default, of which a part has all fields at their defaults.
    fn is_default(&self, default: &Json<'static>) -> bool {
        match self {
            Value::Plain(value) => {
                value == default || float(value).is_some_and(|number| float(default) == Some(number))
            }
            Value::List(items) => match default {
                Json::List(defaults) => {
                    items.len() == defaults.len()
                        && items
                            .iter()
                            .zip(defaults)
                            .all(|(item, default)| item.is_default(default))
                }
                _ => false,
            },
            Value::Part(part) => {
                let kind = default.at("kind").as_str();
                let is_kind = kind.is_none_or(|kind| part.model.kind.as_deref() == Some(kind));
                let mut fields = part.fields();
                default != &Json::Null
                    && is_kind
                    && fields
                        .all(|(field, value)| field.default.as_ref().is_some_and(|default| value.is_default(default)))
            }
        }
    }
}

impl<'d> Part<'d> {
    /// Returns the fields with their values.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'d Field, &Value<'d>)> {
        self.model.fields.iter().zip(&self.values)
    }

    /// Returns the value of a field; null if the part has no such field.
    pub(crate) fn get(&self, name: &str) -> &Value<'d> {
        const NULL: &Value<'static> = &Value::Plain(Json::Null);
        self.fields()
            .find(|(field, _)| field.name == name)
            .map_or(NULL, |(_, value)| value)
    }

    /// Returns a part in a field, which must have one.
    pub(crate) fn part(&self, name: &str) -> &Rc<Part<'d>> {
        self.get(name)
            .part()
            .unwrap_or_else(|| panic!("{name}: no part of {}", self.model.name))
    }

    /// Returns the value of a field of text; empty for other fields.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).text()
    }

    /// Returns the kind; empty for parts without kinds.
    pub(crate) fn kind(&self) -> &'d str {
        self.model.kind.as_deref().unwrap_or_default()
    }

    /// Returns whether a field was specified, or a profile determines it.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.written.iter().any(|written| written == name)
    }

    /// Returns the part with another value of a field.
    pub(crate) fn with(&self, name: &str, value: Value<'d>) -> Part<'d> {
        let values = self
            .fields()
            .map(|(field, own)| if field.name == name { &value } else { own });
        Part {
            model: self.model,
            values: values.cloned().collect(),
            written: self.written.clone(),
        }
    }

    /// Returns all fields, in which parts are tables.
    pub(crate) fn plain(&self) -> Json<'static> {
        let fields = self
            .fields()
            .map(|(field, value)| (field.name.clone().into(), value.plain()));
        Json::Table(fields.collect())
    }

    /// Returns field and message of each rule that the part violates.
    pub(crate) fn violations(&self) -> Vec<(String, String)> {
        if self.model.written_rules.is_empty() {
            return vec![];
        }
        let violated = self.model.rules.violated(&mut self.plain()).into_iter();
        violated
            .map(|(rule, message)| (self.model.written_rules[rule][0].clone(), message))
            .collect()
    }

    /// Returns the model, the values and the names of specified fields of the part and its nested parts, for a form.
    pub(crate) fn tree(&self) -> Json<'static> {
        fn of_value(value: &Value<'_>) -> Json<'static> {
            match value {
                Value::Plain(value) => value.clone(),
                Value::List(items) => Json::List(items.iter().map(of_value).collect()),
                Value::Part(part) => part.tree(),
            }
        }
        let values = self
            .fields()
            .map(|(field, value)| (field.name.clone().into(), of_value(value)));
        table([
            ("part", json_text(&self.model.name)),
            ("values", Json::Table(values.collect())),
            (
                "written",
                Json::List(self.written.iter().map(|name| json_text(name)).collect()),
            ),
        ])
    }
}

impl Description {
    /// Returns the fields of a part in the core, except those in `without`.
    pub(crate) fn core(&self, part: &Part<'_>, without: &[&str]) -> Json<'static> {
        let rows = self.rows(part, |name| !without.contains(&name)).into_iter();
        Json::Table(rows.map(|(_, key, value)| (key.into(), value)).collect())
    }

    /// Returns some fields of a part in the core; those that are there only if they differ from the default may be absent.
    pub(crate) fn rows(&self, part: &Part<'_>, is_asked: impl Fn(&str) -> bool) -> Vec<Row> {
        let is_written = |field: &Field, value: &Value<'_>| {
            let default = field.default.as_ref().filter(|_| field.later);
            is_asked(&field.name) && !default.is_some_and(|default| value.is_default(default))
        };
        let fields = part.fields().filter(|(field, value)| is_written(field, value));
        fields
            .map(|(field, value)| (field.name.clone(), field.key(), self.of_core(&field.ty, value)))
            .collect()
    }

    /// Returns a part of a link in the core, which reads the distribution of jitter as a table.
    pub(crate) fn core_of_link(&self, part: &Part<'_>) -> Json<'static> {
        let core = self.core(part, &[]);
        let steps = core
            .at("distribution")
            .as_str()
            .and_then(|name| self.fact("distributions", name));
        let (Some(Json::List(steps)), Json::Table(fields)) = (steps, &core) else {
            return core;
        };
        let mut fields = fields.clone();
        fields.retain(|(name, _)| name != "distribution");
        if !steps.is_empty() {
            let mut sum = 0;
            let sums = steps.iter().map(|step| {
                sum += whole(step).unwrap_or_default();
                integer(sum)
            });
            fields.push(("table".into(), Json::List(sums.collect())));
        }
        Json::Table(fields)
    }

    fn of_core(&self, ty: &Type, value: &Value<'_>) -> Json<'static> {
        match (&ty.is, value) {
            (_, Value::Plain(Json::Null)) => Json::Null,
            (Is::Quantity { bounds, .. }, _) => match value.text() {
                UNLIMITED => Json::Null,
                "auto" => json_text("auto"),
                text => Json::Number(units::parse(bounds.dimension(), text).unwrap_or_default()),
            },
            (Is::Number(number), Value::Plain(value)) => match (number.decimals, float(value)) {
                (Some(decimals), Some(value)) => Json::Number(in_parts(value, decimals).unwrap_or_default()),
                _ => value.clone(),
            },
            (Is::List(items), Value::List(values)) => {
                let values = values.iter().enumerate();
                let mut values: Vec<_> = values
                    .map(|(place, value)| self.of_core(items.at(place), value))
                    .collect();
                if items.is_ascending {
                    values.sort_by_key(whole);
                    values.dedup();
                }
                Json::List(values)
            }
            (Is::Values(_), Value::List(pairs)) => {
                let pairs = pairs.iter().map(|pair| match pair.items() {
                    [name, value] => Json::List(vec![name.plain(), json_text(&as_text(&value.plain()))]),
                    _ => Json::Null,
                });
                Json::List(pairs.collect())
            }
            (Is::Kinds { is_chosen: true, .. }, Value::Part(part)) => {
                let core = self.core(part, &[]);
                // A kind without parameters is written as its name where the core accepts a name.
                let is_first = || {
                    self.facts
                        .at("first_kinds")
                        .clone()
                        .list()
                        .contains(&json_text(part.kind()))
                };
                match &core {
                    Json::Table(fields) if fields.len() > 1 && !is_first() => core,
                    _ => json_text(part.kind()),
                }
            }
            (_, Value::Part(part)) => self.core(part, &[]),
            (_, value) => value.plain(),
        }
    }
}

/// Returns a number times 10^`decimals`, exactly as written; None if this is no integer.
pub(crate) fn in_parts(value: f64, decimals: u32) -> Option<u64> {
    Decimal::read(&repr_of_float(value))?.in_parts(decimals)
}

/// Returns an integer as JSON, within 64 bits.
pub(crate) fn integer(value: i128) -> Json<'static> {
    match u64::try_from(value) {
        Ok(value) => Json::Number(value),
        Err(_) => Json::Negative(i64::try_from(value).unwrap_or(i64::MIN)),
    }
}

/// Returns a parameter of a module as text.
fn as_text(value: &Json<'_>) -> String {
    match value {
        Json::Text(text) => text.to_string(),
        Json::Bool(value) => value.to_string(),
        Json::Float(number) => repr_of_float(*number),
        Json::Number(number) => number.to_string(),
        Json::Negative(number) => number.to_string(),
        _ => String::new(),
    }
}
