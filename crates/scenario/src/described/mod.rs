//! Scenarios as users write them: checked against the description of all parts, and resolved for the core.

mod check;
mod defaults;
mod description;
mod network;
mod part;
mod words;

use crate::input::{read, Graph};
use crate::resolve::{self, Resolved};
use crate::{Facts, Problems, Topology};
use check::{Checker, Module};
use description::{get, Description};
use longpipe_json::Json;
use network::Network;
use part::{json_text, table, text, Part, Value};
use std::rc::Rc;
use words::fields_of;

/// Fields of a scenario that the core lacks or represents differently.
const OF_SCENARIO: [&str; 8] = [
    "name", "defaults", "network", "switch", "tcp", "traffic", "start", "stop",
];
/// Fields of VBR sources that the core represents differently.
const OF_VBR: [&str; 7] = ["from", "to", "route", "period", "duty", "phase", "rate"];
/// Fields of the resolved form that paths determine, or that follow from their delays.
const OF_PATHS: [&str; 7] = [
    "motion",
    "delay_ps",
    "loss",
    "policy",
    "buffer",
    "receiver_window_bytes",
    "window_scale",
];

/// The description of all parts, by which scenarios are checked and resolved, and the files of congestion controls.
#[derive(Debug)]
pub struct Described {
    description: Description,
    modules: Vec<Module>,
    facts: Facts,
}

/// A resolved scenario.
#[derive(Debug)]
pub struct Scenario {
    /// JSON text for the core.
    pub core: String,
    /// JSON text of all parts: model, values, and names of specified fields.
    pub parts: String,
    /// Longest RTT [ps] of all flows without queues.
    pub longest_round_trip_ps: u64,
}

impl Described {
    /// Reads the description from JSON.
    ///
    /// # Errors
    /// Returns a message about the first part that is not described in full.
    pub fn read(description_json: &str) -> Result<Described, Problems> {
        let description = Description::read(description_json)?;
        let facts = Facts::of(facts_of(&description))?;
        Ok(Described {
            description,
            modules: vec![],
            facts,
        })
    }

    /// Adds a file with a congestion control, which replaces an earlier one of this name.
    pub fn add_module(&mut self, name: String, digest: String, mut parameters: Vec<String>) {
        parameters.sort();
        self.modules.retain(|module| module.name != name);
        self.modules.push(Module {
            name,
            digest,
            parameters,
        });
    }

    /// Checks and resolves a scenario from its fields as JSON, in which a table with the key "\0" stands for a value that JSON
    /// does not have.
    ///
    /// # Errors
    /// Returns a line for each problem.
    pub fn resolve(&self, fields_json: &str) -> Result<Scenario, Problems> {
        self.resolve_fields(&words::with_floats(read(fields_json)?.into_owned()))
    }

    /// Checks a scenario with parts that only an expander of Python resolves, of which `core` is the resolved form.
    ///
    /// # Errors
    /// Returns a line for each problem; another one if the form belongs to other fields.
    pub fn resolve_expanded(&self, fields_json: &str, core: &str) -> Result<Scenario, Problems> {
        let mut fields = words::with_floats(read(fields_json)?.into_owned());
        if let (Json::Table(beyond), Json::Table(network)) =
            (self.description.facts.at("beyond"), fields.take("network"))
        {
            let is_known = |name: &str| !beyond.iter().any(|(other, _)| other == name);
            let network = network.into_iter().filter(|(name, _)| is_known(name)).collect();
            fields.set("network", Json::Table(network));
        }
        let shown = self.resolve_fields(&fields)?;
        if !is_same(&read(&shown.core)?, &read(core)?) {
            return Err(
                "core: not the form of these fields; needs an unchanged link of longpipe lab"
                    .to_owned()
                    .into(),
            );
        }
        let core = core.to_owned();
        Ok(Scenario { core, ..shown })
    }

