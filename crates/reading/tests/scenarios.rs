//! Compares the reader with `Scenario`'s derived `Deserialize`, for accepted and for refused scenarios.

use longpipe_network::Scenario;
use serde_json::{json, Value};
use std::path::Path;

/// Returns resolved scenarios that random tests have found, with all framings and many kinds of parts.
fn kept() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../network/tests/regressions");
    let files = std::fs::read_dir(folder).expect("the folder of regressions");
    files
        .map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("a file that can be read"))
        .map(|text| serde_json::from_str::<Value>(&text).expect("JSON")["scenario"].take())
        .collect()
}

#[test]
fn scenarios_are_read_as_by_their_own_rules() {
    let scenarios = kept();
    assert!(scenarios.len() > 5);
    for scenario in scenarios {
        let text = scenario.to_string();
        let own: Scenario = serde_json::from_str(&text).expect("a scenario");
        let read = longpipe_reading::from_json::<Scenario>(&text).expect("a scenario");
        assert_eq!(format!("{read:?}"), format!("{own:?}"));
    }
}

#[test]
fn unknown_missing_and_wrong_fields_are_refused_by_name() {
    let scenario = kept().remove(0);
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut changed = scenario.clone();
        change(&mut changed);
        longpipe_reading::from_json::<Scenario>(&changed.to_string())
            .expect_err("refused")
            .to_string()
    };
    let unknown = refused(&|scenario| scenario["speed"] = json!(1));
    assert!(unknown.contains("unknown field `speed`"), "{unknown}");
    let unknown = refused(&|scenario| scenario["links"][0]["speed"] = json!(1));
    assert!(unknown.contains("unknown field `speed`"), "{unknown}");
    let missing = refused(&|scenario| {
        scenario.as_object_mut().expect("fields").remove("ties");
    });
    assert!(missing.contains("missing field `ties`"), "{missing}");
    let kind = refused(&|scenario| scenario["flows"][0]["tcp"]["congestion"] = json!({"kind": "best"}));
    assert!(kind.contains("unknown variant `best`"), "{kind}");
    let wrong = refused(&|scenario| scenario["duration_ps"] = json!("long"));
    assert!(wrong.contains("expected u64"), "{wrong}");
    let text = longpipe_reading::from_json::<Scenario>("{")
        .expect_err("no JSON")
        .to_string();
    assert!(text.starts_with("EOF while parsing"), "{text}");
}
