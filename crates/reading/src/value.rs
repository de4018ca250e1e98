//! A tree of JSON values, and functions to read parts from it.

use crate::Read;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// A JSON value.
#[derive(Debug)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Truth(bool),
    /// A nonnegative integer.
    Whole(u64),
    /// A negative integer.
    Negative(i64),
    /// Another number.
    Float(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// Fields in the order of the text.
    Table(Vec<(String, Value)>),
}

/// The problem of a value, in one line. It is small, because every read returns it.
#[derive(Debug)]
pub struct Refused(Box<str>);

impl Refused {
    /// Creates a problem from its text.
    #[cold]
    pub fn new(words: String) -> Refused {
        Refused(words.into())
    }

    /// Creates the problem of a missing field.
    #[cold]
    pub fn missing(field: &'static str) -> Refused {
        Refused::new(format!("missing field `{field}`"))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl Value {
    /// Reads a variant without parameters by its name.
    ///
    /// # Errors
    /// Returns an error if there is no such variant, or if it has parameters.
    pub fn alone<T: Read>(name: &str) -> Result<T, Refused> {
        T::read(Value::Table(vec![("kind".to_owned(), Value::Text(name.to_owned()))]))
    }

    #[cold]
    pub(crate) fn refused(&self, what: &str, expected: &str) -> Refused {
        let found = match self {
            Value::Null => "null".to_owned(),
            Value::Truth(truth) => format!("boolean `{truth}`"),
            Value::Whole(number) => format!("integer `{number}`"),
            Value::Negative(number) => format!("integer `{number}`"),
            Value::Float(number) => format!("floating point `{number}`"),
            Value::Text(text) => format!("string {text:?}"),
            Value::List(_) => "sequence".to_owned(),
            Value::Table(_) => "map".to_owned(),
        };
        Refused::new(format!("{what}: {found}, expected {expected}"))
    }

    pub(crate) fn items(self, expected: &str) -> Result<Vec<Value>, Refused> {
        match self {
            Value::List(items) => Ok(items),
            other => Err(other.refused("invalid type", expected)),
        }
    }
}

/// The fields of a part, each of which can be taken once, by its index among the field names.
pub struct Table {
    names: &'static [&'static str],
    values: Vec<Option<Value>>,
}

impl Table {
    /// Returns the fields of a value.
    ///
    /// # Errors
    /// Returns an error if the value is not a table, has unknown fields, or has a field twice.
    #[inline(never)]
    pub fn of(value: Value, names: &'static [&'static str]) -> Result<Table, Refused> {
        let Value::Table(rows) = value else {
            return Err(value.refused("invalid type", "a table"));
        };
        let mut values: Vec<Option<Value>> = names.iter().map(|_| None).collect();
        for (name, value) in rows {
            let place = place(&name, names).ok_or_else(|| unknown("field", &name, names))?;
            if values[place].replace(value).is_some() {
                return Err(Refused::new(format!("duplicate field `{name}`")));
            }
        }
        Ok(Table { names, values })
    }

    /// Takes a field by index.
    ///
    /// # Errors
    /// Returns an error if the field is missing or invalid.
    pub fn field<T: Read>(&mut self, place: usize) -> Result<T, Refused> {
        match self.take(place) {
            Some(value) => T::read(value),
            None => T::absent().ok_or_else(|| Refused::missing(self.names[place])),
        }
    }

    /// Takes a field by index; a missing field has its default value.
    ///
    /// # Errors
    /// Returns an error if the field is invalid.
    pub fn or_default<T: Read + Default>(&mut self, place: usize) -> Result<T, Refused> {
        self.take(place).map_or_else(|| Ok(T::default()), T::read)
    }

    #[inline(never)]
    fn take(&mut self, place: usize) -> Option<Value> {
        self.values[place].take()
    }
}

/// Returns the index of a text among some names.
///
/// # Errors
/// Returns an error if the text is none of them.
#[inline(never)]
pub fn one_of(value: Value, names: &'static [&'static str]) -> Result<usize, Refused> {
    match value {
        Value::Text(name) => place(&name, names).ok_or_else(|| unknown("variant", &name, names)),
        other => Err(other.refused("invalid type", "a name")),
    }
}

/// Returns the index among some variants of the name in the field `tag`, and the table's other fields.
///
/// # Errors
/// Returns an error if the name is none of them.
#[inline(never)]
pub fn kind(value: Value, tag: &'static str, names: &'static [&'static str]) -> Result<(usize, Value), Refused> {
    let Value::Table(mut rows) = value else {
        return Err(value.refused("invalid type", "a table"));
    };
    let row = rows.iter().position(|(name, _)| name == tag);
    let (_, name) = rows.remove(row.ok_or_else(|| Refused::missing(tag))?);
    Ok((one_of(name, names)?, Value::Table(rows)))
}

fn place(name: &str, names: &[&str]) -> Option<usize> {
    names.iter().position(|one| *one == name)
}

#[cold]
fn unknown(what: &str, name: &str, names: &[&str]) -> Refused {
    Refused::new(format!(
        "unknown {what} `{name}`, expected one of `{}`",
        names.join("`, `")
    ))
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Building)
    }
}

struct Building;

impl<'de> Visitor<'de> for Building {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Truth(truth))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Negative(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let mut rows = Vec::new();
        while let Some(row) = from.next_entry()? {
            rows.push(row);
        }
        Ok(Value::Table(rows))
    }
}
