//! One run: its hosts, including the clock, and one medium.

use crate::clock::Actor;
use crate::hosts::external;
use crate::hosts::medium::Medium;
use crate::hosts::{media, proxy, stream, Hosts};
use crate::observe::probe::Probe;
use crate::packets::external::ExternalPacket;
use crate::packets::{Circuit, Flow};
use crate::report::flows::{ArrivedReport, DatagramReport, ProxyReport, VideoReport};
use crate::report::state_hash::StateHash;
use crate::report::{check, FlowReport, InvariantError, Report, WebReport};
use longpipe_events::Time;
use longpipe_tcp::journal::attribution::Totals;

/// Results of flows, web traffic, datagrams and proxies.
type FlowReports = (
    Vec<FlowReport>,
    Vec<WebReport>,
    Vec<VideoReport>,
    Vec<DatagramReport>,
    Vec<ProxyReport>,
);

/// A run with any medium and either engine.
pub(crate) trait AnyRun<P: Probe>: Send {
    /// Processes up to `events` events. Returns false once the run has ended.
    fn advance(&mut self, events: u64) -> bool;

    /// Processes all events up to `time`, and sets the clock to `time`.
    fn advance_to(&mut self, time: Time);

    /// Processes events up to `time`, but stops after the first time at which an external packet is delivered or
    /// lost. Sets the clock to the time reached, and returns it.
    fn advance_until_outcome(&mut self, time: Time) -> Time;

    /// Returns the time of the next event.
    fn next_due(&mut self) -> Time;

    /// Returns a lower bound on the time at which an external packet reaches its host if no further external packet
    /// enters; if no better bound is known, this is the time of the next event.
    fn horizon(&mut self) -> Time;

    /// Injects an external packet at `time`, after all other events of that time.
    fn enter(&mut self, time: Time, vc: Circuit, packet: ExternalPacket);

    /// Returns the results of a finished run.
    ///
    /// # Errors
    /// Returns the violated invariant if cells or bytes are not accounted for.
    fn report(&mut self) -> Result<Report, InvariantError>;

    /// Returns, for each flow's sender, the effects of its window reductions until the flow completed, by cause.
    fn reductions(&self) -> Vec<Totals>;

    /// Returns the hosts, including the clock.
    fn hosts(&self) -> &Hosts<P>;

    /// Returns the hosts, including the clock.
    fn hosts_mut(&mut self) -> &mut Hosts<P>;

    /// Returns the probe with all its records.
    fn into_probe(self: Box<Self>) -> P;
}

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Run<P: Probe, M: Medium> {
    pub hosts: Hosts<P>,
    pub medium: M,
}

impl<P: Probe, M: Medium> Run<P, M> {
    /// Creates a run at time zero.
    pub fn new(hosts: Hosts<P>, medium: M) -> Run<P, M> {
        let mut run = Run { hosts, medium };
        for flow in 0..run.hosts.flows.len() {
            run.hosts.expect_start(&mut run.medium, Flow::new(flow));
        }
        run
    }

    /// Processes up to `events` events. Returns false if there is no further event up to the current limit.
    #[inline(never)]
    fn process(&mut self, mut events: u64) -> bool {
        // A loop that counts down to zero takes the fewest instructions.
        while events > 0 {
            events -= 1;
            if !self.step() {
                return false;
            }
        }
        true
    }

    /// Processes the next event. Returns false if there is no event up to the current limit.
    #[inline(always)]
    fn step(&mut self) -> bool {
        let Run { hosts, medium } = self;
        medium.advance(hosts) || self.process_event()
    }

    /// Processes the next event in the queue. Returns false if there is no event up to the current limit.
    #[inline(always)]
    fn process_event(&mut self) -> bool {
        let Run { hosts, medium } = self;
        let Some((time, entity)) = hosts.clock.queue.pop(hosts.clock.until) else {
            return false;
        };
        hosts.clock.begin(time);
        match hosts.clock.actor(entity) {
            Actor::Link(link) => medium.on_arrival(hosts, link),
            Actor::Sender(flow) => hosts.on_sender_timer(medium, flow),
            Actor::Receiver(flow) => hosts.on_receiver_timer(medium, flow),
            Actor::Start(flow) => hosts.on_clock(medium, flow),
            Actor::Source(source) => medium.on_source(hosts, source),
            Actor::Port(port) => medium.on_port(hosts, port),
        }
        true
    }

    /// Processes all events in the queue up to the current limit, but none of the medium's events outside the queue.
    pub fn process_queue(&mut self) {
        while self.process_event() {}
    }

    /// Replaces the reports of the connections of arriving flows by one report for each flow of the scenario.
    fn merge_connection_slots(
        &self,
        flows: &mut Vec<FlowReport>,
        proxies: &mut Vec<ProxyReport>,
        hash: &mut StateHash,
    ) -> Result<Vec<ArrivedReport>, InvariantError> {
        let mut arrived = Vec::with_capacity(self.hosts.arriving.len());
        for own in &self.hosts.arriving {
            let owner = own.slots().owner;
            let report = own.report(&self.hosts.flows, self.hosts.clock.now);
            let broken = |broken| InvariantError(format!("arriving flows of flow {owner}: {broken}"));
            let (whole, report) = report.map_err(broken)?;
            flows[owner] = whole;
            let (slots, others) = std::mem::take(proxies)
                .into_iter()
                .partition(|proxy: &ProxyReport| own.slots().flows.contains(&proxy.flow));
            *proxies = others;
            if let Some(all) = proxies.iter_mut().find(|proxy| proxy.flow == owner) {
                slots.iter().for_each(|slot: &ProxyReport| all.add(slot));
            }
            if let Some(report) = report {
                hash.arrived(&report);
                arrived.push(report);
            }
        }
        flows.truncate(self.hosts.own_flows());
        Ok(arrived)
    }

