//! The network of a scenario as Python and the page pass it. Rows of large networks are arrays; policies, losses and
//! conditioners have the form of the core.

use crate::times::{Start, Stop};
use crate::units::Decimal;
use crate::Problems;
use longpipe_json::{FromJson, Json};
use longpipe_network::scenario::access::AccessConfig;
use longpipe_units::repr_of_float;
use strum::VariantNames;

/// Number of the policy of hosts and proxies among the parts: tail drop.
pub(crate) const TAIL_DROP: usize = 0;
/// Number of the losses of links without losses among the parts.
const NO_LOSS: usize = 1;

/// A graph with its nodes, links and flows.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Fields of a dumbbell, from which the nodes and links are made; None if the network is a graph.
    pub dumbbell: Option<Dumbbell>,
    /// Hosts and switches.
    pub nodes: Vec<Node>,
    /// Duplex links.
    pub links: Vec<Link>,
    /// Distinct settings of links; those of a dumbbell's trunk are the first.
    pub settings: Vec<Settings>,
    /// Policies, losses, conditioners and medium access to which settings refer by number: tail drop, no losses, and
    /// others.
    pub parts: Vec<Part>,
    /// Flows, or the first flow of each group of a dumbbell.
    pub flows: Vec<Flow>,
    /// VBR sources.
    pub vbr: Vec<VbrSource>,
    /// Proxies that split connections.
    pub peps: Vec<Pep>,
}

/// Fields of a dumbbell other than those of its trunk, which are settings 0 of the graph.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// Number of flows.
    pub sources: usize,
    /// Groups of flows; None if all flows are equal.
    pub groups: Option<Vec<Group>>,
    /// Bit rate of hosts' links.
    pub access_rate: String,
    /// Propagation delay of the sources' links.
    pub access_delay: String,
    /// Propagation delay of the sinks' links.
    pub exit_delay: String,
    /// Bit rate from switch2 to each sink, if it differs.
    pub exit_rate: Option<String>,
    /// Bit rate from each sink to switch2, if it differs.
    pub exit_return_rate: Option<String>,
    /// Medium access from switch2 to each sink, and from each sink to switch2.
    pub exit_access: [Option<usize>; 2],
    /// Send jitter of the flows' hosts.
    pub send_jitter: String,
}

/// Flows that differ only in name, hosts and start.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name of the only flow, or beginning of the flows' names.
    pub name: String,
    /// Number of flows.
    pub count: usize,
    /// Whether the data go from sink to source.
    pub is_back: bool,
    /// Propagation delay of the sources' links, if it differs.
    pub access_delay: Option<String>,
    /// Propagation delay of the sinks' links, if it differs.
    pub exit_delay: Option<String>,
}

impl Group {
    /// Returns the name of a flow of the group, counted from 0.
    pub(crate) fn flow(&self, number: usize) -> String {
        match self.count {
            1 => self.name.clone(),
            _ => format!("{}{}", self.name, number + 1),
        }
    }
}

impl Dumbbell {
    /// Returns the groups of the flows; equal flows are one group.
    pub(crate) fn all_groups(&self) -> Vec<Group> {
        self.groups.clone().unwrap_or_else(|| {
            vec![Group {
                name: if self.sources == 1 { "flow1" } else { "flow" }.to_owned(),
                count: self.sources,
                is_back: false,
                access_delay: None,
                exit_delay: None,
            }]
        })
    }
}

/// A proxy that splits connections.
#[derive(Clone, Debug)]
pub struct Pep {
    /// Name of its switch.
    pub node: String,
    /// Size of its buffer.
    pub buffer: String,
    /// Number of its settings of TCP; 0 if it has none.
    pub tcp: usize,
}

/// Name, kind and send jitter of a node.
#[derive(Clone, Debug)]
pub struct Node(pub String, pub NodeKind, pub String);

/// Kinds of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Flows begin and end here.
    Host,
    /// Forwards.
    Switch,
}

/// Both nodes of a link, and the number of its settings.
#[derive(Clone, Debug)]
pub struct Link(pub String, pub String, pub usize);

