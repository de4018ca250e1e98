//! Settings of TCP: those of the scenario, under those of a flow or its group, under those of a proxy.

use crate::input::{self, read};
use crate::rules::{least_window_scale, Rules};
use crate::units::{self, SIZE, TIME};
use crate::Problems;
use longpipe_json::Json;
use serde::Serialize;
use std::borrow::Cow;

/// Rules and options of connections from the description of scenarios.
#[derive(Debug)]
pub struct Facts {
    pub(crate) rules: Rules,
    /// Field that each rule concerns.
    fields: Vec<String>,
    /// Options of congestion controls that profiles set, by profile and control.
    options: Json<'static>,
    /// Longest mean pause of VBR sources.
    pub(crate) most_pause: String,
}

/// Settings of TCP.
#[derive(Clone)]
pub(crate) struct Tcp<'a> {
    /// Fields as the scenario sets them.
    pub(crate) fields: Json<'a>,
    /// Name of each field, its name in the core and its value there; without the window and its scale, which follow from
    /// other fields.
    core: Vec<(String, String, Json<'a>)>,
    /// Names of the fields that a flow, a group or a proxy sets.
    written: Vec<String>,
    /// Names of the options of the congestion control that are set.
    options: Vec<String>,
    /// Field and message of each rule that the timer violates.
    timer_problems: Vec<(String, String)>,
}

/// Settings of TCP in the form of the core.
#[derive(Serialize)]
pub struct TcpRow<'a> {
    /// Fields.
    fields: Json<'a>,
    /// Whether data packets have the codepoint ECT(1), a property of the flow in the network, not of TCP.
    scalable: bool,
}

impl Facts {
    /// Reads facts from JSON.
    ///
    /// # Errors
    /// Returns a message about the first rule that is no comparison.
    pub fn read(text: &str) -> Result<Facts, Problems> {
        Facts::of(read(text)?)
    }

    /// Reads facts from a table.
    ///
    /// # Errors
    /// Returns a message about the first rule that is no comparison.
    pub(crate) fn of(mut json: Json<'_>) -> Result<Facts, Problems> {
        let fields = json.take("fields").texts().unwrap_or_default();
        Ok(Facts {
            rules: Rules::of(json.take("rules"))?,
            fields,
            options: json.take("options").into_owned(),
            most_pause: json.take("most_pause").text().unwrap_or_default(),
        })
    }
}

