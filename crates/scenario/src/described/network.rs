//! Network and settings of a checked scenario in the form that the resolver reads: parts are numbered.

use super::check::Checker;
use super::description::{Description, Model};
use super::part::{json_text, table, text, Part, Value};
use crate::input::read;
use crate::settings::Settings;
use crate::Problems;
use longpipe_json::Json;
use longpipe_units::SIZE;
use std::rc::Rc;

/// Fields of a link that are texts, parts, and lists of parts.
const TEXTS: [&str; 7] = [
    "rate",
    "return_rate",
    "delay",
    "return_delay",
    "buffer",
    "return_buffer",
    "host_buffer",
];
const PARTS: [&str; 7] = [
    "policy",
    "return_policy",
    "host_policy",
    "loss",
    "return_loss",
    "access",
    "return_access",
];
const LISTS: [&str; 2] = ["conditioners", "return_conditioners"];
/// Fields of a dumbbell that are texts, and parts of the links to its sinks.
const OF_DUMBBELL: [&str; 7] = [
    "sources",
    "access_rate",
    "access_delay",
    "exit_delay",
    "exit_rate",
    "exit_return_rate",
    "send_jitter",
];
const EXITS: [&str; 2] = ["exit_access", "exit_return_access"];
/// Fields of connections from which the resolver computes others.
const COMPUTED: [&str; 3] = ["profile", "receiver_window", "window_scale"];

type Shared<'d> = Rc<Part<'d>>;

/// Different parts, by number; the same part has one number.
pub(super) struct Numbered<'d> {
    pub(super) parts: Vec<Shared<'d>>,
    /// Number of the first part.
    first: usize,
}

impl<'d> Numbered<'d> {
    /// Returns the number of a part.
    fn of(&mut self, part: &Shared<'d>) -> usize {
        let known = self.parts.iter().position(|known| Rc::ptr_eq(known, part));
        self.first
            + known.unwrap_or_else(|| {
                self.parts.push(part.clone());
                self.parts.len() - 1
            })
    }

    /// Returns the number of a part as JSON; null if there is none.
    fn json(&mut self, value: &Value<'d>) -> Json<'static> {
        value
            .part()
            .map_or(Json::Null, |part| Json::Number(self.of(part) as u64))
    }
}

/// The network of a checked scenario.
pub(super) struct Network<'d> {
    network: Shared<'d>,
    traffic: Shared<'d>,
    /// Flows of a graph, or the first flow of each group of a dumbbell.
    pub(super) flows: Vec<Shared<'d>>,
    pub(super) vbr: Vec<Part<'d>>,
    /// Policies, losses, conditioners and medium access of links.
    pub(super) parts: Numbered<'d>,
    /// Settings of TCP and traffic of flows; 0 are those of the scenario.
    tcps: Numbered<'d>,
    traffics: Numbered<'d>,
    checker: Checker<'d>,
}

