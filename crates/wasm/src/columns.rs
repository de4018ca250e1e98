//! Converts the columns of a run to JavaScript objects that contain typed arrays.

use js_sys::{Array, Float64Array, Object, Reflect, Uint32Array, Uint8Array};
use longpipe_events::Time;
use longpipe_network::report::tables::{self, Run, Table, Values};
use longpipe_network::report::Report;
use longpipe_network::scenario::Framing;
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

fn words(values: &[u32]) -> JsValue {
    Uint32Array::from(values).into()
}

/// Converts strings to an array.
pub fn texts<'a>(values: impl Iterator<Item = &'a str>) -> JsValue {
    values.map(JsValue::from_str).collect::<Array>().into()
}

/// Returns the counters of a run.
pub fn of_report(scenario: &Scenario, report: &Report) -> Object {
    let (result, run) = (Object::new(), Run { scenario, report });
    for table in tables::of(run) {
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
            Values::Count(of) => floats(rows.map(|row| of(run, row) as f64)),
            Values::Real(of) => floats(rows.map(|row| of(run, row))),
        };
        put(&columns, column.name, &values);
    }
    columns
}

/// Returns the rows of the traces that the scenario requests, in the form in which `longpipe run --csv` writes them.
pub fn of_traces(scenario: &Scenario, recorder: Recorder) -> Object {
    let (traces, wanted) = (Object::new(), scenario.traces);
    let times = |times: &[u64]| floats(times.iter().map(|&time| Time(time).as_seconds()));
    if wanted.cwnd {
        let (columns, rows) = (Object::new(), recorder.windows);
        put(&columns, "time_s", &times(&rows.time));
        put(&columns, "flow", &words(&rows.flow));
        put(&columns, "cwnd_bytes", &floats(rows.cwnd.into_iter()));
        put(&columns, "ssthresh_bytes", &floats(rows.ssthresh.into_iter()));
        put(&traces, "cwnd", &columns);
    }
    if wanted.queue {
        let (columns, rows) = (Object::new(), recorder.queues);
        let held = match scenario.framing {
            Framing::Aal5 => "queue_cells",
            Framing::Ip => "queue_packets",
        };
        put(&columns, "time_s", &times(&rows.time));
        put(&columns, "port", &words(&rows.port));
        put(&columns, held, &floats(rows.held.into_iter().map(|held| held as f64)));
        put(&traces, "queue", &columns);
    }
    if wanted.sequence {
        let (columns, rows) = (Object::new(), recorder.sequences);
        let again: Vec<u8> = rows.retransmission.iter().map(|&again| u8::from(again)).collect();
        put(&columns, "time_s", &times(&rows.time));
        put(&columns, "flow", &words(&rows.flow));
        put(&columns, "event", &Uint8Array::from(&rows.event[..]).into());
        put(
            &columns,
            "sequence_bytes",
            &floats(rows.sequence.into_iter().map(|byte| byte as f64)),
        );
        put(&columns, "length_bytes", &words(&rows.length));
        put(&columns, "retransmission", &Uint8Array::from(&again[..]).into());
        put(&traces, "sequence", &columns);
    }
    traces
}