impl<'a> Tcp<'a> {
    /// Reads the fields, the rows for the core, the written fields, the written options and the timer's problems.
    pub(crate) fn of(mut row: Json<'a>) -> Option<Tcp<'a>> {
        let (fields, core, timer) = (row.item(0), row.item(1).list(), row.item(4).list());
        let core = core.into_iter();
        let core = core.map(|mut row| Some((row.item(0).text()?, row.item(1).text()?, row.item(2))));
        let timer = timer.into_iter();
        let timer = timer.map(|mut problem| Some((problem.item(0).text()?, problem.item(1).text()?)));
        Some(Tcp {
            fields,
            core: core.collect::<Option<_>>()?,
            written: row.item(2).texts()?,
            options: row.item(3).texts()?,
            timer_problems: timer.collect::<Option<_>>()?,
        })
    }

    /// Returns the settings under those that `own` sets.
    pub(crate) fn under(&self, own: &Tcp<'a>) -> Tcp<'a> {
        let mut merged = self.clone();
        for name in &own.written {
            merged.fields.set(name, own.fields.at(name).clone());
            merged.replace(name, own.core.iter().filter(|row| row.0 == *name).cloned().collect());
            if !merged.written.contains(name) {
                merged.written.push(name.clone());
            }
        }
        if own.sets("congestion") {
            merged.options.clone_from(&own.options);
        }
        if own.sets("timer") {
            merged.timer_problems.clone_from(&own.timer_problems);
        }
        merged
    }

    /// Returns the settings of the scenario under a flow's own.
    pub(crate) fn of_flow(&self, own: &Tcp<'a>, facts: &Facts) -> Tcp<'a> {
        let mut merged = self.under(own);
        if own.sets("congestion") {
            merged.add_options(facts);
        }
        // A handshake and a known RTT exclude each other; the flow's own setting replaces the scenario's.
        let initial_rtt = own.fields.at("initial_rtt").as_str();
        let knows_rtt = initial_rtt.and_then(|text| units::parse(TIME, text)) > Some(0);
        if own.sets("initial_rtt") && !own.sets("handshake") && knows_rtt {
            merged.fields.set("handshake", Json::Bool(false));
            merged.replace("handshake", vec![]);
        } else if !own.sets("initial_rtt") && own.fields.at("handshake") == &Json::Bool(true) {
            merged.fields.set("initial_rtt", Json::Text("0 s".into()));
            merged.replace("initial_rtt", vec![]);
        }
        merged
    }

    /// Adds the options of the congestion control that the profile sets and the flow does not.
    fn add_options(&mut self, facts: &Facts) {
        let kind = self
            .fields
            .at("congestion.kind")
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let profile = facts.options.at(self.fields.at("profile").as_str().unwrap_or_default());
        let options = profile.at(&kind);
        let is_set = |name: &str| self.options.iter().any(|option| option == name);
        if is_set("rules") && self.fields.at("congestion.rules") != options.at("rules") {
            return;
        }
        let Json::Table(options) = options else {
            return;
        };
        let options: Vec<_> = options.iter().filter(|(name, _)| !is_set(name)).cloned().collect();
        let mut congestion = self.fields.at("congestion").clone();
        // The core has the options of some controls in a field of their own.
        let place = self.core.iter().position(|row| row.1 == kind);
        let place = place.or_else(|| self.core.iter().position(|row| row.1 == "congestion"));
        for (name, value) in options {
            congestion.set(&name, value.clone());
            if let Some((_, _, table)) = place.map(|place| &mut self.core[place]) {
                if table.as_str().is_some() {
                    *table = Json::Table(vec![("kind".into(), std::mem::take(table))]);
                }
                table.set(&name, value);
            }
        }
        self.fields.set("congestion", congestion);
    }

    /// Returns whether a flow sets a field.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.written.iter().any(|written| written == name)
    }

    fn replace(&mut self, name: &str, rows: Vec<(String, String, Json<'a>)>) {
        self.core.retain(|row| row.0 != name);
        self.core.extend(rows);
    }

    /// Returns a field that is text.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.fields.at(name).as_str().unwrap_or_default()
    }

    fn is_scalable(&self) -> bool {
        matches!(self.text("ecn.kind"), "dctcp" | "accurate") && self.fields.at("ecn.ect") == &Json::Number(1)
    }

    /// Returns the field and the message of each problem.
    pub(crate) fn problems(&self, facts: &Facts) -> Vec<(String, String)> {
        let violated = facts.rules.violated(&mut self.fields.clone()).into_iter();
        let problems = violated.map(|(rule, message)| (facts.fields[rule].clone(), message));
        let of_timer = self.timer_problems.iter();
        let of_timer = of_timer.map(|(name, message)| (format!("timer.{name}"), message.clone()));
        problems.chain(of_timer).collect()
    }

    /// Returns the settings in the form of the core.
    pub(crate) fn row(&self) -> TcpRow<'a> {
        let window = self.text("receiver_window");
        let scale = match self.fields.at("window_scale") {
            Json::Number(scale) => *scale,
            _ => least_window_scale(window).into(),
        };
        let scalable = self.is_scalable();
        let rows = self.core.iter();
        let mut fields: Vec<(Cow<'a, str>, Json<'a>)> = rows
            .map(|(_, key, value)| (key.clone().into(), value.clone()))
            .collect();
        for (key, value) in &mut fields {
            match (&**key, value) {
                ("ecn", Json::Table(ecn)) if scalable => ecn.retain(|(name, _)| name != "ect"),
                // A module without ticks of its own has those of TCP.
                ("congestion", control)
                    if control.at("kind").as_str() == Some("module") && control.at("hz") == &Json::Null =>
                {
                    control.set("hz", self.fields.at("hz").clone());
                }
                _ => {}
            }
        }
        let window_bytes = units::parse(SIZE, window).unwrap_or_default();
        fields.push(("receiver_window_bytes".into(), Json::Number(window_bytes)));
        fields.push(("window_scale".into(), Json::Number(scale)));
        let fields = Json::Table(fields);
        TcpRow { fields, scalable }
    }

    /// Returns what concerns the lengths of packets.
    pub(crate) fn of_ports(&self) -> input::Tcp {
        input::Tcp {
            mss_bytes: units::parse(SIZE, self.text("mss")).unwrap_or_default(),
            has_timestamps: self.text("timer.kind") == "fine"
                && self.fields.at("timer.timestamps") == &Json::Bool(true),
            is_automatic: self.text("receiver_window") == "auto",
        }
    }
}