impl<'d> Network<'d> {
    /// Returns the network of a scenario; the checker completes default parts.
    pub(super) fn new(scenario: &Part<'d>, mut checker: Checker<'d>) -> Network<'d> {
        let network = scenario.part("network").clone();
        let none = Json::Table(vec![]);
        let mut flows = network.get("flows").parts();
        if network.kind() != "graph" {
            flows = network.get("group").parts();
        }
        if flows.is_empty() && network.kind() != "graph" {
            flows.push(Rc::new(
                checker.part_of("Group", &table([("name", json_text("flow1"))])),
            ));
        }
        let defaults = ["TailDrop", "NoLoss"].map(|name| Rc::new(checker.part_of(name, &none)));
        let vbr = match network.get("vbr") {
            Value::Part(source) => vec![vbr_of_dumbbell(checker.description, source)],
            sources => sources.parts().iter().map(|source| copy(source)).collect(),
        };
        let numbered = |first| Numbered { parts: vec![], first };
        Network {
            traffic: scenario.part("traffic").clone(),
            network,
            flows,
            vbr,
            parts: Numbered {
                parts: defaults.into(),
                first: 0,
            },
            tcps: numbered(1),
            traffics: numbered(1),
            checker,
        }
    }

    pub(super) fn description(&self) -> &'d Description {
        self.checker.description
    }

    /// Returns the network for the resolver.
    pub(super) fn json(&mut self) -> Json<'static> {
        let network = self.network.clone();
        let is_graph = network.kind() == "graph";
        let (nodes, links) = (network.get("nodes").parts(), network.get("links").parts());
        let peps = if is_graph {
            nodes.iter()
        } else {
            std::slice::from_ref(&network).iter()
        };
        let peps: Vec<_> = peps
            .filter_map(|node| Some((node, node.get("pep").part()?.clone())))
            .collect();
        let dumbbell = if is_graph { Json::Null } else { self.dumbbell(&network) };
        let settings = if is_graph {
            links.iter().map(|link| self.link(link)).collect()
        } else {
            let mut trunk = self.link(&network);
            for (name, own) in [("rate", "trunk_rate"), ("delay", "trunk_delay")] {
                trunk.set(name, network.get(own).plain());
            }
            trunk.set("loss", self.parts.json(network.get("trunk_loss")));
            vec![trunk]
        };
        let row = |part: &Part<'d>, names: &[&str]| names.iter().map(|name| part.get(name).plain()).collect::<Vec<_>>();
        let nodes = nodes
            .iter()
            .map(|node| Json::List(row(node, &["name", "kind", "send_jitter"])));
        let between = links.iter().enumerate().map(|(i, link)| {
            let ends = link.get("between").items().iter().map(Value::plain);
            Json::List(ends.chain([Json::Number(i as u64)]).collect())
        });
        let flows = self.flows.clone();
        let flows = flows.iter().map(|flow| self.flow(flow, !peps.is_empty()));
        let flows = Json::List(flows.collect());
        let vbr = self.vbr.iter().map(|source| {
            let names = ["name", "from", "to", "route", "rate", "period", "phase", "duty"];
            table(names.map(|name| (name, source.get(name).plain())))
        });
        let vbr = Json::List(vbr.collect());
        let peps = peps.iter().map(|(node, pep)| {
            let at = [pep.get("at"), node.get("name")]
                .into_iter()
                .find(|name| !name.is_null());
            let name = at.map_or(Json::Null, Value::plain);
            Json::List(vec![name, pep.get("buffer").plain(), self.tcp_number(pep)])
        });
        let peps = Json::List(peps.collect());
        let parts = self
            .parts
            .parts
            .iter()
            .map(|part| row_of_part(self.checker.description, part));
        table([
            ("dumbbell", dumbbell),
            ("nodes", Json::List(nodes.collect())),
            ("links", Json::List(between.collect())),
            ("settings", Json::List(settings)),
            ("parts", Json::List(parts.collect())),
            ("flows", flows),
            ("vbr", vbr),
            ("peps", peps),
        ])
    }

    fn dumbbell(&mut self, network: &Part<'d>) -> Json<'static> {
        let mut fields = table(OF_DUMBBELL.map(|name| (name, network.get(name).plain())));
        if let Json::Table(fields) = &mut fields {
            for name in EXITS {
                fields.push((name.into(), self.parts.json(network.get(name))));
            }
            let names = ["name", "count", "direction", "access_delay", "exit_delay"];
            let row = |group: &Shared<'d>| Json::List(names.map(|name| group.get(name).plain()).into());
            let groups = network.get("group");
            let groups = match groups {
                Value::List(_) => Json::List(groups.parts().iter().map(row).collect()),
                _ => Json::Null,
            };
            fields.push(("groups".into(), groups));
        }
        fields
    }

    /// Returns the fields of a link.
    fn link(&mut self, link: &Part<'d>) -> Json<'static> {
        let texts = TEXTS.map(|name| (name.into(), link.get(name).plain()));
        let parts = PARTS.map(|name| (name.into(), self.parts.json(link.get(name))));
        let lists = LISTS.map(|name| {
            let items = link.get(name).items().iter().map(|part| self.parts.json(part));
            (name.into(), Json::List(items.collect()))
        });
        Json::Table(texts.into_iter().chain(parts).chain(lists).collect())
    }

    fn tcp_number(&mut self, part: &Part<'d>) -> Json<'static> {
        part.get("tcp")
            .part()
            .map_or(Json::Number(0), |tcp| Json::Number(self.tcps.of(tcp) as u64))
    }

    /// Returns the row of a flow, or of the first flow of a group.
    fn flow(&mut self, flow: &Part<'d>, has_peps: bool) -> Json<'static> {
        let own = flow.get("traffic").part();
        let traffic = own.map_or(0, |traffic| self.traffics.of(traffic)) as u64;
        let is_tcp = own.unwrap_or(&self.traffic).model.transport.as_deref() == Some("tcp");
        let splits = has_peps && flow.get("split").plain() == Json::Bool(true) && is_tcp;
        let rate = flow
            .get("service")
            .part()
            .map_or(Json::Null, |service| service.get("mcr").plain());
        let end = |name: &str| match flow.get(name) {
            end if end.is_null() => json_text(""),
            end => end.plain(),
        };
        Json::List(vec![
            flow.get("name").plain(),
            end("from"),
            end("to"),
            flow.get("route").plain(),
            flow.get("return_route").plain(),
            flow.get("class").plain(),
            self.tcp_number(flow),
            Json::Number(traffic),
            rate,
            times_of(flow.get("start")),
            times_of(flow.get("stop")),
            Json::Bool(splits),
        ])
    }

    /// Returns the settings of the scenario besides its network for the resolver.
    pub(super) fn settings(&mut self, scenario: &Part<'d>) -> Result<Settings<'static>, Problems> {
        let (switch, traces) = (scenario.part("switch"), scenario.part("traces"));
        let is_sampled = traces.get("vc_queue").plain() == Json::Bool(true);
        let owns = self.tcps.parts.clone();
        let mut tcps = vec![self.tcp(scenario.part("tcp"), &[])];
        tcps.extend(owns.iter().map(|tcp| self.tcp(tcp, &tcp.written)));
        let traffics = [&self.traffic].into_iter().chain(&self.traffics.parts);
        let settings = table([
            ("cells", Json::Bool(scenario.text("framing") == "aal5")),
            ("duration", scenario.get("duration").plain()),
            ("start", times_of(scenario.get("start"))),
            ("stop", times_of(scenario.get("stop"))),
            ("delays", traces.get("delay").plain()),
            (
                "sampling",
                if is_sampled {
                    traces.get("vc_queue_interval").plain()
                } else {
                    Json::Null
                },
            ),
            ("buffer", switch.get("buffer").plain()),
            ("policy", row_of_part(self.checker.description, switch.part("policy"))),
            ("scheduler", json_text(switch.part("scheduler").kind())),
            ("ties", switch.get("ties").plain()),
            ("tcps", Json::List(tcps)),
            (
                "traffics",
                Json::List(traffics.map(|traffic| row_of_traffic(traffic)).collect()),
            ),
        ]);
        // Python passes text, of which the parser rounds some floats; the page resolves equal numbers.
        Settings::of_json(read(&text(&settings)?)?.into_owned())
    }

    /// Returns fields of a connection as the scenario has them, those for the core, the names of its own fields and of the
    /// options of its control, and the problems of its timer. All fields are given if none is its own.
    fn tcp(&mut self, tcp: &Part<'d>, own: &[String]) -> Json<'static> {
        let description = self.checker.description;
        let is_given = |name: &str| own.is_empty() || own.iter().any(|given| given == name);
        let rows = description.rows(tcp, |name| is_given(name) && !COMPUTED.contains(&name));
        let mut rows: Vec<_> = rows.into_iter().map(row_of_three).collect();
        let congestion = tcp.part("congestion");
        if is_given("congestion") {
            if congestion.kind() == "module" {
                let module = self.checker.module(congestion.text("file"));
                let core = description.core(congestion, &[]);
                let module = table([
                    ("kind", json_text("module")),
                    ("digest", json_text(module.map_or("", |module| &module.digest))),
                    ("parameters", core.at("parameters").clone()),
                    ("hz", congestion.get("hz").plain()),
                ]);
                rows.retain(|row| row.clone().item(0) != json_text("congestion"));
                rows.push(row_of_three(("congestion".into(), "congestion".into(), module)));
            }
            rows.extend(self.flat_options(congestion));
        }
        let names = tcp.fields().filter(|(field, _)| is_given(&field.name));
        let fields = names.map(|(field, value)| (field.name.clone().into(), value.plain()));
        let texts = |names: Vec<&String>| Json::List(names.into_iter().map(|name| json_text(name)).collect());
        let options = congestion.written.iter().filter(|name| *name != "kind");
        Json::List(vec![
            Json::Table(fields.collect()),
            Json::List(rows),
            texts(own.iter().collect()),
            texts(options.collect()),
            pairs(tcp.part("timer").violations()),
        ])
    }

    /// Returns the fields of the resolved form with the options of AIMD and Vegas, whichever control is selected.
    fn flat_options(&mut self, congestion: &Shared<'d>) -> Vec<Json<'static>> {
        let [aimd, vegas] = ["Aimd", "Vegas"].map(|name| {
            let part = if congestion.model.name == name {
                copy(congestion)
            } else {
                self.checker.part_of(name, &Json::Table(vec![]))
            };
            self.checker.description.core(&part, &["kind"])
        });
        let Json::Table(mut options) = aimd else {
            return vec![];
        };
        options.push(("vegas".into(), vegas));
        let rows = options.into_iter();
        rows.map(|(key, value)| row_of_three(("congestion".into(), key.into_owned(), value)))
            .collect()
    }
}

/// Returns the fields of a part in the core, its problems, and its fields as the scenario sets them.
fn row_of_part(description: &Description, part: &Part<'_>) -> Json<'static> {
    Json::List(vec![
        description.core(part, &[]),
        pairs(part.violations()),
        part.plain(),
    ])
}

fn row_of_three((name, key, value): (String, String, Json<'static>)) -> Json<'static> {
    Json::List(vec![json_text(&name), json_text(&key), value])
}

/// Returns the fields of traffic, its field of repetition, its transport and its longest payload [byte].
fn row_of_traffic(traffic: &Part<'_>) -> Json<'static> {
    let Model { repeats, transport, .. } = traffic.model;
    let text = |text: &Option<String>| text.as_deref().map_or(Json::Null, json_text);
    let payload = crate::units::parse(SIZE, traffic.text("payload"));
    let payload = payload.filter(|_| transport.as_deref() == Some("datagrams"));
    let payload = payload.map_or(Json::Null, Json::Number);
    Json::List(vec![
        traffic.plain(),
        text(repeats),
        text(transport),
        payload,
        Json::Null,
    ])
}

/// Returns fields with messages.
fn pairs(problems: Vec<(String, String)>) -> Json<'static> {
    let pairs = problems.into_iter();
    let pairs = pairs.map(|(field, message)| Json::List(vec![json_text(&field), json_text(&message)]));
    Json::List(pairs.collect())
}

/// Returns the kind of a start or stop, and its times.
fn times_of(chosen: &Value<'_>) -> Json<'static> {
    chosen.part().map_or(Json::Null, |part| {
        Json::List(part.values.iter().map(Value::plain).collect())
    })
}

fn copy<'d>(part: &Part<'d>) -> Part<'d> {
    Part {
        model: part.model,
        values: part.values.clone(),
        written: part.written.clone(),
    }
}

/// Returns the source of VBR of a dumbbell as one of a graph; the resolver knows its hosts.
fn vbr_of_dumbbell<'d>(description: &'d Description, source: &Part<'d>) -> Part<'d> {
    let model = description.model("VbrFlow");
    let values = model.fields.iter().map(|field| match field.name.as_str() {
        "name" => Value::Plain(json_text("vbr")),
        "from" | "to" => Value::Plain(json_text("")),
        name => source.get(name).clone(),
    });
    Part {
        model,
        values: values.collect(),
        written: source.written.clone(),
    }
}
