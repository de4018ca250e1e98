//! Values of parameters, parsed according to the types that an object declares.

use longpipe_plugin::table::types;
use std::ffi::CString;

/// The error that occurs when an object is loaded, as one line: field of the scenario, its value, and the accepted
/// values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError(pub String);

impl LoadError {
    /// Returns the error for a file that is not accepted.
    pub fn file(name: &str, why: impl std::fmt::Display) -> LoadError {
        LoadError(format!("tcp.congestion.file: {name}; {why}"))
    }

    /// Returns the error for a parameter that a module does not have; `known` are the parameters that it has.
    pub fn unknown(name: &str, known: &[&str]) -> LoadError {
        let accepts = if known.is_empty() {
            "the module has no parameters".to_owned()
        } else {
            format!("accepts {}", known.join(", "))
        };
        LoadError::parameter(name, format!("unknown; {accepts}"))
    }

    /// Returns the error for a value that the module itself does not accept.
    pub fn refused(name: &str, value: &str) -> LoadError {
        LoadError::parameter(name, format!("{value}; the module does not accept it"))
    }

    /// Returns the error for a parameter that is not accepted.
    pub fn parameter(name: &str, why: impl std::fmt::Display) -> LoadError {
        LoadError(format!("tcp.congestion.parameters.{name}: {why}"))
    }
}

/// A value of a declared type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// Text.
    Text(CString),
}

impl Value {
    /// Parses a value of a declared type.
    pub fn read(name: &str, kind: u32, text: &str) -> Result<Value, LoadError> {
        let refused = |needs: &str| LoadError::parameter(name, format!("{text}; needs {needs}"));
        match kind {
            types::INTEGER => match text {
                "true" => Ok(Value::Integer(1)),
                "false" => Ok(Value::Integer(0)),
                _ => text.parse().map(Value::Integer).map_err(|_| refused("a whole number")),
            },
            types::REAL => text
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite())
                .map(Value::Real)
                .ok_or_else(|| refused("a number")),
            types::TEXT => CString::new(text).map(Value::Text).map_err(|_| refused("text")),
            _ => Err(refused("a parameter of a type that this longpipe knows")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parsed_according_to_their_type() {
        assert_eq!(Value::read("beta", types::INTEGER, "-717"), Ok(Value::Integer(-717)));
        assert_eq!(Value::read("on", types::INTEGER, "true"), Ok(Value::Integer(1)));
        assert_eq!(Value::read("gain", types::REAL, "0.5"), Ok(Value::Real(0.5)));
        let refused = Value::read("beta", types::INTEGER, "0.7").map_err(|error| error.0);
        assert_eq!(
            refused,
            Err("tcp.congestion.parameters.beta: 0.7; needs a whole number".to_owned())
        );
        assert!(Value::read("gain", types::REAL, "nan").is_err());
    }
}
