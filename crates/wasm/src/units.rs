//! Quantities as texts with units: see crates/units.

use js_sys::Array;
use longpipe_units::{Bounded, Decimal, Dimension};
use wasm_bindgen::prelude::*;

fn thrown(problem: String) -> JsError {
    JsError::new(&problem)
}

fn dimension(name: &str) -> Result<&'static Dimension, JsError> {
    Dimension::named(name).ok_or_else(|| thrown(format!("{name}: no dimension")))
}

/// Returns the units of a dimension, each with its number of base units.
///
/// # Errors
/// Returns a message about an unknown dimension.
#[wasm_bindgen]
pub fn units_of(name: &str) -> Result<Array, JsError> {
    let units = dimension(name)?.units.iter();
    Ok(units
        .map(|(unit, scale)| Array::of2(&JsValue::from_str(unit), &JsValue::from_f64(*scale as f64)))
        .collect())
}

/// Returns the clause of a message with the accepted units.
///
/// # Errors
/// Returns a message about an unknown dimension.
#[wasm_bindgen]
pub fn accepted_units(name: &str, unlimited: bool) -> Result<String, JsError> {
    let dimension = Dimension {
        unlimited,
        ..*dimension(name)?
    };
    Ok(dimension.accepts())
}

/// Returns a quantity in base units.
///
/// # Errors
/// Returns a message with the value and what is accepted.
#[wasm_bindgen]
pub fn parse_quantity(name: &str, text: &str) -> Result<u64, JsError> {
    let number = dimension(name)?.parse(text).map_err(thrown)?;
    number
        .to_u64()
        .ok_or_else(|| thrown(format!("{text}; needs a smaller value")))
}

/// Returns a quantity in canonical form.
///
/// # Errors
/// Returns a message with the value and what is accepted.
#[wasm_bindgen]
pub fn canonical_quantity(name: &str, text: &str) -> Result<String, JsError> {
    dimension(name)?.canonical(text).map_err(thrown)
}

/// Returns a quantity from `low` to `high`, or 'unlimited', or 'auto', in canonical form.
///
/// # Errors
/// Returns a message with the value and what is accepted.
#[wasm_bindgen]
pub fn check_quantity(
    name: &str,
    unlimited: bool,
    low: &str,
    high: &str,
    auto: bool,
    text: &str,
) -> Result<String, JsError> {
    let dimension = Dimension {
        unlimited,
        ..*dimension(name)?
    };
    let bounded = Bounded::new(dimension, low, high, auto).map_err(thrown)?;
    bounded.check(text).map_err(thrown)
}

/// Returns the size of a buffer in canonical form.
///
/// # Errors
/// Returns a message with the value and what is accepted.
#[wasm_bindgen]
pub fn check_buffer(text: &str) -> Result<String, JsError> {
    longpipe_units::buffer(text).map_err(thrown)
}

/// Returns a number times 10^`decimals`, exactly as written.
///
/// # Errors
/// Returns a message if the result is no integer.
#[wasm_bindgen]
pub fn in_parts(value: f64, decimals: u32) -> Result<u64, JsError> {
    let number = Decimal::read(&repr_of_float(value)).and_then(|number| number.in_parts(decimals));
    number.ok_or_else(|| thrown(format!("{value}; needs at most {decimals} decimals")))
}

/// Returns a text in quotes, as Python writes it.
#[wasm_bindgen]
pub fn repr(text: &str) -> String {
    longpipe_units::repr(text)
}

/// Returns the shortest text that denotes a number, as Python writes it.
#[wasm_bindgen]
pub fn repr_of_float(value: f64) -> String {
    longpipe_units::repr_of_float(value)
}

/// Returns a clause with the closest accepted name, if one is close, and all accepted names.
#[wasm_bindgen]
pub fn nearest(word: &str, accepted: Vec<String>) -> String {
    let accepted: Vec<&str> = accepted.iter().map(String::as_str).collect();
    longpipe_scenario::names::nearest(word, &accepted, usize::MAX)
}
