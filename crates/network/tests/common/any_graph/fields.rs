//! Numeric fields of a scenario set to zero, or to the minimum or maximum that the checks accept.
//!
//! Fields are found in the scenario's JSON, and their bounds by calling the checks, so that new fields are included
//! automatically.

use super::work;
use crate::common::SECOND;
use longpipe_network::scenario::topology::Topology;
use longpipe_network::scenario::{Scenario, TrafficConfig};
use proptest::prelude::*;
use serde_json::{Number, Value};

/// Maximum number of packets or cells that traverse links after the change.
const MAX_WORK: u64 = 60_000;
/// Maximum number of a controller's updates in one run.
const MAX_UPDATES: u64 = 200_000;
/// Maximum mean number of packets in a video frame.
const MAX_PER_FRAME: u64 = 1000;
/// Minimum frame interval that the checks accept.
const MIN_FRAME_PS: u64 = SECOND / 10_000;
/// Names of a scenario's parts, and names of fields that refer to other parts.
const PARTS: [&str; 4] = ["links", "flows", "nodes", "vbr"];
const NAMES: [&str; 5] = ["from", "to", "route", "return_route", "flow"];

/// An end of a field's range.
#[derive(Clone, Copy, Debug)]
enum End {
    Least,
    /// The value 1, or the smallest positive number.
    LeastPositive,
    Largest,
}

/// A field, and an end of its range.
#[derive(Clone, Copy, Debug)]
pub struct FieldDraft {
    part: usize,
    field: usize,
    end: End,
}

/// Strategy: usually no field, sometimes a few fields.
pub fn any_fields() -> impl Strategy<Value = Vec<FieldDraft>> {
    let part = prop_oneof![4 => Just(0usize), 4 => Just(1), 1 => Just(2), 1 => Just(3)];
    let end = prop_oneof![3 => Just(End::Least), 1 => Just(End::LeastPositive), 2 => Just(End::Largest)];
    let draft = (part, 0usize..1 << 20, end).prop_map(|(part, field, end)| FieldDraft { part, field, end });
    prop_oneof![3 => Just(vec![]), 2 => prop::collection::vec(draft, 1..5)]
}

/// Sets the fields, and shortens the run if it would process too many packets.
pub fn set(scenario: &mut Scenario, drafts: &[FieldDraft]) {
    for draft in drafts {
        let value = serde_json::to_value(&*scenario).expect("a scenario is plain data");
        let mut fields = vec![];
        let part = PARTS[draft.part];
        find_numbers(&value[part], &format!("/{part}"), &mut fields);
        if !fields.is_empty() {
            let field = &fields[draft.field % fields.len()];
            if let Some(changed) = at_end(value, field, draft.end) {
                *scenario = changed;
            }
        }
    }
    if drafts.is_empty() {
        return;
    }
    for flow in &mut scenario.flows {
        if let TrafficConfig::Video(video) = &mut flow.traffic {
            // The packets of a frame are sent at once, so the duration does not limit their number.
            let bits = u64::from(video.payload_bytes) * 8 * MAX_PER_FRAME;
            let max_ps = u128::from(bits) * u128::from(SECOND) / u128::from(video.rate_bps);
            video.frame_ps = video.frame_ps.min((max_ps as u64).max(MIN_FRAME_PS));
            video.rate_bps = video.rate_bps.min(bits * (SECOND / MIN_FRAME_PS));
        }
    }
    let updates = scenario.links.iter().filter_map(|link| link.policy.update_ps());
    let updates = updates
        .min()
        .map_or(u64::MAX, |update| update.saturating_mul(MAX_UPDATES));
    let max = work::duration_ps(scenario, MAX_WORK).min(updates);
    scenario.duration_ps = scenario.duration_ps.min(max);
}

/// Collects the JSON pointers of all numbers that do not refer to other parts.
fn find_numbers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(at.to_owned()),
        Value::Array(rows) => {
            let rows = rows.iter().enumerate();
            rows.for_each(|(index, row)| find_numbers(row, &format!("{at}/{index}"), found));
        }
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| !NAMES.contains(&name.as_str()));
            fields.for_each(|(name, field)| find_numbers(field, &format!("{at}/{name}"), found));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Returns the scenario with one field at an end of its accepted range; None if the field's value is not a nonnegative
/// number.
fn at_end(mut value: Value, field: &str, end: End) -> Option<Scenario> {
    let number = value.pointer(field)?.as_number()?.clone();
    // The bit patterns of nonnegative floating-point numbers have the same order as the numbers.
    let (is_float, mut inside) = match number.as_u64() {
        Some(number) => (false, number),
        None => (
            true,
            number.as_f64().filter(|number| number.is_sign_positive())?.to_bits(),
        ),
    };
    let mut outside = match (end, is_float) {
        (End::Least, _) => 0,
        (End::LeastPositive, _) => 1,
        (End::Largest, false) => u64::MAX,
        (End::Largest, true) => f64::MAX.to_bits(),
    };
    let mut accepted = |bits: u64| {
        let number = if is_float {
            Number::from_f64(f64::from_bits(bits))?
        } else {
            Number::from(bits)
        };
        *value.pointer_mut(field)? = Value::Number(number);
        let scenario = Scenario::from_json(&value.to_string()).ok()?;
        Topology::new(&scenario).is_ok().then_some(scenario)
    };
    let mut found = accepted(outside);
    if found.is_some() {
        return found;
    }
    while inside.abs_diff(outside) > 1 {
        let middle = inside.min(outside) + inside.abs_diff(outside) / 2;
        match accepted(middle) {
            Some(scenario) => (inside, found) = (middle, Some(scenario)),
            None => outside = middle,
        }
    }
    found
}