    fn resolve_fields(&self, fields: &Json<'static>) -> Result<Scenario, Problems> {
        self.check_stands(fields.at("network"))?;
        let description = &self.description;
        let checker = || Checker::new(description, &self.modules);
        let mut scenario = checker().scenario(fields)?;
        let switch = scenario.part("switch");
        if scenario.text("framing") == "aal5" && !switch.sets("buffer") {
            let buffer = Value::Plain(description.facts.at("buffer_of_cells").clone());
            let switch = Value::Part(Rc::new(switch.with("buffer", buffer)));
            scenario = scenario.with("switch", switch);
        }
        let mut network = Network::new(&scenario, checker());
        let topology = crate::network::of_graph(Graph::of(network.json())?)?;
        let settings = network.settings(&scenario)?;
        let made = resolve::resolve_settings(&topology, &self.facts, settings)?;
        Ok(Scenario {
            core: core_of(&scenario, &network, &topology, &made)?,
            parts: text(&scenario.tree())?,
            longest_round_trip_ps: topology.longest_round_trip_ps(),
        })
    }

    /// Refuses time-varying links, whose fields are not described.
    fn check_stands(&self, network: &Json<'static>) -> Result<(), Problems> {
        let Json::Table(beyond) = self.description.facts.at("beyond") else {
            return Ok(());
        };
        let mut parts = vec![("network".to_owned(), network)];
        for list in ["nodes", "links"] {
            if let Json::List(items) = network.at(list) {
                let items = items.iter().enumerate();
                parts.extend(items.map(|(i, item)| (format!("network.{list}[{i}]"), item)));
            }
        }
        for (field, part) in parts {
            for (name, does) in beyond {
                let value = fields_of(part).and_then(|part| get(part, name)).unwrap_or(&Json::Null);
                if *value != Json::Null && *value != Json::List(vec![]) {
                    let does = does.as_str().unwrap_or_default();
                    return Err(
                        format!("{field}.{name}: {does}, which this page does not support; longpipe run does").into(),
                    );
                }
            }
        }
        Ok(())
    }
}

/// Returns a value as Python writes it, shortened.
///
/// # Errors
/// Returns a message about text that is not JSON.
pub fn shown(value_json: &str) -> Result<String, Problems> {
    Ok(words::shown(&words::with_floats(read(value_json)?.into_owned())))
}

/// Returns what the description states about connections and VBR.
fn facts_of(description: &Description) -> Json<'static> {
    let rules = &description.model("Tcp").written_rules;
    let texts = |texts: &[String]| Json::List(texts.iter().map(|text| json_text(text)).collect());
    let most_pause = match description.model("OnOff").field("period").map(|field| &field.ty.is) {
        Some(description::Is::Quantity { bounds, .. }) => bounds.high(),
        _ => "",
    };
    table([
        (
            "fields",
            Json::List(rules.iter().map(|[field, ..]| json_text(field)).collect()),
        ),
        (
            "rules",
            Json::List(rules.iter().map(|rule| texts(&rule[1..])).collect()),
        ),
        ("options", description.facts.at("rules").clone()),
        ("most_pause", json_text(most_pause)),
    ])
}

/// Returns the resolved scenario as JSON text. Parts that several flows or links have are converted once.
fn core_of(
    scenario: &Part<'_>,
    network: &Network<'_>,
    topology: &Topology,
    made: &Resolved<'_>,
) -> Result<String, Problems> {
    let description = network.description();
    let traffic = scenario.part("traffic");
    let tcps = made.tcps.iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let mut common = vec![];
    for (i, (of, _)) in topology.parts().into_iter().enumerate() {
        let flow = &network.flows[of];
        let own = description
            .rows(flow, |name| ["class", "service"].contains(&name))
            .into_iter();
        let own = Json::Table(own.map(|(_, key, value)| (key.into(), value)).collect());
        let traffic = flow.get("traffic").part().unwrap_or(traffic);
        let tcp = &tcps[made.tcp_of[i]];
        let traffic = text(&description.core(traffic, &[]))?;
        // The row has the fields of the connection, and what the flow has in the network.
        let tcp = tcp
            .replacen("\"fields\":", "\"tcp\":", 1)
            .replace(",\"scalable\":false", "");
        common.push(joined(&[&text(&own)?, &tcp, &format!("{{\"traffic\":{traffic}}}")]));
    }
    let flows = made.flows.iter().map(|flow| {
        let (there, back) = &made.ways[flow.1];
        let routes = format!("{{\"route\":{},\"return_route\":{}}}", text(there)?, text(back)?);
        Ok(joined(&[&common[flow.0], &text(&flow.2)?, &routes]))
    });
    let flows = flows.collect::<Result<Vec<_>, Problems>>()?;
    let vbr = network.vbr.iter().zip(&made.vbr);
    let vbr = vbr.map(|(source, made)| Ok(joined(&[&text(&description.core(source, &OF_VBR))?, &text(made)?])));
    let vbr = vbr.collect::<Result<Vec<_>, Problems>>()?;
    let links = links_of(scenario, network, made)?;
    let lists = format!(
        "{{\"nodes\":{},\"links\":[{}],\"flows\":[{}],\"vbr\":[{}]}}",
        text(&made.nodes)?,
        links.join(","),
        flows.join(","),
        vbr.join(",")
    );
    let own = text(&description.core(scenario, &OF_SCENARIO))?;
    let switch = text(&description.core(scenario.part("switch"), &["buffer", "policy", "scheduler"]))?;
    Ok(joined(&[&own, &switch, &lists]))
}

