//! Errors that the core reports for resolved scenarios that it rejects.

use crate::common::kept::Kept;
use longpipe_network::Scenario;
use serde_json::{json, Value};
use std::path::Path;

/// Returns a valid scenario.
fn valid() -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of regressions")
        .map(|file| file.expect("a file").path())
        .collect();
    files.sort();
    serde_json::to_value(&Kept::read(&files[0]).scenario).expect("JSON")
}

/// Returns the error that results from applying `change` to a valid scenario.
fn error(change: impl FnOnce(&mut Value)) -> String {
    let mut scenario = valid();
    change(&mut scenario);
    Scenario::from_json(&scenario.to_string())
        .expect_err("an invalid scenario")
        .to_string()
}

#[test]
fn unknown_fields_are_rejected_by_name_at_every_level() {
    for message in [
        error(|scenario| scenario["speed"] = json!(1)),
        error(|scenario| scenario["links"][0]["speed"] = json!(1)),
        error(|scenario| scenario["flows"][0]["tcp"]["speed"] = json!(1)),
    ] {
        assert!(message.contains("unknown field `speed`"), "{message}");
    }
}

#[test]
fn each_flow_has_its_own_tcp_although_equal_ones_are_parsed_once() {
    let mut scenario = valid();
    let sizes = [1000, 1000, 2000, 1000];
    let flow = |mss: u32| {
        let mut flow = scenario["flows"][0].clone();
        flow["tcp"]["mss_bytes"] = json!(mss);
        flow
    };
    let flows: Vec<Value> = sizes.map(flow).into();
    scenario["flows"] = json!(flows);
    let read = Scenario::from_json(&scenario.to_string()).expect("a scenario");
    assert_eq!(
        read.flows.iter().map(|flow| flow.tcp.mss_bytes).collect::<Vec<_>>(),
        sizes
    );
}

#[test]
fn missing_fields_unknown_kinds_and_wrong_types_are_rejected() {
    let missing = error(|scenario| {
        scenario.as_object_mut().expect("fields").remove("ties");
    });
    assert!(missing.contains("missing field `ties`"), "{missing}");
    let kind = error(|scenario| scenario["flows"][0]["tcp"]["congestion"] = json!({"kind": "best"}));
    assert!(kind.contains("unknown variant `best`"), "{kind}");
    let wrong = error(|scenario| scenario["duration_ps"] = json!("long"));
    assert!(wrong.contains("expected u64"), "{wrong}");
}
