//! Conversions of JSON to numbers, texts and lists.

use crate::{Error, FromJson, Json};
use serde::de::Error as _;

macro_rules! integers {
    ($($integer:ty)+) => {
        $(impl FromJson for $integer {
            fn from_json(json: Json<'_>) -> Result<$integer, Error> {
                let within = match json {
                    Json::Number(number) => <$integer>::try_from(number).ok(),
                    Json::Negative(number) => <$integer>::try_from(number).ok(),
                    _ => return Err(json.unexpected(stringify!($integer))),
                };
                within.ok_or_else(|| Error::invalid_value(json.shown(), &stringify!($integer)))
            }
        })+
    };
}

integers! { u16 u32 u64 usize i16 i32 i64 }

impl FromJson for f64 {
    fn from_json(json: Json<'_>) -> Result<f64, Error> {
        match json {
            Json::Number(number) => Ok(number as f64),
            Json::Negative(number) => Ok(number as f64),
            Json::Float(number) => Ok(number),
            _ => Err(json.unexpected("f64")),
        }
    }
}

impl FromJson for bool {
    fn from_json(json: Json<'_>) -> Result<bool, Error> {
        match json {
            Json::Bool(value) => Ok(value),
            _ => Err(json.unexpected("a boolean")),
        }
    }
}

impl FromJson for String {
    fn from_json(json: Json<'_>) -> Result<String, Error> {
        match json {
            Json::Text(text) => Ok(text.into_owned()),
            _ => Err(json.unexpected("a string")),
        }
    }
}

/// Absent and null values are None.
impl<T: FromJson> FromJson for Option<T> {
    fn from_json(json: Json<'_>) -> Result<Option<T>, Error> {
        match json {
            Json::Null => Ok(None),
            json => T::from_json(json).map(Some),
        }
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl<T: FromJson> FromJson for Box<T> {
    fn from_json(json: Json<'_>) -> Result<Box<T>, Error> {
        T::from_json(json).map(Box::new)
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(json: Json<'_>) -> Result<Vec<T>, Error> {
        match json {
            Json::List(items) => items.into_iter().map(T::from_json).collect(),
            _ => Err(json.unexpected("a sequence")),
        }
    }
}

impl<T: FromJson> FromJson for [T; 2] {
    fn from_json(json: Json<'_>) -> Result<[T; 2], Error> {
        let [a, b] = two(json, "an array of length 2")?;
        Ok([T::from_json(a)?, T::from_json(b)?])
    }
}

impl<A: FromJson, B: FromJson> FromJson for (A, B) {
    fn from_json(json: Json<'_>) -> Result<(A, B), Error> {
        let [a, b] = two(json, "a tuple of size 2")?;
        Ok((A::from_json(a)?, B::from_json(b)?))
    }
}

/// Returns both items of a list.
fn two<'a>(json: Json<'a>, expected: &str) -> Result<[Json<'a>; 2], Error> {
    match json {
        Json::List(items) => {
            let items = <[Json<'a>; 2]>::try_from(items);
            items.map_err(|items| Error::invalid_length(items.len(), &expected))
        }
        other => Err(other.unexpected(expected)),
    }
}
