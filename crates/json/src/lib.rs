//! JSON values as trees, from which the parameters of a scenario are read. A deserializer that serde derives is compiled
//! for each type and each source of data, and again for the buffers of tagged enums, which are several hundred kilobytes
//! of the browser page; the code that [`macro@FromJson`] derives is compiled once for each type.

mod values;

extern crate self as longpipe_json;

pub use longpipe_describe::FromJson;
use serde::de::value::Error as TextError;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A message about JSON that does not have the form of a type.
pub type Error = TextError;

/// A JSON value. Its texts are those of the input where the input has no escapes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json<'a> {
    /// An absent value.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer that is not negative.
    Number(u64),
    /// A negative integer.
    Negative(i64),
    /// Any other number.
    Float(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Json<'a>>),
    /// Values by name, in the order of the input.
    Table(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// A type that is read from JSON.
pub trait FromJson: Sized {
    /// Converts a value.
    ///
    /// # Errors
    /// Returns a message about the first part that does not have the form of the type.
    fn from_json(json: Json<'_>) -> Result<Self, Error>;

    /// Returns the value of an absent field; None for a required field.
    fn absent() -> Option<Self> {
        None
    }
}

/// Fields of a table that were not read yet.
#[derive(Debug)]
pub struct Fields<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

/// Deserializes a type by way of a tree.
///
/// # Errors
/// Returns the first syntax error, or the first part that does not have the form of the type.
pub fn deserialize<'de, T: FromJson, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::from_json(Json::deserialize(deserializer)?).map_err(D::Error::custom)
}

impl<'a> Json<'a> {
    /// Returns the fields of a table. Each field may occur once and, if `accepted` is given, must be in that list.
    /// `expected` is the name of the type in messages.
    ///
    /// # Errors
    /// Returns the first field that is unknown or repeated, or a message about a value that is no table.
    pub fn fields(self, expected: &str, accepted: Option<&'static [&'static str]>) -> Result<Fields<'a>, Error> {
        let Json::Table(fields) = self else {
            return Err(self.unexpected(expected));
        };
        for (place, (name, _)) in fields.iter().enumerate() {
            let matching = accepted.map(|names| names.iter().find(|candidate| **candidate == name.as_ref()));
            match (accepted, matching) {
                (Some(names), Some(None)) => return Err(Error::unknown_field(name, names)),
                (_, Some(Some(name))) if fields[..place].iter().any(|(earlier, _)| earlier == name) => {
                    return Err(Error::duplicate_field(name));
                }
                _ => {}
            }
        }
        Ok(Fields(fields))
    }

    /// Takes the field `kind` out of a table, and returns it with the rest. Messages have the name of the type.
    ///
    /// # Errors
    /// Returns a message about an absent kind, or about a value that is no table.
    pub fn kind(self, expected: &str) -> Result<(Cow<'a, str>, Json<'a>), Error> {
        let Json::Table(mut fields) = self else {
            return Err(self.unexpected(expected));
        };
        let Some(place) = fields.iter().position(|(name, _)| name == "kind") else {
            return Err(Error::missing_field("kind"));
        };
        match fields.remove(place).1 {
            Json::Text(kind) => Ok((kind, Json::Table(fields))),
            other => Err(other.unexpected("variant identifier")),
        }
    }

    /// Returns a text that names a variant of an enum. Messages have the name of the type.
    ///
    /// # Errors
    /// Returns a message about a value that is no text.
    pub fn variant(self, expected: &str) -> Result<Cow<'a, str>, Error> {
        match self {
            Json::Text(name) => Ok(name),
            other => Err(other.unexpected(expected)),
        }
    }

    /// Returns the message about a value in place of an expected one.
    pub fn unexpected(&self, expected: &str) -> Error {
        Error::invalid_type(self.shown(), &expected)
    }

    fn shown(&self) -> Unexpected<'_> {
        match self {
            Json::Null => Unexpected::Other("null"),
            Json::Bool(value) => Unexpected::Bool(*value),
            Json::Number(value) => Unexpected::Unsigned(*value),
            Json::Negative(value) => Unexpected::Signed(*value),
            Json::Float(value) => Unexpected::Float(*value),
            Json::Text(text) => Unexpected::Str(text),
            Json::List(_) => Unexpected::Seq,
            Json::Table(_) => Unexpected::Map,
        }
    }

    /// Takes a field out of a table; an absent field is null.
    pub fn take(&mut self, name: &str) -> Json<'a> {
        let Json::Table(fields) = self else {
            return Json::Null;
        };
        let field = fields.iter_mut().find(|(key, _)| key == name);
        field.map(|(_, value)| std::mem::take(value)).unwrap_or_default()
    }

    /// Takes an item out of a list; an absent item is null.
    pub fn item(&mut self, place: usize) -> Json<'a> {
        match self {
            Json::List(items) => items.get_mut(place).map(std::mem::take).unwrap_or_default(),
            _ => Json::Null,
        }
    }

    /// Returns the items of a list; null is an empty list.
    pub fn list(self) -> Vec<Json<'a>> {
        match self {
            Json::List(items) => items,
            _ => vec![],
        }
    }

    /// Returns a field of a table, such as `timer.tick`; null if there is none.
    pub fn at(&self, path: &str) -> &Json<'a> {
        path.split('.').fold(self, |owner, name| match owner {
            Json::Table(fields) => fields
                .iter()
                .find(|(key, _)| key == name)
                .map_or(&Json::Null, |(_, value)| value),
            _ => &Json::Null,
        })
    }

    /// Sets a field of a table; other values do not change.
    pub fn set(&mut self, name: &str, value: Json<'a>) {
        let Json::Table(fields) = self else {
            return;
        };
        match fields.iter_mut().find(|(key, _)| key == name) {
            Some(field) => field.1 = value,
            None => fields.push((name.to_owned().into(), value)),
        }
    }

    /// Returns the value with texts of its own.
    pub fn into_owned(self) -> Json<'static> {
        match self {
            Json::Null => Json::Null,
            Json::Bool(value) => Json::Bool(value),
            Json::Number(value) => Json::Number(value),
            Json::Negative(value) => Json::Negative(value),
            Json::Float(value) => Json::Float(value),
            Json::Text(text) => Json::Text(text.into_owned().into()),
            Json::List(items) => Json::List(items.into_iter().map(Json::into_owned).collect()),
            Json::Table(fields) => {
                let fields = fields.into_iter();
                Json::Table(
                    fields
                        .map(|(name, value)| (name.into_owned().into(), value.into_owned()))
                        .collect(),
                )
            }
        }
    }

    /// Returns a text, which remains; None for other values.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a text; None for null.
    pub fn text(self) -> Option<String> {
        match self {
            Json::Text(text) => Some(text.into_owned()),
            _ => None,
        }
    }

    /// Returns a list of texts; None for null.
    pub fn texts(self) -> Option<Vec<String>> {
        match self {
            Json::List(items) => Some(items.into_iter().filter_map(Json::text).collect()),
            _ => None,
        }
    }

    /// Returns an integer that is not negative; None for null.
    pub fn number(self) -> Option<u64> {
        match self {
            Json::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the number of an item of another list; None for null.
    pub fn place(self) -> Option<usize> {
        self.number().and_then(|number| usize::try_from(number).ok())
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Number(value) => serializer.serialize_u64(*value),
            Json::Negative(value) => serializer.serialize_i64(*value),
            Json::Float(value) => serializer.serialize_f64(*value),
            Json::Text(text) => serializer.serialize_str(text),
            Json::List(items) => serializer.collect_seq(items),
            Json::Table(fields) => serializer.collect_map(fields.iter().map(|(name, value)| (name, value))),
        }
    }
}

