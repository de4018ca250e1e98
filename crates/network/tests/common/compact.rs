//! Compact JSON: similar objects are stored by columns, and repeated values as numbered parts.
//!
//! ```text
//! {"$": N}                                           part N
//! {"rows": N, "all": {FIELD: VALUE}, "each": {FIELD: [VALUE, ...]}}   N objects with the same fields
//! ```

use serde_json::{json, Map, Value};
use std::collections::HashMap;

/// Minimum length of a value that is stored as a part.
const MIN_PART: usize = 24;

/// Replaces repeated values by references to parts. Returns the parts, each of which refers only to earlier ones, and
/// the shortened values.
pub fn shortened(values: &[&Value]) -> (Vec<Value>, Vec<Value>) {
    let folded: Vec<Value> = values.iter().map(|value| folded(value)).collect();
    let mut parts = Parts::default();
    folded.iter().for_each(|value| parts.count(value));
    let short = folded.iter().map(|value| parts.shortened(value)).collect();
    (parts.parts, short)
}

/// Restores a value.
pub fn expanded(value: &Value, parts: &[Value]) -> Value {
    if let Some(number) = value.get("$") {
        return expanded(&parts[number.as_u64().expect("a number") as usize], parts);
    }
    let value = within(value, &mut |value| expanded(value, parts));
    let (Some(rows), Some(all), Some(each)) = (value.get("rows"), value.get("all"), value.get("each")) else {
        return value;
    };
    let rows = 0..rows.as_u64().expect("a number") as usize;
    let each = each.as_object().expect("columns");
    let row = |at: usize| {
        let mut row = all.as_object().expect("fields").clone();
        row.extend(each.iter().map(|(name, column)| (name.clone(), column[at].clone())));
        Value::Object(row)
    };
    rows.map(row).collect()
}

/// Returns a value after applying a function to its components.
fn within(value: &Value, change: &mut impl FnMut(&Value) -> Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), change(value)))
            .collect(),
        Value::Array(values) => values.iter().map(change).collect(),
        _ => value.clone(),
    }
}

/// Stores similar objects of a value by columns.
fn folded(value: &Value) -> Value {
    let value = within(value, &mut folded);
    let rows: Option<Vec<&Map<String, Value>>> = value
        .as_array()
        .and_then(|rows| rows.iter().map(Value::as_object).collect());
    let Some((first, rows)) = rows.as_deref().and_then(|rows| Some((*rows.first()?, rows))) else {
        return value;
    };
    if rows.len() < 2 || !rows.iter().all(|row| row.keys().eq(first.keys())) {
        return value;
    }
    let (all, each): (Vec<_>, Vec<_>) = first
        .iter()
        .partition(|(name, value)| rows.iter().all(|row| &row[*name] == *value));
    let all: Map<String, Value> = all
        .into_iter()
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let column = |name: &String| rows.iter().map(|row| row[name].clone()).collect::<Value>();
    let each: Map<String, Value> = each.into_iter().map(|(name, _)| (name.clone(), column(name))).collect();
    json!({"rows": rows.len(), "all": all, "each": each})
}

#[derive(Default)]
struct Parts {
    counts: HashMap<String, u32>,
    numbers: HashMap<String, usize>,
    parts: Vec<Value>,
}

impl Parts {
    fn count(&mut self, value: &Value) {
        match value {
            Value::Object(_) | Value::Array(_) => {
                let times = self.counts.entry(value.to_string()).or_default();
                *times += 1;
                // A part is written once; its components are not replaced by parts of their own.
                if *times > 1 {
                    return;
                }
            }
            _ => return,
        }
        match value {
            Value::Object(fields) => fields.values().for_each(|value| self.count(value)),
            Value::Array(values) => values.iter().for_each(|value| self.count(value)),
            _ => {}
        }
    }

    fn shortened(&mut self, value: &Value) -> Value {
        let text = value.to_string();
        if self.counts.get(&text).is_none_or(|&times| times < 2) || text.len() < MIN_PART {
            return within(value, &mut |value| self.shortened(value));
        }
        if !self.numbers.contains_key(&text) {
            let part = within(value, &mut |value| self.shortened(value));
            self.numbers.insert(text.clone(), self.parts.len());
            self.parts.push(part);
        }
        json!({"$": self.numbers[&text]})
    }
}