/// Fields of a link that concern its rate, its delay and its ports. Parts are numbers.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bit rate from the first node to the second.
    pub rate: String,
    /// Bit rate from the second node to the first, if it differs.
    pub return_rate: Option<String>,
    /// Propagation delay from the first node to the second.
    pub delay: String,
    /// Propagation delay from the second node to the first, if it differs.
    pub return_delay: Option<String>,
    /// Buffer of the ports at switches, if it is not the switches' own.
    pub buffer: Option<String>,
    /// Buffer of the second node's port, if it differs.
    pub return_buffer: Option<String>,
    /// Buffer of ports at hosts; None is unlimited.
    pub host_buffer: Option<String>,
    /// Policy of the ports at switches, if it is not the switches' own.
    pub policy: Option<usize>,
    /// Policy of the second node's port, if it differs.
    pub return_policy: Option<usize>,
    /// Policy of ports at hosts, if it is not tail drop.
    pub host_policy: Option<usize>,
    /// Injected losses from the first node to the second.
    pub loss: usize,
    /// Injected losses from the second node to the first.
    pub return_loss: usize,
    /// Conditioners of the first node's port.
    pub conditioners: Vec<usize>,
    /// Conditioners of the second node's port.
    pub return_conditioners: Vec<usize>,
    /// Medium access of each direction.
    pub access: [Option<usize>; 2],
    /// Whether a path changes each direction over time.
    pub varies: [bool; 2],
}

impl Default for Settings {
    fn default() -> Settings {
        let (rate, delay) = (String::new(), String::new());
        Settings {
            rate,
            return_rate: None,
            delay,
            return_delay: None,
            buffer: None,
            return_buffer: None,
            host_buffer: None,
            policy: None,
            return_policy: None,
            host_policy: None,
            loss: NO_LOSS,
            return_loss: NO_LOSS,
            conditioners: vec![],
            return_conditioners: vec![],
            access: [None; 2],
            varies: [false; 2],
        }
    }
}

/// A policy, a loss, a conditioner or a medium access.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Kind.
    pub kind: String,
    /// Rate [bit/s] of a kind with a rate of its own.
    pub rate_bps: Option<u64>,
    /// Mean delay [ps] of jitter.
    pub delay_ps: Option<u64>,
    /// Number of classes.
    pub classes: Option<u64>,
    /// Unit in which a policy counts.
    pub unit: Option<String>,
    /// Parameters of a medium access.
    pub access: Option<AccessConfig>,
    /// Time between updates of a policy.
    pub update: Option<String>,
    /// Mean durations of the good and the bad state of losses in time.
    pub states: Option<[String; 2]>,
    /// Field and message of each rule that the part violates by itself.
    pub problems: Vec<(String, String)>,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Name; of a dumbbell's flow, it is made from the group.
    pub name: String,
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// Nodes from sender to receiver; None for the fewest hops.
    pub route: Option<Vec<String>>,
    /// Nodes from receiver to sender; None for the reversed route.
    pub return_route: Option<Vec<String>>,
    /// Class of its packets.
    pub class: u64,
    /// Number of its own settings of TCP; 0 are those of the scenario.
    pub tcp: usize,
    /// Number of its own traffic; 0 is that of the scenario.
    pub traffic: usize,
    /// Guaranteed rate [cells/s].
    pub mcr: Option<u64>,
    /// Start, if it is not the scenario's.
    pub start: Option<Start>,
    /// Stop, if it is not the scenario's.
    pub stop: Option<Stop>,
    /// Whether proxies split the connection.
    pub splits: bool,
}

/// A VBR source.
#[derive(Clone, Debug)]
pub struct VbrSource {
    /// Name of the source.
    pub name: String,
    /// Sending host.
    pub from: String,
    /// Receiving host.
    pub to: String,
    /// Nodes from sender to receiver; None for the fewest hops.
    pub route: Option<Vec<String>>,
    /// Peak rate; None is the rate of the slowest link.
    pub rate: Option<String>,
    /// Mean duration of a burst.
    pub period: String,
    /// Fraction of the time during which the source sends, as a decimal number without exponent.
    pub duty: String,
    /// Start of the first burst.
    pub phase: String,
}