    fn flow_reports(&self, hash: &mut StateHash) -> Result<FlowReports, InvariantError> {
        let mut flows = Vec::with_capacity(self.hosts.flows.len());
        let (mut web, mut videos, mut datagrams, mut proxies) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (index, flow) in self.hosts.flows.iter().enumerate() {
            let mut report = FlowReport {
                delivered_bytes: flow.receiver.delivered(),
                highest_sequence_bytes: flow.receiver.highest(),
                reordered: flow.receiver.late(),
                sender: flow.sender.counters(),
                start: flow.start,
                completion: flow.completion,
            };
            let space = flow.sender.flight();
            let ordered = space.una <= space.nxt
                && space.nxt <= space.max
                && space.una <= report.delivered_bytes
                && report.delivered_bytes <= report.highest_sequence_bytes
                && report.highest_sequence_bytes <= space.max
                && report.sender.sent_bytes == space.max + report.sender.retransmitted_bytes;
            check(ordered, || {
                format!("flow {index}: sequence space {space:?}, {report:?}")
            })?;
            flow.hash(&report, hash);
            let broken = self.hosts.broken_requests(Flow::new(index));
            check(broken.is_none(), || format!("requests of flow {index}: {broken:?}"))?;
            if let Some((requests, exchange)) = self.hosts.exchange(Flow::new(index)) {
                let files = exchange.files().to_vec();
                if let Some(playback) = exchange.playback(self.hosts.clock.now) {
                    let report = VideoReport {
                        flow: index,
                        chunks: files,
                        playback,
                    };
                    hash.video(&report);
                    videos.push(report);
                } else {
                    let report = WebReport {
                        flow: index,
                        scheduled_bytes: exchange.scheduled(),
                        requests: requests.sender.counters(),
                        files,
                    };
                    hash.web(&report);
                    web.push(report);
                }
            }
            if let Some(own) = flow.application.try_as_datagrams_ref() {
                let broken = own.broken();
                check(broken.is_none(), || format!("datagrams of flow {index}: {broken:?}"))?;
                let own = own.report(Flow::new(index));
                hash.datagrams(&own);
                own.fill_in(&mut report);
                datagrams.push(own);
            }
            if let Some(own) = proxy::report(&self.hosts, Flow::new(index)) {
                let own = own.map_err(|broken| InvariantError(format!("data that flow {index} forwards: {broken}")))?;
                hash.proxy(&own);
                proxies.push(own);
            }
            flows.push(report);
        }
        Ok((flows, web, videos, datagrams, proxies))
    }
}

impl<P: Probe, M: Medium> AnyRun<P> for Run<P, M> {
    fn advance(&mut self, events: u64) -> bool {
        if self.process(events) {
            return true;
        }
        self.hosts.clock.now = self.hosts.clock.end;
        self.medium.finish(&mut self.hosts);
        self.hosts.report_last_events();
        false
    }

    fn advance_to(&mut self, time: Time) {
        self.hosts.early_delivery.due_acks.disable();
        self.hosts.clock.until = time;
        while self.process(u64::MAX) {}
        self.hosts.clock.now = time;
    }

    fn advance_until_outcome(&mut self, time: Time) -> Time {
        self.hosts.early_delivery.due_acks.disable();
        self.hosts.clock.until = time;
        while self.hosts.outcomes.is_empty() && self.process(1) {}
        let reached = if self.hosts.outcomes.is_empty() {
            time
        } else {
            self.hosts.clock.now
        };
        self.advance_to(reached);
        reached
    }

    fn next_due(&mut self) -> Time {
        let pending = self.hosts.clock.queue.next_time();
        self.medium.next_due().map_or(pending, |next| next.min(pending))
    }

    fn horizon(&mut self) -> Time {
        let medium_horizon = self.medium.horizon(self.hosts.clock.now);
        medium_horizon.unwrap_or_else(|| self.next_due())
    }

    fn enter(&mut self, time: Time, vc: Circuit, packet: ExternalPacket) {
        self.advance_to(time);
        external::enter(&mut self.hosts, &mut self.medium, vc, packet);
    }

    fn report(&mut self) -> Result<Report, InvariantError> {
        let mut hash = StateHash::default();
        let (mut flows, web, videos, datagrams, mut proxies) = self.flow_reports(&mut hash)?;
        let arrived = self.merge_connection_slots(&mut flows, &mut proxies, &mut hash)?;
        let carried = self.medium.report(self.hosts.clock.now, &mut hash)?;
        Ok(Report {
            flows,
            web,
            streams: stream::reports(&self.hosts),
            media: media::reports(&self.hosts),
            videos,
            arrived,
            datagrams,
            proxies,
            ports: carried.ports,
            packet_ports: carried.packet_ports,
            queues: carried.queues,
            token_credits: carried.token_credits,
            classes: carried.classes,
            sources: carried.sources,
            guaranteed: carried.guaranteed,
            state_hash: hash.value(),
            events: self.hosts.clock.events,
        })
    }

    fn reductions(&self) -> Vec<Totals> {
        let (flows, now) = (&self.hosts.flows, self.hosts.clock.now);
        let mut reductions: Vec<Totals> = flows.iter().map(|flow| flow.reductions(now)).collect();
        for own in &self.hosts.arriving {
            reductions[own.slots().owner] = own.reductions(flows, now);
        }
        reductions.truncate(self.hosts.own_flows());
        reductions
    }

    fn hosts(&self) -> &Hosts<P> {
        &self.hosts
    }

    fn hosts_mut(&mut self) -> &mut Hosts<P> {
        &mut self.hosts
    }

    fn into_probe(self: Box<Self>) -> P {
        self.hosts.probe
    }
}