/// Returns both directions of each link, each with its port.
fn links_of(scenario: &Part<'_>, network: &Network<'_>, made: &Resolved<'_>) -> Result<Vec<String>, Problems> {
    let description = network.description();
    let switch = scenario.part("switch");
    let part = |number: usize| description.core_of_link(&network.parts.parts[number]);
    let of_switch = |name: &str| description.core(switch.part(name), &[]);
    let fifo = table([("kind", json_text("fifo"))]);
    let rows = made.fields.iter().map(|link| {
        let is_host = link.port == crate::Port::Host;
        let policy = link
            .policy
            .map(part)
            .or_else(|| (!is_host).then(|| of_switch("policy")));
        let scheduler = if is_host { fifo.clone() } else { of_switch("scheduler") };
        let mut fields = vec![("scheduler".into(), scheduler), ("loss".into(), part(link.loss))];
        fields.extend(policy.map(|policy| ("policy".into(), policy)));
        if !link.conditioners.is_empty() {
            let conditioners = link.conditioners.iter().map(|number| part(*number));
            fields.push(("conditioners".into(), Json::List(conditioners.collect())));
        }
        fields.extend(link.access.map(|access| ("access".into(), part(access))));
        let line = format!(
            "{{\"rate_bps\":{},\"delay_ps\":{},\"buffer\":{}}}",
            link.rate_bps,
            link.delay_ps,
            text(&link.buffer)?
        );
        Ok(joined(&[&line, &text(&Json::Table(fields))?]))
    });
    let rows = rows.collect::<Result<Vec<String>, Problems>>()?;
    let directed = made.links.iter().flat_map(|(a, b, number)| {
        let row = |from, to, fields: &str| joined(&[&format!("{{\"from\":{from},\"to\":{to}}}"), fields]);
        [row(a, b, &rows[*number]), row(b, a, &rows[number + 1])]
    });
    Ok(directed.collect())
}

/// Returns one table of JSON with the fields of several.
fn joined(tables: &[&str]) -> String {
    let fields = tables.iter().map(|table| &table[1..table.len() - 1]);
    let fields: Vec<&str> = fields.filter(|fields| !fields.is_empty()).collect();
    format!("{{{}}}", fields.join(","))
}

/// Returns whether two resolved forms are equal apart from what paths determine.
fn is_same(one: &Json<'_>, other: &Json<'_>) -> bool {
    match (one, other) {
        (Json::Table(fields), Json::Table(others)) => {
            let count = |fields: &[(std::borrow::Cow<'_, str>, Json<'_>)]| {
                fields
                    .iter()
                    .filter(|(name, _)| !OF_PATHS.contains(&name.as_ref()))
                    .count()
            };
            let fields_of_both = fields.iter().filter(|(name, _)| !OF_PATHS.contains(&name.as_ref()));
            let mut pairs = fields_of_both.map(|(name, value)| (value, others.iter().find(|(other, _)| other == name)));
            count(fields) == count(others)
                && pairs.all(|(value, other)| other.is_some_and(|(_, other)| is_same(value, other)))
        }
        (Json::List(items), Json::List(others)) => {
            items.len() == others.len() && items.iter().zip(others).all(|(item, other)| is_same(item, other))
        }
        _ => one == other || description::float(one).is_some_and(|number| description::float(other) == Some(number)),
    }
}