/// What the ports of links without settings of their own are, and the connections whose packets they queue.
#[derive(Clone, Debug)]
pub struct Ports {
    /// Whether links carry ATM cells.
    pub cells: bool,
    /// Buffer of switches.
    pub buffer: String,
    /// Policy of switches.
    pub policy: Part,
    /// Kind of the scheduler of switches.
    pub scheduler: String,
    /// Whether the order of simultaneous arrivals at switches rotates.
    pub rotates: bool,
    /// Distinct settings of connections.
    pub tcps: Vec<Tcp>,
    /// Number of the settings of each flow.
    pub tcp_of: Vec<usize>,
    /// Payloads [byte] of all datagrams, if no flow uses TCP.
    pub datagrams: Vec<u64>,
}

/// Settings of a connection that concern the lengths of its packets.
#[derive(Clone, Copy, Debug)]
pub struct Tcp {
    /// Payload of a full segment [byte].
    pub mss_bytes: u64,
    /// Whether segments carry timestamps.
    pub has_timestamps: bool,
    /// Whether the receiver's window is automatic.
    pub is_automatic: bool,
}

impl Graph {
    /// Reads a graph from JSON, in which rows are lists in the order of the fields.
    ///
    /// # Errors
    /// Returns the problem of the text, which is a defect of the caller.
    pub(crate) fn read(text: &str) -> Result<Graph, Problems> {
        Graph::of(read(text)?)
    }

    /// Reads a graph from a table.
    ///
    /// # Errors
    /// Returns the problem of the table, which is a defect of the caller.
    pub(crate) fn of(mut json: Json<'_>) -> Result<Graph, Problems> {
        Ok(Graph {
            dumbbell: Dumbbell::of(json.take("dumbbell")),
            nodes: rows(json.take("nodes"), |mut row| {
                let kind = match row.item(1).text().as_deref() {
                    Some("switch") => NodeKind::Switch,
                    _ => NodeKind::Host,
                };
                Some(Node(row.item(0).text()?, kind, row.item(2).text()?))
            })?,
            links: rows(json.take("links"), |mut row| {
                Some(Link(row.item(0).text()?, row.item(1).text()?, row.item(2).place()?))
            })?,
            settings: rows(json.take("settings"), |mut table| {
                Some(Settings {
                    rate: table.take("rate").text()?,
                    return_rate: table.take("return_rate").text(),
                    delay: table.take("delay").text()?,
                    return_delay: table.take("return_delay").text(),
                    buffer: table.take("buffer").text(),
                    return_buffer: table.take("return_buffer").text(),
                    host_buffer: table.take("host_buffer").text(),
                    policy: table.take("policy").place(),
                    return_policy: table.take("return_policy").place(),
                    host_policy: table.take("host_policy").place(),
                    loss: table.take("loss").place()?,
                    return_loss: table.take("return_loss").place()?,
                    conditioners: places(table.take("conditioners")),
                    return_conditioners: places(table.take("return_conditioners")),
                    access: ["access", "return_access"].map(|name| table.take(name).place()),
                    varies: ["varies", "return_varies"].map(|name| is_true(&table.take(name))),
                })
            })?,
            parts: rows(json.take("parts"), Part::of)?,
            flows: rows(json.take("flows"), |mut row| {
                Some(Flow {
                    name: row.item(0).text()?,
                    from: row.item(1).text()?,
                    to: row.item(2).text()?,
                    route: row.item(3).texts(),
                    return_route: row.item(4).texts(),
                    class: row.item(5).number()?,
                    tcp: row.item(6).place()?,
                    traffic: row.item(7).place()?,
                    mcr: row.item(8).number(),
                    start: Start::of(row.item(9)),
                    stop: Stop::of(row.item(10)),
                    splits: is_true(&row.item(11)),
                })
            })?,
            vbr: rows(json.take("vbr"), |mut table| {
                Some(VbrSource {
                    name: table.take("name").text()?,
                    from: table.take("from").text()?,
                    to: table.take("to").text()?,
                    route: table.take("route").texts(),
                    rate: table.take("rate").text(),
                    period: table.take("period").text()?,
                    duty: match table.take("duty") {
                        Json::Float(duty) => Decimal::read(&repr_of_float(duty))?.to_string(),
                        duty => duty.number()?.to_string(),
                    },
                    phase: table.take("phase").text()?,
                })
            })?,
            peps: rows(json.take("peps"), |mut row| {
                let (node, buffer, tcp) = (row.item(0).text()?, row.item(1).text()?, row.item(2).place()?);
                Some(Pep { node, buffer, tcp })
            })?,
        })
    }
}

