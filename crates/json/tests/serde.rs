//! `FromJson` accepts the JSON that serde's `Deserialize` accepts for the same declaration, and has the same messages.

use serde_json::{from_str, json, Value};

/// Declares types twice: once with serde's derive, and once with that of this crate.
macro_rules! twice {
    ($($item:item)+) => {
        mod by_serde {
            use serde::Deserialize;
            $(#[derive(Debug, PartialEq, Deserialize)] $item)+
        }

        mod by_tree {
            use longpipe_json::FromJson;
            $(#[derive(Debug, PartialEq, FromJson)] $item)+
        }
    };
}

twice! {
    #[serde(deny_unknown_fields)]
    pub struct Link {
        rate: u32,
        offset: i64,
        share: Option<f64>,
        #[serde(rename = "in-use", default)]
        in_use: bool,
        #[serde(default = "crate::unnamed")]
        name: String,
        steps: Vec<[u64; 2]>,
        pairs: Vec<(u64, u32)>,
        ties: Ties,
        policy: Box<Policy>,
    }

    #[serde(rename_all = "kebab-case")]
    pub enum Ties {
        PortOrder,
        #[serde(rename = "at-random")]
        Random,
    }

    #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
    pub enum Policy {
        TailDrop {},
        Red { min: u64, max: Option<u64> },
        Codel(Codel),
    }

    #[serde(deny_unknown_fields)]
    pub struct Codel {
        target: u16,
    }
}

fn unnamed() -> String {
    "unnamed".to_owned()
}

fn link() -> Value {
    json!({
        "rate": 1, "offset": -2, "share": 0.5, "in-use": true, "name": "a\n\u{e9}", "steps": [[1, 2], [3, 4]],
        "pairs": [[5, 6]], "ties": "port-order", "policy": {"kind": "red", "min": 1, "max": null},
    })
}

/// Returns the message without the position, which is that of the part with serde, and that of the whole otherwise.
fn message(text: &str) -> String {
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Returns the value or the message of both deserializers.
fn both(text: &str) -> [Result<String, String>; 2] {
    let by_serde = from_str::<by_serde::Link>(text).map(|link| format!("{link:?}"));
    let by_tree = from_str::<by_tree::Link>(text).map(|link| format!("{link:?}"));
    [by_serde, by_tree].map(|read| read.map_err(|error| message(&error.to_string())))
}

#[test]
fn values_and_messages_equal_those_of_serde() {
    let values = [
        json!(null),
        json!(0),
        json!(7),
        json!(-7),
        json!(70_000),
        json!(5_000_000_000_u64),
        json!(u64::MAX),
        json!(1.5),
        json!(true),
        json!("random"),
        json!("at-random"),
        json!([]),
        json!([[1, 2]]),
        json!({"kind": "tail-drop"}),
        json!({"kind": "tail-drop", "min": 1}),
        json!({"kind": "red"}),
        json!({"kind": "red", "min": 3}),
        json!({"kind": "red", "min": "3"}),
        json!({"kind": "codel", "target": 3}),
        json!({"kind": "codel", "target": 70_000}),
        json!({"kind": "codel", "target": 3, "interval": 4}),
        json!({"kind": "other"}),
        json!({"min": 3}),
    ];
    let names: Vec<String> = link().as_object().expect("a table").keys().cloned().collect();
    let mut accepted = 0;
    for name in names.iter().map(String::as_str).chain(["other"]) {
        for value in &values {
            let mut changed = link();
            changed[name] = value.clone();
            let [by_serde, by_tree] = both(&changed.to_string());
            // A value of another type at an enum has other words for the accepted ones.
            let is_enum = match name {
                "ties" => !value.is_string(),
                "policy" => !value.is_object(),
                _ => false,
            };
            if is_enum {
                assert!(by_serde.is_err() && by_tree.is_err(), "{name} = {value}");
            } else {
                assert_eq!(by_serde, by_tree, "{name} = {value}");
            }
            accepted += usize::from(by_tree.is_ok());
        }
        let mut absent = link();
        absent.as_object_mut().expect("a table").remove(name);
        let [by_serde, by_tree] = both(&absent.to_string());
        assert_eq!(by_serde, by_tree, "without {name}");
    }
    assert!(accepted > 10, "{accepted}");
}

#[test]
fn repeated_fields_and_other_types_are_rejected() {
    let text = link().to_string();
    let repeated = text.replacen('{', "{\"rate\": 1, ", 1);
    for text in [repeated.as_str(), "3", "\"a\"", "[1", "{\"rate\": 1e400}"] {
        let [by_serde, by_tree] = both(text);
        assert_eq!(by_serde, by_tree, "{text}");
    }
}
