//! The settings of TCP of each flow, their problems, and their windows.

use crate::input::{self, Ports};
use crate::settings::{Settings, Transport};
use crate::tcp::{Facts, Tcp, TcpRow};
use crate::topology::Topology;
use crate::Problems;
use longpipe_json::Json;
use longpipe_tcp::config::MAX_WINDOW_BYTES;
use std::collections::HashMap;

/// The settings of TCP of all flows.
pub(crate) struct Connections<'a> {
    /// Distinct settings.
    pub(crate) tcps: Vec<Tcp<'a>>,
    /// Number of the settings of each flow.
    pub(crate) of: Vec<usize>,
}

impl<'a> Connections<'a> {
    /// Merges the settings of each flow.
    ///
    /// # Errors
    /// Returns a message about a number without settings, which is a defect of the caller.
    pub(crate) fn new(
        topology: &Topology,
        settings: &Settings<'a>,
        facts: &Facts,
    ) -> Result<Connections<'a>, Problems> {
        let mut connections = Connections {
            tcps: vec![],
            of: Vec::with_capacity(topology.graph.flows.len()),
        };
        let mut numbers = HashMap::new();
        for (flow, part) in topology.graph.flows.iter().zip(&topology.parts) {
            let given = settings.traffics.get(flow.traffic).and_then(|traffic| traffic.tcp);
            let proxy = part.sender.map_or(0, |proxy| topology.graph.peps[proxy].tcp);
            let key = match given {
                Some(given) => (Some(given), 0, 0),
                None => (None, flow.tcp, proxy),
            };
            let number = match numbers.get(&key) {
                Some(number) => *number,
                None => {
                    let tcp = |number: usize| settings.tcps.get(number).ok_or_else(|| input::incomplete("tcps"));
                    connections.tcps.push(match key {
                        (Some(given), _, _) => tcp(given)?.clone(),
                        (_, 0, 0) => tcp(0)?.clone(),
                        (_, own, 0) | (_, 0, own) => tcp(0)?.of_flow(tcp(own)?, facts),
                        (_, own, proxy) => tcp(0)?.of_flow(&tcp(own)?.under(tcp(proxy)?), facts),
                    });
                    numbers.insert(key, connections.tcps.len() - 1);
                    connections.tcps.len() - 1
                }
            };
            connections.of.push(number);
        }
        Ok(connections)
    }

    /// Adds the settings that concern packets to the ports that queue them.
    pub(crate) fn add_to(&self, ports: &mut Ports, topology: &Topology, settings: &Settings<'a>) {
        ports.tcp_of.clone_from(&self.of);
        ports.tcps = self.tcps.iter().map(Tcp::of_ports).collect();
        let mut used = vec![false; settings.traffics.len()];
        for flow in &topology.graph.flows {
            used[flow.traffic] = true;
        }
        let used = settings.traffics.iter().zip(used).filter(|(_, used)| *used);
        if used
            .clone()
            .all(|(traffic, _)| traffic.transport == Transport::Datagrams)
        {
            ports.datagrams = used.filter_map(|(traffic, _)| traffic.payload_bytes).collect();
        }
    }

    /// Sets automatic windows, each with the number of its flow and its length [byte]. A policy of `longpipe.gym`, which may
    /// send more than the path holds, gets the largest window.
    pub(crate) fn fit(&mut self, windows: &[(usize, u64)]) {
        let window_of: HashMap<usize, u64> = windows.iter().copied().collect();
        let (mut fitted, mut numbers) = (vec![], HashMap::new());
        for (flow, number) in self.of.iter_mut().enumerate() {
            let window = window_of.get(&flow).copied();
            *number = *numbers.entry((*number, window)).or_insert_with(|| {
                let mut tcp = self.tcps[*number].clone();
                if let Some(bytes) = window {
                    let is_policy = tcp.fields.at("congestion.policy") == &Json::Bool(true);
                    let bytes = if is_policy { MAX_WINDOW_BYTES } else { bytes };
                    tcp.fields
                        .set("receiver_window", Json::Text(format!("{bytes} B").into()));
                }
                fitted.push(tcp);
                fitted.len() - 1
            });
        }
        self.tcps = fitted;
    }

    /// Returns a line for each problem of connections, by themselves and with cells.
    pub(crate) fn problems(&self, topology: &Topology, facts: &Facts, cells: bool) -> Vec<String> {
        let mut lines = vec![];
        for (flow, tcp) in self.with_last_flows() {
            let problems = tcp.problems(facts).into_iter();
            lines.extend(problems.map(|(name, problem)| format!("{}: {problem}", self.field(topology, flow, &name))));
        }
        for (flow, tcp) in self.with_last_flows().filter(|_| cells) {
            let ecn = tcp.text("ecn.kind");
            if ecn != "off" {
                let needs = "needs off under AAL5, whose cells carry no ECN marks";
                lines.push(format!("{}: {ecn}; {needs}", self.field(topology, flow, "ecn")));
            }
        }
        lines
    }

    /// Returns the rules that connections violate, each with the last flow of these settings.
    pub(crate) fn violated(&self, facts: &Facts) -> Vec<(usize, usize)> {
        let of_tcp = |(flow, tcp): (usize, &Tcp<'a>)| {
            let violated = facts.rules.violated(&mut tcp.fields.clone()).into_iter();
            violated.map(|(rule, _)| (flow, rule)).collect::<Vec<_>>()
        };
        self.with_last_flows().flat_map(of_tcp).collect()
    }

    /// Returns distinct settings, each with the number of its last flow.
    fn with_last_flows(&self) -> impl Iterator<Item = (usize, &Tcp<'a>)> {
        let mut last = vec![0; self.tcps.len()];
        for (flow, number) in self.of.iter().enumerate() {
            last[*number] = flow;
        }
        last.into_iter().zip(&self.tcps)
    }

    /// Returns the name under which a field of a flow's TCP is set in the scenario.
    pub(crate) fn field(&self, topology: &Topology, flow: usize, name: &str) -> String {
        let first = name.split('.').next().unwrap_or_default();
        match self.tcps[self.of[flow]].sets(first) {
            true => format!("{}.tcp.{name}", topology.flow_field(flow)),
            false => format!("tcp.{name}"),
        }
    }

    /// Returns distinct settings in the form of the core.
    pub(crate) fn rows(&self) -> Vec<TcpRow<'a>> {
        self.tcps.iter().map(Tcp::row).collect()
    }
}
