//! Converts the columns of a run to JavaScript objects that contain typed arrays.

use js_sys::{Array, Float64Array, Int8Array, Object, Reflect, Uint32Array, Uint8Array};
use longpipe_events::Time;
use longpipe_network::observe::columns::Values as Trace;
use longpipe_network::report::tables::{self, Run, Table, Values};
use longpipe_network::report::Report;
use longpipe_network::{Recorder, Scenario};
use wasm_bindgen::JsValue;

/// Sets a field of a plain object; this cannot fail.
pub fn put(object: &Object, name: &str, value: &JsValue) {
    let _ = Reflect::set(object, &JsValue::from_str(name), value);
}

/// Converts numbers to a Float64Array, in which counts up to 2^53 are exact.
pub fn floats(values: impl Iterator<Item = f64>) -> JsValue {
    Float64Array::from(&values.collect::<Vec<f64>>()[..]).into()
}

/// Converts strings to an array.
pub fn texts<'a>(values: impl Iterator<Item = &'a str>) -> JsValue {
    values.map(JsValue::from_str).collect::<Array>().into()
}

/// Returns the counters of a run.
pub fn of_report(scenario: &Scenario, report: &Report) -> Object {
    let (result, run) = (Object::new(), Run { scenario, report });
    for table in tables::of(run).filter(|table| !table.is_large) {
        put(&result, table.name, &of_table(table, &run));
    }
    let hash = format!("{:016x}", report.state_hash);
    put(&result, "state_hash", &JsValue::from_str(&hash));
    put(&result, "events", &JsValue::from_f64(report.events as f64));
    result
}

fn of_table(table: &Table, run: &Run<'_>) -> Object {
    let columns = Object::new();
    let rows = (table.rows)(run);
    for column in table.columns_of(run) {
        let rows = rows.iter().copied();
        let values = match column.values {
            Values::Text(of) => rows.map(|row| JsValue::from(of(run, row))).collect::<Array>().into(),
            Values::Number(of) => Uint32Array::from(&rows.map(|row| of(run, row)).collect::<Vec<u32>>()[..]).into(),
            Values::Count(of) => floats(rows.map(|row| of(run, row) as f64)),
            Values::Real(of) => floats(rows.map(|row| of(run, row))),
        };
        put(&columns, column.name, &values);
    }
    columns
}

/// Returns the traces that the scenario requests.
pub fn of_traces(scenario: &Scenario, recorder: Recorder) -> Object {
    let traces = Object::new();
    for table in recorder.into_tables(scenario) {
        let columns = Object::new();
        for (name, values) in table.columns {
            put(&columns, name, &of_trace(values));
        }
        put(&traces, table.name, &columns);
    }
    traces
}

fn of_trace(values: Trace) -> JsValue {
    match values {
        Trace::Times(times) => floats(times.into_iter().map(|time| Time(time).as_seconds())),
        Trace::U32(words) => Uint32Array::from(&words[..]).into(),
        Trace::U8(bytes) => Uint8Array::from(&bytes[..]).into(),
        Trace::I8(numbers) => Int8Array::from(&numbers[..]).into(),
        Trace::U64(counts) => floats(counts.into_iter().map(|count| count as f64)),
        Trace::I64(places) => floats(places.into_iter().map(|place| place as f64)),
        Trace::F64(numbers) => floats(numbers.into_iter()),
        Trace::Bools(flags) => Uint8Array::from(&flags.into_iter().map(u8::from).collect::<Vec<u8>>()[..]).into(),
    }
}