impl<'a> Fields<'a> {
    /// Takes the value of a field; None if it is absent.
    fn value(&mut self, name: &str) -> Option<Json<'a>> {
        let place = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.swap_remove(place).1)
    }

    /// Reads a field.
    ///
    /// # Errors
    /// Returns a message about an absent field, or about a value that does not have the form of the type.
    #[inline(never)]
    pub fn take<T: FromJson>(&mut self, name: &'static str) -> Result<T, Error> {
        match self.value(name) {
            Some(json) => T::from_json(json),
            None => T::absent().ok_or_else(|| Error::missing_field(name)),
        }
    }

    /// Reads a field that may be absent; None if it is.
    ///
    /// # Errors
    /// Returns a message about a value that does not have the form of the type.
    #[inline(never)]
    pub fn optional<T: FromJson>(&mut self, name: &str) -> Result<Option<T>, Error> {
        self.value(name).map(T::from_json).transpose()
    }
}

/// Returns the message about a name that is no variant of an enum.
pub fn unknown_variant(name: &str, known: &'static [&'static str]) -> Error {
    Error::unknown_variant(name, known)
}

impl<'de> Deserialize<'de> for Json<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json<'de>, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Json<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(u64::try_from(value).map_or(Json::Negative(value), Json::Number))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut items = vec![];
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut fields = vec![];
        while let Some(Name(name)) = access.next_key()? {
            fields.push((name, access.next_value()?));
        }
        Ok(Json::Table(fields))
    }
}

/// A name of a field. The implementation of serde for `Cow` copies every text.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name<'de>, D::Error> {
        struct AnyName;

        impl<'de> Visitor<'de> for AnyName {
            type Value = Name<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }
        }

        deserializer.deserialize_str(AnyName)
    }
}
