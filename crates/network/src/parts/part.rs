//! One part of a run on several threads: hosts with their interfaces, or output ports of routers.

use super::arriving::Arriving;
use super::plan::Plan;
use crate::hosts::early_delivery::EarlyDelivery;
use crate::hosts::reports::Elsewhere;
use crate::hosts::{hosts, Hosts};
use crate::ip::leaving::{Destinations, Leaving, Mail, Passing, BY_NEXT_LINK};
use crate::ip::port::line::End;
use crate::ip::Ip;
use crate::lookahead::early::EarlyHosts;
use crate::lookahead::guarantees::Guarantees;
use crate::packets::{Flow, Link, Options};
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
    /// Packets from other parts that have not been processed.
    arriving: Arriving,
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
                wire.line.end = match plan.destinations.end[index] {
                    BY_NEXT_LINK => End::Unordered,
                    _ => End::Leaves,
                };
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
            arriving: Arriving::default(),
            until: None,
        }
    }

    /// Takes what part number `from` has sent in a turn.
    pub fn take(&mut self, from: usize, turn: u64, mail: &mut Mail) {
        for fate in mail.fates.drain(..) {
            self.run.hosts.take_fate(fate);
        }
        for (flow, transmission) in mail.transmissions.drain(..) {
            self.run.hosts.flows[flow.index()].sender.add_transmission(transmission);
        }
        self.arriving.take(from, turn, mail);
    }

    /// Returns a time before which nothing happens in this part unless further packets arrive.
    pub fn next_due(&mut self) -> Time {
        let Run { hosts, medium } = &mut self.run;
        let mut due = self.arriving.first().min(hosts.clock.queue.next_time());
        due = due.min(medium.lanes.first().1);
        for &link in &self.late_ports {
            let wire = &mut medium.wires[link.index()];
            due = wire.port.due(&mut wire.line, due).unwrap_or(due);
        }
        due
    }

    /// Simulates all times up to `until`, after all packets that arrive by then have been taken.
    pub fn advance(&mut self, until: Time) {
        assert!(
            self.until.is_none_or(|until| self.arriving.first() > until),
            "a packet reaches a part too late"
        );
        self.until = Some(until);
        if self.next_due() > until {
            return;
        }
        let Part { run, arriving, .. } = self;
        run.hosts.clock.until = until;
        if self.has_hosts {
            arriving.remove_until(until, |passing, options, _| enter(run, passing, options));
            run.process_queue();
            run.hosts.clock.now = until;
            run.medium.empty_lanes();
        } else {
            arriving.remove_until(until, |passing, options, following| {
                enter_in_order(run, passing, options, following);
            });
            run.advance_to(until);
        }
        for &link in &self.late_ports {
            self.run.medium.act_until(&mut self.run.hosts, link, until);
        }
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

/// Passes a packet from another part to `run`; `options` are None if it has at most a timestamp.
#[inline]
fn enter(run: &mut Run<(), Ip>, passing: &Passing, options: Option<&Options>) {
    let (next, Run { hosts, medium }) = (passing.queued.next, run);
    match options {
        None => medium.enter(hosts, passing.link, next, passing.queued.stamp),
        Some(options) => medium.enter(hosts, passing.link, next, options),
    }
}

/// Like `enter`, but processes everything that precedes the packet, and the packet too if no other packet from another
/// part arrives before `following` and nothing else is simultaneous.
#[inline]
fn enter_in_order(run: &mut Run<(), Ip>, passing: &Passing, options: Option<&Options>, following: Time) {
    let (at, stamp) = (passing.arrival(), passing.queued.stamp);
    if first_due(run) < at {
        run.advance_to(Time(at.0 - 1));
    }
    if at >= following.min(first_due(run)) || run.medium.wires[passing.link.index()].line.end != End::Shared {
        return enter(run, passing, options);
    }
    let Run { hosts, medium } = run;
    match options {
        None => medium.enter_first(hosts, passing.queued.next, stamp),
        Some(options) => medium.enter_first(hosts, passing.queued.next, options),
    }
}

/// Returns a time before which no packet in the lanes and no event is due.
#[inline]
fn first_due(run: &Run<(), Ip>) -> Time {
    let first_event = run.hosts.clock.queue.lower_bound();
    run.medium.lanes.first().1.min(first_event)
}

/// Joins all parts, which have reached the end, to the run that one thread would have reached.
pub(super) fn joined(whole: &Whole<'_>, mut parts: Vec<Part>) -> Option<Run<(), Ip>> {
    parts.sort_by_key(|part| part.number);
    let Whole { scenario, plan, .. } = whole;
    let mut others = parts.split_off(1);
    let Part {
        mut run,
        ends,
        arriving,
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
    for part in &others {
        run.hosts.clock.events += part.run.hosts.clock.events;
        run.medium.hold(&part.run.medium);
    }
    run.medium.leaving = None;
    run.hosts.elsewhere = None;
    let arriving = others.iter().map(|part| &part.arriving).chain([&arriving]);
    for passing in arriving.flat_map(Arriving::iter) {
        run.medium.wires[passing.link.index()]
            .waiting
            .packets
            .push(passing.queued);
    }
    let end = Time(scenario.duration_ps);
    (run.hosts.clock.now, run.hosts.clock.until) = (end, end);
    Some(run)
}
