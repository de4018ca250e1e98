//! Reading of numbers, texts and lists.

use crate::{Read, Refused, Value};

#[inline(never)]
fn whole(value: &Value, most: u64, expected: &str) -> Result<u64, Refused> {
    match *value {
        Value::Whole(number) if number <= most => Ok(number),
        Value::Whole(_) => Err(value.refused("invalid value", expected)),
        _ => Err(value.refused("invalid type", expected)),
    }
}

macro_rules! whole {
    ($($number:ident)+) => {$(
        impl Read for $number {
            fn read(value: Value) -> Result<$number, Refused> {
                whole(&value, $number::MAX as u64, stringify!($number)).map(|number| number as $number)
            }
        }
    )+};
}

whole!(u32 u64 usize);

impl Read for f64 {
    fn read(value: Value) -> Result<f64, Refused> {
        match value {
            Value::Whole(number) => Ok(number as f64),
            Value::Negative(number) => Ok(number as f64),
            Value::Float(number) => Ok(number),
            _ => Err(value.refused("invalid type", "f64")),
        }
    }
}

impl Read for bool {
    fn read(value: Value) -> Result<bool, Refused> {
        match value {
            Value::Truth(truth) => Ok(truth),
            _ => Err(value.refused("invalid type", "a boolean")),
        }
    }
}

impl Read for String {
    fn read(value: Value) -> Result<String, Refused> {
        match value {
            Value::Text(text) => Ok(text),
            _ => Err(value.refused("invalid type", "a string")),
        }
    }
}

impl<T: Read> Read for Option<T> {
    fn read(value: Value) -> Result<Option<T>, Refused> {
        match value {
            Value::Null => Ok(None),
            value => T::read(value).map(Some),
        }
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl<T: Read> Read for Box<T> {
    fn read(value: Value) -> Result<Box<T>, Refused> {
        T::read(value).map(Box::new)
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(value: Value) -> Result<Vec<T>, Refused> {
        value.items("a sequence")?.into_iter().map(T::read).collect()
    }
}

fn pair(value: Value, expected: &str) -> Result<[Value; 2], Refused> {
    let items = value.items(expected)?;
    let length = items.len();
    <[Value; 2]>::try_from(items).map_err(|_| Refused::new(format!("invalid length {length}, expected {expected}")))
}

impl<T: Read> Read for [T; 2] {
    fn read(value: Value) -> Result<[T; 2], Refused> {
        let [first, second] = pair(value, "an array of length 2")?;
        Ok([T::read(first)?, T::read(second)?])
    }
}

impl<A: Read, B: Read> Read for (A, B) {
    fn read(value: Value) -> Result<(A, B), Refused> {
        let [first, second] = pair(value, "a tuple of size 2")?;
        Ok((A::read(first)?, B::read(second)?))
    }
}
