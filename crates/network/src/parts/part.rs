//! One part of a run on several threads: hosts with their interfaces, or output ports of routers.

use super::plan::Plan;
use crate::hosts::early_delivery::EarlyDelivery;
use crate::hosts::reports::Elsewhere;
use crate::hosts::{hosts, Hosts};
use crate::ip::leaving::{Destinations, Leaving, Mail, BY_NEXT_LINK};
use crate::ip::port::line::End;
use crate::ip::Ip;
use crate::lookahead::early::EarlyHosts;
use crate::lookahead::guarantees::Guarantees;
use crate::packets::{Flow, Link};
use crate::run::{AnyRun, Run};
use crate::scenario::topology::Topology;
use crate::scenario::Scenario;
use longpipe_events::{Span, Time};
use std::sync::Arc;

/// What all parts are created from.
pub(super) struct Whole<'a> {
    pub scenario: &'a Scenario,
    pub topology: &'a Topology,
    pub guarantees: &'a Guarantees,
    pub seed: u64,
    pub plan: &'a Plan,
    pub destinations: Arc<Destinations>,
}

/// A part of a run.
pub(super) struct Part {
    pub number: usize,
    run: Run<(), Ip>,
    has_hosts: bool,
    /// Ends of all links before those of packets that leave were changed.
    ends: Vec<End>,
    /// Ports that may process starts of transmissions late.
    late_ports: Vec<Link>,
    /// Flows whose receivers are in other parts and measure RTTs from transmissions, with these parts.
    measuring: Vec<(Flow, usize)>,
    /// Packets from other parts that have not been processed, in the order of their arrival.
    arriving: Mail,
    /// Time up to which the part is simulated; None before its first window.
    until: Option<Time>,
}

impl Part {
    /// Creates a part at time zero.
    pub fn new(whole: &Whole<'_>, number: usize) -> Part {
        let Whole {
            scenario,
            topology,
            guarantees,
            seed,
            plan,
            ..
        } = *whole;
        let has_hosts = number < plan.host_parts;
        // Proofs of the order of ACKs would span parts.
        let early = EarlyHosts {
            delayed_acks: None,
            ..EarlyHosts::new(scenario, topology, guarantees, true)
        };
        let mut medium = Ip::new(scenario, topology, (guarantees, &early), seed);
        let interval = Ip::interval(scenario, topology);
        let part_of_node = |link: usize| plan.hosts[scenario.links[link].from] as usize;
        let is_own = |link: usize| has_hosts && part_of_node(link) == number;
        let hosts = if has_hosts {
            let mut hosts = hosts(
                (scenario, vec![]),
                topology,
                early,
                (seed, &medium.routes.entries(), interval),
                (),
            );
            let sends = scenario.flows.iter().map(|flow| is_own(flow.route[0])).collect();
            hosts.elsewhere = Some(Box::new(Elsewhere { sends, fates: vec![] }));
            hosts
        } else {
            let in_order = early.in_order;
            let mut hosts = Hosts::without_flows(scenario, topology, interval);
            hosts.early_delivery = EarlyDelivery::new(EarlyHosts {
                in_order,
                ..EarlyHosts::default()
            });
            hosts
        };
        let ends: Vec<End> = medium.wires.iter().map(|wire| wire.line.end).collect();
        let mut late_ports = vec![];
        for (index, wire) in medium.wires.iter_mut().enumerate() {
            wire.ack_lookahead = Span(0);
            if plan.destinations.port[index] as usize != number {
                continue;
            }
            if wire.port.may_act_late() {
                late_ports.push(Link::new(index));
            }
            // Packets that hosts send stay in the lanes until the end of the window.
            let stays_in_lanes = has_hosts && wire.line.end == End::Shared;
            let leaves =
                plan.destinations.end[index] == BY_NEXT_LINK || plan.destinations.end[index] as usize != number;
            if leaves && !stays_in_lanes && wire.line.end != End::DecidedOnArrival {
                wire.line.end = End::Unordered;
            }
        }
        let leaving = Leaving::new(number as u32, plan.threads.len(), Arc::clone(&whole.destinations));
        medium.leaving = Some(Box::new(leaving));
        let mut run = Run { hosts, medium };
        let mut measuring = vec![];
        for (index, flow) in scenario.flows.iter().enumerate() {
            if is_own(flow.route[0]) {
                run.hosts.expect_start(&mut run.medium, Flow::new(index));
                let receiver = part_of_node(flow.return_route[0]);
                if receiver != number && run.hosts.flows[index].sender.records_echoes() {
                    measuring.push((Flow::new(index), receiver));
                }
            }
        }
        Part {
            number,
            run,
            has_hosts,
            ends,
            late_ports,
            measuring,
            arriving: Mail::default(),
            until: None,
        }
    }

