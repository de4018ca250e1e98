//! JSON values, of which input is read: less code than a deserializer for each type, because the page contains it.

use crate::Problems;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A JSON value without negative numbers and fractions.
#[derive(Clone, Debug, Default)]
pub enum Json {
    /// An absent value.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Values by name.
    Table(Vec<(String, Json)>),
}

impl Json {
    /// Reads a text.
    ///
    /// # Errors
    /// Returns the problem of the text, which is a defect of the caller.
    pub(crate) fn read(text: &str) -> Result<Json, Problems> {
        serde_json::from_str(text).map_err(|error| format!("network: {error}").into())
    }

    /// Takes a field out of a table; an absent field is null.
    pub(crate) fn take(&mut self, name: &str) -> Json {
        let Json::Table(fields) = self else {
            return Json::Null;
        };
        let field = fields.iter_mut().find(|(key, _)| key == name);
        field.map(|(_, value)| std::mem::take(value)).unwrap_or_default()
    }

    /// Takes an item out of a list; an absent item is null.
    pub(crate) fn item(&mut self, place: usize) -> Json {
        match self {
            Json::List(items) => items.get_mut(place).map(std::mem::take).unwrap_or_default(),
            _ => Json::Null,
        }
    }

    /// Returns the items of a list; null is an empty list.
    pub(crate) fn list(self) -> Vec<Json> {
        match self {
            Json::List(items) => items,
            _ => vec![],
        }
    }

    /// Returns a text; None for null.
    pub(crate) fn text(self) -> Option<String> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a list of texts; None for null.
    pub(crate) fn texts(self) -> Option<Vec<String>> {
        match self {
            Json::List(items) => Some(items.into_iter().filter_map(Json::text).collect()),
            _ => None,
        }
    }

    /// Returns a number; None for null.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Json::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns a number of an item of another list; None for null.
    pub(crate) fn place(self) -> Option<usize> {
        self.number().and_then(|number| usize::try_from(number).ok())
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Json;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a value without fractions")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut items = vec![];
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json, A::Error> {
        let mut fields = vec![];
        while let Some(field) = access.next_entry()? {
            fields.push(field);
        }
        Ok(Json::Table(fields))
    }
}
