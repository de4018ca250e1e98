//! Quantities as texts with units: see crates/units.

use js_sys::Array;
use longpipe_units::Dimension;
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

/// Returns a clause with the closest accepted name, if one is close, and all accepted names.
#[wasm_bindgen]
pub fn nearest(word: &str, accepted: Vec<String>) -> String {
    let accepted: Vec<&str> = accepted.iter().map(String::as_str).collect();
    longpipe_scenario::names::nearest(word, &accepted, usize::MAX)
}
