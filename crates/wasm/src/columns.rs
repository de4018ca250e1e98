//! Converts the columns of a run to JavaScript objects that contain typed arrays.

use js_sys::{Array, Float64Array, Object, Reflect, Uint32Array, Uint8Array};
use longpipe_events::Time;
use longpipe_network::report::flows::StreamReport;
use longpipe_network::report::packets::PacketReport;
use longpipe_network::report::{ClassReport, FlowReport, PortReport, Report, WebReport};
use longpipe_network::scenario::{Framing, LinkConfig};
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

fn seconds(time: Option<Time>) -> f64 {
    time.map_or(f64::NAN, Time::as_seconds)
}

/// Returns the counters of a run.
pub fn of_report(scenario: &Scenario, report: &Report) -> Object {
    let result = Object::new();
    put(&result, "flows", &of_flows(scenario, &report.flows));
    let ports = match scenario.framing {
        Framing::Aal5 => of_cells(scenario, &report.ports),
        Framing::Ip => of_packets(scenario, &report.packet_ports),
    };
    put(&result, "ports", &ports);
    put(&result, "classes", &of_classes(scenario, &report.classes));
    put(&result, "web", &of_web(scenario, &report.web));
    put(&result, "streams", &of_streams(scenario, &report.streams));
    let hash = format!("{:016x}", report.state_hash);
    put(&result, "state_hash", &JsValue::from_str(&hash));
    put(&result, "events", &JsValue::from_f64(report.events as f64));
    result
}

fn of_flows(scenario: &Scenario, flows: &[FlowReport]) -> Object {
    let columns = Object::new();
    put(
        &columns,
        "flow",
        &texts(scenario.flows.iter().map(|flow| flow.name.as_str())),
    );
    let integers = |name, column: fn(&FlowReport) -> u64| {
        put(&columns, name, &floats(flows.iter().map(|flow| column(flow) as f64)));
    };
    integers("delivered_bytes", |flow| flow.delivered_bytes);
    integers("sent_segments", |flow| flow.sender.sent_segments);
    integers("sent_bytes", |flow| flow.sender.sent_bytes);
    integers("short_bytes", |flow| flow.sender.short_bytes);
    integers("retransmitted_segments", |flow| flow.sender.retransmitted_segments);
    integers("retransmitted_bytes", |flow| flow.sender.retransmitted_bytes);
    integers("timeouts", |flow| flow.sender.timeouts);
    integers("fast_retransmits", |flow| flow.sender.fast_retransmits);
    integers("mark_reductions", |flow| flow.sender.mark_reductions);
    integers("duplicate_acks", |flow| flow.sender.duplicate_acks);
    put(
        &columns,
        "start_s",
        &floats(flows.iter().map(|flow| flow.start.as_seconds())),
    );
    put(
        &columns,
        "completion_s",
        &floats(flows.iter().map(|flow| seconds(flow.completion))),
    );
    columns
}

fn ports(scenario: &Scenario, hosts: impl Iterator<Item = bool>) -> Object {
    let columns = Object::new();
    let names: Vec<String> = (0..scenario.links.len())
        .map(|link| port_name(scenario, link))
        .collect();
    put(&columns, "port", &texts(names.iter().map(String::as_str)));
    put(
        &columns,
        "kind",
        &texts(hosts.map(|host| if host { "host" } else { "switch" })),
    );
    columns
}

fn port_name(scenario: &Scenario, link: usize) -> String {
    let LinkConfig { from, to, .. } = scenario.links[link];
    format!("{}->{}", scenario.nodes[from].name, scenario.nodes[to].name)
}

fn of_cells(scenario: &Scenario, rows: &[PortReport]) -> Object {
    let columns = ports(scenario, rows.iter().map(|port| port.host));
    let numbers = |name, column: fn(&PortReport) -> f64| put(&columns, name, &floats(rows.iter().map(column)));
    numbers("cells_in", |port| port.cells_in as f64);
    numbers("cells_out", |port| port.cells_out as f64);
    numbers("cells_lost_overflow", |port| port.lost_overflow as f64);
    numbers("cells_lost_aqm", |port| port.lost_aqm as f64);
    numbers("cells_lost_discarded", |port| port.lost_discarded as f64);
    numbers("cells_lost_injected", |port| port.lost_injected as f64);
    numbers("peak_queue_cells", |port| port.peak_queue as f64);
    numbers("mean_queue_cells", |port| port.mean_queue.unwrap_or(f64::NAN));
    numbers("utilization", |port| port.utilization);
    columns
}

fn of_classes(scenario: &Scenario, rows: &[ClassReport]) -> Object {
    let columns = Object::new();
    let names: Vec<String> = rows.iter().map(|row| port_name(scenario, row.port)).collect();
    put(&columns, "port", &texts(names.iter().map(String::as_str)));
    put(&columns, "class", &texts(rows.iter().map(|row| row.class.name())));
    let cells_out = rows.iter().map(|row| row.counters.cells_out as f64);
    put(&columns, "cells_out", &floats(cells_out));
    columns
}

fn of_packets(scenario: &Scenario, rows: &[PacketReport]) -> Object {
    let columns = ports(scenario, rows.iter().map(|port| port.host));
    let numbers = |name, column: fn(&PacketReport) -> f64| put(&columns, name, &floats(rows.iter().map(column)));
    numbers("packets_in", |port| port.packets_in as f64);
    numbers("packets_out", |port| port.packets_out as f64);
    numbers("packets_lost_overflow", |port| port.lost_overflow as f64);
    numbers("packets_lost_aqm", |port| port.lost_aqm as f64);
    numbers("packets_lost_injected", |port| port.lost_injected as f64);
    if rows.iter().any(|port| port.corrupted > 0) {
        numbers("packets_lost_errors", |port| port.corrupted as f64);
    }
    numbers("packets_marked", |port| port.packets_marked as f64);
    numbers("peak_queue_packets", |port| port.peak_packets as f64);
    numbers("mean_queue_packets", |port| port.mean_packets.unwrap_or(f64::NAN));
    numbers("utilization", |port| port.utilization);
    columns
}

fn of_web(scenario: &Scenario, rows: &[WebReport]) -> Object {
    let columns = Object::new();
    let names = rows.iter().map(|web| scenario.flows[web.flow].name.as_str());
    put(&columns, "flow", &texts(names));
    let numbers = |name, column: fn(&WebReport) -> usize| {
        put(&columns, name, &floats(rows.iter().map(|web| column(web) as f64)));
    };
    numbers("requests", |web| web.files.len());
    numbers("completed_files", |web| {
        web.files.iter().filter(|file| file.completed.is_some()).count()
    });
    numbers("scheduled_bytes", |web| web.scheduled_bytes as usize);
    columns
}

fn of_streams(scenario: &Scenario, rows: &[StreamReport]) -> Object {
    let columns = Object::new();
    let names = rows.iter().map(|own| scenario.flows[own.flow].name.as_str());
    put(&columns, "flow", &texts(names));
    put(
        &columns,
        "written_bytes",
        &floats(rows.iter().map(|own| own.written_bytes as f64)),
    );
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
