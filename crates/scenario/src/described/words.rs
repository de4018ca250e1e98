//! Values and names in messages, as Python writes them.

use super::description::{get, Description};
use crate::names::nearest;
use longpipe_json::Json;
use longpipe_units::{repr as quoted, repr_of_float, shortened};

/// Key of a table that stands for a value that JSON does not have, such as a date: the value as text.
pub(crate) const OPAQUE: &str = "\0";

/// Returns a value in which texts of numbers with a fraction or an exponent are numbers: the parser of JSON does not read all
/// floats exactly, and JSON has no infinite ones.
pub(crate) fn with_floats(value: Json<'static>) -> Json<'static> {
    match value {
        Json::List(items) => Json::List(items.into_iter().map(with_floats).collect()),
        Json::Table(fields) => match &fields[..] {
            [(key, Json::Text(text))] if key == OPAQUE => match text.parse() {
                // Integers of more than 64 bits remain.
                Ok(number) if text.parse::<i128>().is_err() => Json::Float(number),
                _ => Json::Table(fields),
            },
            _ => Json::Table(
                fields
                    .into_iter()
                    .map(|(name, value)| (name, with_floats(value)))
                    .collect(),
            ),
        },
        other => other,
    }
}

/// Formats a value.
pub(crate) fn repr(value: &Json<'_>) -> String {
    match value {
        Json::Null => "None".to_owned(),
        Json::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        Json::Number(number) => number.to_string(),
        Json::Negative(number) => number.to_string(),
        Json::Float(number) => repr_of_float(*number),
        Json::Text(text) => quoted(text),
        Json::List(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Json::Table(fields) => match &fields[..] {
            [(key, Json::Text(text))] if key == OPAQUE => text.to_string(),
            _ => {
                let items = fields
                    .iter()
                    .map(|(key, item)| format!("{}: {}", quoted(key), repr(item)));
                format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
            }
        },
    }
}

/// Formats a value, shortened.
pub(crate) fn shown(value: &Json<'_>) -> String {
    shortened(&repr(value))
}

/// Returns a text without quotes, and any other value as Python writes it.
pub(crate) fn plain(value: &Json<'_>) -> String {
    value.as_str().map_or_else(|| repr(value), str::to_owned)
}

/// Returns a table; None for other values.
pub(crate) fn fields_of<'j>(value: &'j Json<'static>) -> Option<&'j Json<'static>> {
    match value {
        Json::Table(fields) if !fields.iter().any(|(key, _)| key == OPAQUE) => Some(value),
        _ => None,
    }
}

impl Description {
    /// Returns the clause that lists accepted values; it starts with advice on a well-known name, otherwise with the closest
    /// name.
    pub(crate) fn accepts(&self, word: &str, names: &[&str]) -> String {
        let lower = word.to_lowercase();
        let is_accepted = |name: &str| names.contains(&name);
        let advice = if !is_accepted(word) && is_accepted(&lower) {
            Some(format!("it is {} here", quoted(&lower)))
        } else {
            self.advice(word, is_accepted)
        };
        match advice {
            Some(advice) => format!("{advice}; accepts {}", names.join(", ")),
            None => nearest(word, names, usize::MAX),
        }
    }

    /// Returns advice on a name that other programs use: the field with this meaning, or the most similar one.
    fn advice(&self, word: &str, is_accepted: impl Fn(&str) -> bool) -> Option<String> {
        let lower = word.trim().to_lowercase();
        // Linux's modules have this prefix.
        let name = lower.strip_prefix("tcp").and_then(|rest| rest.strip_prefix(['_', '-']));
        let name = name.unwrap_or(&lower);
        if name != lower && is_accepted(name) {
            return Some(format!("it is {} here", quoted(name)));
        }
        let absent = self.facts.at("absent");
        let called = get(absent.at("called"), name).and_then(Json::as_str);
        if let Some(here) = called.filter(|here| is_accepted(here)) {
            return Some(format!("it is {} here", quoted(here)));
        }
        let Json::List(homes) = self.facts.at("homes") else {
            return None;
        };
        let has_name = |home: &&Json<'_>| {
            home.at("names")
                .clone()
                .texts()
                .is_some_and(|names| names.iter().any(|one| one == name))
        };
        if let Some(home) = homes.iter().find(has_name) {
            let [field, what] = ["field", "what"].map(|key| home.at(key).as_str().unwrap_or_default());
            let [kind, window] =
                ["kind", "window"].map(|key| self.facts.at("reno").at(key).as_str().unwrap_or_default());
            let is_control = field == "tcp.recovery" && is_accepted(kind);
            let more = if is_control {
                format!("; {window}")
            } else {
                String::new()
            };
            return Some(format!("it is {what}, {field} = {}{more}", quoted(name)));
        }
        let absent = get(absent.at("names"), name)?.clone().texts()?;
        let [what, instead] = &absent[..] else {
            return None;
        };
        Some(format!(
            "{what} that longpipe does not have (README.md, 'What it does not have'), nearest is {instead}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_in_python() {
        let text = r#"{"a": [1, 2.0, -3, "it's"], "b": {"c": true, "d": null}, "e": {"\u0000": "1979-05-27"}}"#;
        let value = serde_json::from_str(text).expect("a value");
        let written = "{'a': [1, 2.0, -3, \"it's\"], 'b': {'c': True, 'd': None}, 'e': 1979-05-27}";
        assert_eq!(repr(&value), written);
    }
}