    /// Takes what another part has sent.
    pub fn take(&mut self, mail: &mut Mail) {
        for fate in mail.fates.drain(..) {
            self.run.hosts.take_fate(fate);
        }
        for (flow, transmission) in mail.transmissions.drain(..) {
            self.run.hosts.flows[flow.index()].sender.add_transmission(transmission);
        }
        self.arriving.take_packets(mail);
    }

    /// Simulates all times up to `until`, after all packets that arrive by then have been taken.
    pub fn advance(&mut self, until: Time) {
        let Run { hosts, medium } = &mut self.run;
        hosts.clock.until = until;
        self.arriving.packets.sort_by_key(|passing| passing.queued.next.arrival);
        let arrived = self
            .arriving
            .packets
            .partition_point(|passing| passing.queued.next.arrival <= until);
        for passing in &self.arriving.packets[..arrived] {
            let next = passing.queued.next;
            assert!(
                self.until.is_none_or(|until| next.arrival > until),
                "a packet reaches a part too late"
            );
            medium.enter(hosts, passing.link, next, &self.arriving.options_of(passing));
        }
        self.arriving.remove_first(arrived);
        if self.has_hosts {
            self.run.process_queue();
            self.run.hosts.clock.now = until;
            self.run.medium.empty_lanes();
        } else {
            self.run.advance_to(until);
        }
        for &link in &self.late_ports {
            self.run.medium.act_until(&mut self.run.hosts, link, until);
        }
        self.until = Some(until);
    }

    /// Returns, by part, what has left this part since the last call; the caller empties the lists.
    pub fn mails(&mut self, part_of: impl Fn(Flow) -> usize) -> &mut [Mail] {
        let leaving = self.run.medium.leaving.as_mut();
        let mails = leaving.map_or(&mut [][..], |leaving| &mut leaving.mails);
        for &(flow, receiver) in &self.measuring {
            let sender = &mut self.run.hosts.flows[flow.index()].sender;
            let transmissions = std::iter::from_fn(|| sender.take_transmission());
            let transmissions = transmissions.map(|transmission| (flow, transmission));
            mails[receiver].transmissions.extend(transmissions);
        }
        if let Some(elsewhere) = &mut self.run.hosts.elsewhere {
            for fate in elsewhere.fates.drain(..) {
                mails[part_of(fate.flow())].fates.push(fate);
            }
        }
        mails
    }
}

/// Joins all parts, which have reached the end, to the run that one thread would have reached.
pub(super) fn joined(whole: &Whole<'_>, mut parts: Vec<Part>) -> Option<Run<(), Ip>> {
    parts.sort_by_key(|part| part.number);
    let Whole { scenario, plan, .. } = whole;
    let mut others = parts.split_off(1);
    let Part {
        mut run,
        ends,
        mut arriving,
        ..
    } = parts.pop()?;
    let by_number = |part: u32| (part as usize).checked_sub(1);
    for (index, &end) in ends.iter().enumerate() {
        let own = &mut run.medium.wires[index];
        let (owner, receiver) = (plan.destinations.port[index], plan.destinations.end[index]);
        let mut verdict = own.verdict.take();
        if receiver != BY_NEXT_LINK {
            if let Some(other) = by_number(receiver) {
                verdict = others[other].run.medium.wires[index].verdict.take();
            }
        }
        if let Some(other) = by_number(owner) {
            std::mem::swap(own, &mut others[other].run.medium.wires[index]);
        }
        (own.verdict, own.line.end) = (verdict, end);
    }
    for (index, flow) in scenario.flows.iter().enumerate() {
        let [sender, receiver] = [&flow.route, &flow.return_route].map(|way| plan.hosts[scenario.links[way[0]].from]);
        let own = &mut run.hosts.flows[index];
        if let Some(other) = by_number(sender) {
            own.swap_sender(&mut others[other].run.hosts.flows[index]);
        }
        if let Some(other) = by_number(receiver) {
            own.swap_receiver(&mut others[other].run.hosts.flows[index]);
        }
    }
    for part in &mut others {
        run.hosts.clock.events += part.run.hosts.clock.events;
        arriving.take_packets(&mut part.arriving);
        run.medium.hold(&part.run.medium);
    }
    run.medium.leaving = None;
    run.hosts.elsewhere = None;
    for passing in &arriving.packets {
        run.medium.wires[passing.link.index()]
            .waiting
            .packets
            .push(passing.queued);
    }
    let end = Time(scenario.duration_ps);
    (run.hosts.clock.now, run.hosts.clock.until) = (end, end);
    Some(run)
}