impl Dumbbell {
    fn of(mut table: Json<'_>) -> Option<Dumbbell> {
        let groups = match table.take("groups") {
            Json::Null => None,
            groups => groups.list().into_iter().map(Group::of).collect(),
        };
        Some(Dumbbell {
            sources: table.take("sources").place()?,
            groups,
            access_rate: table.take("access_rate").text()?,
            access_delay: table.take("access_delay").text()?,
            exit_delay: table.take("exit_delay").text()?,
            exit_rate: table.take("exit_rate").text(),
            exit_return_rate: table.take("exit_return_rate").text(),
            exit_access: ["exit_access", "exit_return_access"].map(|name| table.take(name).place()),
            send_jitter: table.take("send_jitter").text()?,
        })
    }
}

impl Group {
    fn of(mut row: Json<'_>) -> Option<Group> {
        Some(Group {
            name: row.item(0).text()?,
            count: row.item(1).place()?,
            is_back: row.item(2).text()? == "back",
            access_delay: row.item(3).text(),
            exit_delay: row.item(4).text(),
        })
    }
}

impl Part {
    /// Returns a line for each problem of the part by itself.
    pub(crate) fn shown_problems<'a>(&'a self, field: &'a str) -> impl Iterator<Item = String> + 'a {
        let shown = move |(name, problem): &(String, String)| format!("{field}.{name}: {problem}");
        self.problems.iter().map(shown)
    }

    /// Reads the parameters of a part in the form of the core, its problems, and its fields as the scenario sets them.
    pub(crate) fn of(mut row: Json<'_>) -> Option<Part> {
        let (mut table, problems, mut set) = (row.item(0), row.item(1).list().into_iter(), row.item(2));
        let problems = problems.map(|mut problem| Some((problem.item(0).text()?, problem.item(1).text()?)));
        let problems = problems.collect::<Option<_>>()?;
        let is_access = table
            .at("kind")
            .as_str()
            .is_some_and(|kind| AccessConfig::VARIANTS.contains(&kind));
        let access = if is_access {
            Some(AccessConfig::from_json(table.clone()).ok()?)
        } else {
            None
        };
        let kind = table.take("kind").text()?;
        let classes = match kind.as_str() {
            "weighted-priority" => u64::try_from(table.take("weights").list().len()).ok(),
            "strict-priority" => table.take("classes").number(),
            _ => None,
        };
        Some(Part {
            kind,
            rate_bps: table.take("rate_bps").number(),
            delay_ps: table.take("delay_ps").number(),
            classes,
            unit: table.take("unit").text(),
            access,
            update: set.take("update").text(),
            states: match [set.take("good").text(), set.take("bad").text()] {
                [Some(good), Some(bad)] => Some([good, bad]),
                _ => None,
            },
            problems,
        })
    }
}

/// Reads a text.
pub(crate) fn read(text: &str) -> Result<Json<'_>, Problems> {
    serde_json::from_str(text).map_err(|error| format!("network: {error}").into())
}

/// Converts the items of a list.
pub(crate) fn rows<'a, T>(list: Json<'a>, of: impl Fn(Json<'a>) -> Option<T>) -> Result<Vec<T>, Problems> {
    let mut rows = vec![];
    for row in list.list() {
        rows.push(of(row).ok_or_else(|| incomplete("a row"))?);
    }
    Ok(rows)
}

fn places(list: Json<'_>) -> Vec<usize> {
    list.list().into_iter().filter_map(Json::place).collect()
}

pub(crate) fn is_true(value: &Json<'_>) -> bool {
    matches!(value, Json::Bool(true))
}

pub(crate) fn incomplete(text: &str) -> Problems {
    format!("network: {text}; needs all fields").into()
}
