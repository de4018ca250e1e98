//! Drives a path in virtual time, and the protocol stacks at the ends of its external flows.

use longpipe_end::packets::{LossEvidence, PacketEventKind, PacketType};
use longpipe_end::{
    path_prefix, Ecn, End, Outbox, PacketEvent, ProgramReport, Report as EndReport, Role, Setup, HEADER_BYTES, NEVER,
};
use longpipe_events::{mix, Span, Stream, Time};
use longpipe_network::observe::capture::StackBytes;
use longpipe_network::observe::probe::{Detail, Event};
use longpipe_network::observe::stack_packets::UNKNOWN;
use longpipe_network::report::files::File;
use longpipe_network::report::{InvariantError, Report, WebReport};
use longpipe_network::scenario::{StackConfig, StackPathConfig, TrafficConfig};
use longpipe_network::{Fate, Flow, Outcome, Probe, Scenario, ScenarioError, Simulation, StackPacket};
use longpipe_path::path::{Arrival, Path};
use longpipe_path::store::Store;
use std::collections::VecDeque;

/// Maximum number of steps at one time; if an end exceeds it, the end is assumed to prevent time from advancing.
const MAX_STEPS_AT_ONE_TIME: u32 = 100_000;
/// Maximum number of requests of a flow with web traffic, which the ends receive as one setting.
const MAX_REQUESTS: usize = 100_000;
/// Beginning of the names of values that are times of requests [ps]; the request's number follows.
const FILE_PREFIX: &str = "file ";

/// Error that prevents a run with stacks from starting or continuing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StackError {
    /// Invalid scenario; the line names the field.
    Scenario(String),
    /// Defect of a stack; the line names the flow and the stack, and contains a message.
    Defect(String),
    /// The core's counters violate an invariant.
    Counters(String),
}

impl From<ScenarioError> for StackError {
    fn from(error: ScenarioError) -> StackError {
        StackError::Scenario(error.to_string())
    }
}

impl From<InvariantError> for StackError {
    fn from(error: InvariantError) -> StackError {
        StackError::Counters(error.to_string())
    }
}

/// Results of the ends of a flow, or of one further path of their connection.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowEnds {
    /// Flow index.
    pub flow: usize,
    /// Index of the flow whose traffic is the stack.
    pub connection: usize,
    /// Report of the sender.
    pub sender: EndReport,
    /// Report of the receiver.
    pub receiver: EndReport,
    /// Reports of the user programs at the hosts of the sender and the receiver.
    pub programs: [Option<ProgramReport>; 2],
}

/// Creates an end that runs a stack, for the flow with the given index.
pub type Create<'a> = dyn FnMut(usize, &StackConfig, &Setup<'_>) -> Result<Box<dyn End>, String> + 'a;

/// One end of a flow.
struct Side {
    end: Box<dyn End>,
    /// Flow of each path; the first one is the flow whose traffic is the stack.
    flows: Vec<usize>,
    role: Role,
    /// Length [byte] of the headers that are added to the end's payloads, and maximum payload [byte] of the path.
    header_bytes: u32,
    most_bytes: u32,
    /// Whether the end shares a machine with other ends.
    shares_machine: bool,
    /// Whether a packet has arrived at the current time.
    has_packet: bool,
    /// Payload received so far on each path [byte].
    received_bytes: Vec<u64>,
    /// Files that the receiver's web client requests; empty at a receiver.
    files: Vec<File>,
}

/// A run in which real protocol stacks are the end points of some flows.
pub struct Lockstep<P: Probe = ()> {
    path: Path<P>,
    /// Sender and receiver of each flow that has a stack, in order.
    sides: Vec<Side>,
    /// Time of each end's next action [ps].
    due: Vec<u64>,
    /// Names of each side's flow and stack, for messages.
    names: Vec<String>,
    payloads: Store,
    /// Path and ECN bits of the packets in `payloads`, beginning with packet number `first`.
    labels: VecDeque<(u8, Ecn)>,
    first: u64,
    outcomes: Vec<Outcome>,
    /// Whether the states of senders and the packets that arrive at receivers are reported to the probe.
    watched: bool,
    /// Whether the packets of senders are reported to the probe, and memory for their events.
    logs_packets: bool,
    packets: Vec<PacketEvent>,
    /// Whether the bytes of packets are reported to the probe.
    captures: bool,
    /// Current time, and number of steps that the ends have performed at this time.
    at: Time,
    acts: u32,
    over: bool,
}

/// Lets the datagrams that an end sends enter the network.
struct Entrance<'a, P: Probe> {
    path: &'a mut Path<P>,
    payloads: &'a mut Store,
    labels: &'a mut VecDeque<(u8, Ecn)>,
    now: Time,
    /// Flow of each path, and role of the end.
    flows: &'a [usize],
    role: Role,
    /// Number of the end that receives the datagrams.
    to: usize,
    /// Length of the headers that are added to a payload [byte].
    header_bytes: u32,
    /// Maximum payload of a packet [byte].
    most_bytes: u32,
    /// Whether the datagrams are reported to the probe.
    logged: bool,
    /// Whether the packets' bytes are reported to the probe.
    captured: bool,
    /// The first datagram that could not be sent.
    defect: Option<String>,
}

impl<P: Probe> Outbox for Entrance<'_, P> {
    fn send_on(&mut self, path: u8, payload: &[u8], ecn: Ecn) {
        if payload.len() > self.most_bytes as usize {
            let (sent, limit) = (payload.len(), self.most_bytes);
            let line = || format!("sent {sent} bytes in one datagram; the path takes {limit}");
            self.defect.get_or_insert_with(line);
            return;
        }
        let Some(&flow) = self.flows.get(usize::from(path)) else {
            let line = || format!("sent on path {path} of {}", self.flows.len());
            self.defect.get_or_insert_with(line);
            return;
        };
        if self.logged {
            let sent = datagram(self.now, PacketEventKind::DatagramSent, payload.len());
            self.path
                .simulation()
                .probe_mut()
                .observe(Event::StackPacket(Flow::new(flow), &sent));
        }
        self.payloads.put(self.to, payload, 0);
        self.labels.push_back((path, ecn));
        let id = self.path.enter(Arrival {
            at: self.now,
            circuit: 2 * flow as u32 + u32::from(self.role == Role::Receiver),
            bytes: (payload.len() as u32 + self.header_bytes) as u16,
            capable: ecn != Ecn::NotEct,
            scalable: ecn == Ecn::Ect1,
            marked: ecn == Ecn::Ce,
        });
        if self.captured {
            let packet = StackBytes {
                id,
                flow: Flow::new(flow),
                is_back: self.role == Role::Receiver,
                ecn: ecn as u8,
                bytes: payload,
                is_whole: self.header_bytes == 0,
            };
            self.path
                .simulation()
                .probe_mut()
                .observe(Event::StackSent(self.now, &packet));
        }
    }
}

impl<P: Probe> Lockstep<P> {
    /// Returns the run at time zero. `create` creates both ends of each flow whose traffic comes from a stack.
    ///
    /// # Errors
    /// Returns the first problem if the scenario or a setting of a stack is invalid.
    pub fn new(scenario: &Scenario, seed: u64, probe: P, create: &mut Create<'_>) -> Result<Lockstep<P>, StackError> {
        let (watched, captures) = (!probe.is_idle(), probe.wants(Detail::StackBytes));
        let logs_packets = scenario.traces.packets;
        let mut path = Path::observed(scenario, seed, probe)?;
        let starts = path.simulation().starts();
        let (mut sides, mut names) = (Vec::new(), Vec::new());
        for (index, flow) in scenario.flows.iter().enumerate() {
            let TrafficConfig::Stack(config) = &flow.traffic else {
                continue;
            };
            let further = further_paths(scenario, &flow.name);
            let paths = u8::try_from(1 + further.len()).map_err(|_| {
                let line = format!("traffic of flow {:?}: {} further paths", flow.name, further.len());
                StackError::Scenario(format!("{line}; needs at most {}", u8::MAX - 1))
            })?;
            let mut settings = with_path_settings(config, &further);
            let mut files = Vec::new();
            if let Some(web) = &config.web {
                let requests = web.requests(seed, index as u64, starts[index], path.end());
                files = requests
                    .into_iter()
                    .map(|(requested, request)| File {
                        class: request.class,
                        bytes: request.bytes,
                        requested,
                        answered: None,
                        completed: None,
                    })
                    .collect();
                if files.len() > MAX_REQUESTS {
                    let line = format!("traffic of flow {:?}: web: {} requests", flow.name, files.len());
                    return Err(StackError::Scenario(format!("{line}; needs at most {MAX_REQUESTS}")));
                }
                settings.push(("web".to_owned(), requests_setting(&files, web.request_bytes)));
            }
            let flows: Vec<usize> = std::iter::once(index).chain(further.iter().map(|of| of.0)).collect();
            for (number, role) in [Role::Sender, Role::Receiver].into_iter().enumerate() {
                let largest_bytes = flow.tcp.largest_packets_bytes().0;
                let setup = Setup {
                    role,
                    seed: random(seed, 2 * index as u64 + number as u64),
                    start_ps: starts[index].0,
                    most_bytes: largest_bytes.saturating_sub(HEADER_BYTES),
                    paths,
                    settings: &settings,
                    // Packet numbers of several paths are not distinguished.
                    logs_packets: logs_packets && role == Role::Sender && paths == 1,
                };
                let refused = |line: String| StackError::Scenario(format!("traffic of flow {:?}: {line}", flow.name));
                let end = create(index, config, &setup).map_err(refused)?;
                let header_bytes = end.header_bytes();
                sides.push(Side {
                    flows: flows.clone(),
                    role,
                    header_bytes,
                    most_bytes: largest_bytes.saturating_sub(header_bytes),
                    shares_machine: end.shares_machine(),
                    end,
                    has_packet: false,
                    received_bytes: vec![0; flows.len()],
                    files: std::mem::take(&mut files),
                });
                // The version may be a digest, whose first 12 digits are enough.
                let version: String = config.version.chars().take(12).collect();
                names.push(format!("{}: {} {version}", flow.name, config.stack));
            }
        }
        let due = sides.iter_mut().map(|side| side.end.due()).collect();
        Ok(Lockstep {
            path,
            sides,
            due,
            names,
            payloads: Store::default(),
            labels: VecDeque::new(),
            first: 0,
            outcomes: Vec::new(),
            watched,
            logs_packets,
            packets: Vec::new(),
            captures,
            at: Time::ZERO,
            acts: 0,
            over: false,
        })
    }

    /// Advances through up to `instants` times at which an end acts. Returns whether the run continues.
    ///
    /// # Errors
    /// Returns an error if a stack has a defect.
    pub fn advance(&mut self, instants: u64) -> Result<bool, StackError> {
        for _ in 0..instants {
            if self.over {
                return Ok(false);
            }
            self.step()?;
        }
        Ok(true)
    }

    /// Advances to the next time at which an end acts, or to the end of the run.
    fn step(&mut self) -> Result<(), StackError> {
        let next = self.due.iter().copied().min().unwrap_or(NEVER);
        let until = Time(next).min(self.path.end());
        self.outcomes.clear();
        self.outcomes.extend_from_slice(self.path.advance_until_decided(until));
        let now = self.path.now();
        self.deliver(now)?;
        // Ends may act at the end of the run, but not after it.
        self.over = now >= self.path.end();
        self.acts = if now > self.at { 0 } else { self.acts + 1 };
        self.at = now;
        if self.acts > MAX_STEPS_AT_ONE_TIME {
            let index = self.due.iter().position(|due| *due <= now.0).unwrap_or_default();
            let line = format!(
                "{} schedules wake-ups without end at {} s",
                self.names[index],
                now.as_seconds()
            );
            return Err(StackError::Defect(line));
        }
        for index in 0..self.sides.len() {
            if self.due[index] <= now.0 || self.sides[index].has_packet {
                self.wake(index, now)?;
            }
        }
        Ok(())
    }

    /// Delivers the packets that have arrived to their ends, and discards the payloads of lost packets.
    fn deliver(&mut self, now: Time) -> Result<(), StackError> {
        for outcome in &self.outcomes {
            let Some(kept) = self.payloads.take(outcome.id) else {
                unreachable!("the path decides once about each packet that entered");
            };
            if self.captures {
                let probe = self.path.simulation().probe_mut();
                probe.observe(Event::StackLeft(outcome.time, outcome.id, outcome.fate));
            }
            if let Fate::Delivered { marked } = outcome.fate {
                let (path, sent) = self.labels[(outcome.id - self.first) as usize];
                let ecn = if marked { Ecn::Ce } else { sent };
                let side = &mut self.sides[kept.to];
                side.has_packet = true;
                side.received_bytes[usize::from(path)] += kept.packet.len() as u64;
                if self.watched && side.role == Role::Receiver {
                    let flow = Flow::new(side.flows[usize::from(path)]);
                    let probe = self.path.simulation().probe_mut();
                    probe.observe(Event::ReceivedPayload(now, flow, kept.packet.len() as u32));
                }
                if self.logs_packets && side.role == Role::Sender {
                    let flow = Flow::new(side.flows[usize::from(path)]);
                    let received = datagram(now, PacketEventKind::DatagramReceived, kept.packet.len());
                    let probe = self.path.simulation().probe_mut();
                    probe.observe(Event::StackPacket(flow, &received));
                }
                let received = side.end.receive_on(now.0, path, &kept.packet, ecn);
                received.map_err(|line| StackError::Defect(format!("{} {line}", self.names[kept.to])))?;
            }
            self.payloads.give_back(kept);
        }
        Ok(())
    }

    /// Wakes an end. The datagrams that it sends enter the path.
    fn wake(&mut self, index: usize, now: Time) -> Result<(), StackError> {
        self.discard_decided();
        let side = &mut self.sides[index];
        side.has_packet = false;
        let mut entrance = Entrance {
            path: &mut self.path,
            payloads: &mut self.payloads,
            labels: &mut self.labels,
            now,
            flows: &side.flows,
            role: side.role,
            to: index ^ 1,
            header_bytes: side.header_bytes,
            most_bytes: side.most_bytes,
            logged: self.logs_packets && side.role == Role::Sender,
            captured: self.captures,
            defect: None,
        };
        let woken = side.end.wake(now.0, &mut entrance);
        let checked = woken.and(entrance.defect.map_or(Ok(()), Err));
        checked.map_err(|line| StackError::Defect(format!("{} {line}", self.names[index])))?;
        self.due[index] = side.end.due();
        if self.logs_packets && side.role == Role::Sender {
            side.end.packets(&mut self.packets);
            let (flow, probe) = (Flow::new(side.flows[0]), self.path.simulation().probe_mut());
            for event in self.packets.drain(..) {
                probe.observe(Event::StackPacket(flow, &reported(&event)));
            }
        }
        if self.watched && side.role == Role::Sender {
            let (state, flow) = (side.end.state(), Flow::new(side.flows[0]));
            if let Some(line) = side.end.failure() {
                return Err(StackError::Defect(format!("{} {line}", self.names[index])));
            }
            let value = |reported_value: Option<u64>| reported_value.map_or(f64::NAN, |value| value as f64);
            let probe = self.path.simulation().probe_mut();
            probe.observe(Event::Window {
                now,
                flow,
                cwnd: value(state.cwnd),
                ssthresh: value(state.ssthresh),
            });
            if let Some(srtt_ps) = state.srtt_ps {
                probe.observe(Event::SmoothedRtt(now, flow, Span(srtt_ps)));
            }
        }
        if side.shares_machine {
            self.refresh_shared();
        }
        Ok(())
    }

    /// Updates the wake-up times of ends that share a machine, after one of them has acted.
    fn refresh_shared(&mut self) {
        for (side, due) in self.sides.iter_mut().zip(&mut self.due) {
            if side.shares_machine {
                *due = side.end.due();
            }
        }
    }

    /// Discards the labels of packets whose outcome is known already.
    fn discard_decided(&mut self) {
        while self.first < self.payloads.first() {
            self.labels.pop_front();
            self.first += 1;
        }
    }

    /// Returns the elapsed fraction of the simulated time.
    pub fn progress(&self) -> f64 {
        self.path.now().0 as f64 / self.path.end().0 as f64
    }

    /// Returns the network's report, whose rows contain the stacks' counters for their flows, and the reports of the
    /// ends.
    ///
    /// # Errors
    /// Returns an error if the network's counters violate an invariant, or a stack has a defect.
    pub fn report(&mut self) -> Result<(Report, Vec<FlowEnds>), StackError> {
        let mut report = self.path.report()?;
        let mut flows = Vec::with_capacity(self.sides.len() / 2);
        for (pair, names) in self.sides.chunks_exact_mut(2).zip(self.names.chunks_exact(2)) {
            let [mut sender, mut receiver] = [0, 1].map(|number: usize| pair[number].end.report());
            for (side, name) in pair.iter_mut().zip(names) {
                if let Some(line) = side.end.failure() {
                    return Err(StackError::Defect(format!("{name} {line}")));
                }
            }
            let (reported, arrived_bytes) = (receiver.delivered_bytes, pair[1].received_bytes.iter().sum());
            if reported > arrived_bytes {
                let line = format!(
                    "{} reports {reported} bytes of data; {arrived_bytes} bytes have arrived",
                    names[1]
                );
                return Err(StackError::Defect(line));
            }
            let connection = pair[0].flows[0];
            let mut files = pair[0].files.clone();
            take_file_times(&mut sender, &mut files, |file| &mut file.answered);
            take_file_times(&mut receiver, &mut files, |file| &mut file.completed);
            if !files.is_empty() {
                report.web.push(WebReport {
                    flow: connection,
                    scheduled_bytes: files
                        .iter()
                        .filter(|file| file.answered.is_some())
                        .map(|file| file.bytes)
                        .sum(),
                    requests: Default::default(),
                    files,
                });
            }
            let further: Vec<FlowEnds> = (1..pair[0].flows.len())
                .map(|path| FlowEnds {
                    flow: pair[0].flows[path],
                    connection,
                    sender: take_path(&mut sender, path),
                    receiver: take_path(&mut receiver, path),
                    programs: [None, None],
                })
                .collect();
            let first = FlowEnds {
                flow: connection,
                connection,
                sender,
                receiver,
                programs: [0, 1].map(|number: usize| pair[number].end.program()),
            };
            let has_paths = !further.is_empty();
            for (mut ends, bytes) in std::iter::once(first).chain(further).zip(&pair[1].received_bytes) {
                if has_paths {
                    let received = ("received_bytes".to_owned(), *bytes as f64);
                    ends.receiver.values.push(received);
                }
                let row = &mut report.flows[ends.flow];
                row.delivered_bytes = ends.receiver.delivered_bytes;
                row.highest_sequence_bytes = ends.receiver.delivered_bytes;
                row.completion = ends.receiver.completed_ps.map(Time);
                row.sender.sent_segments = ends.sender.sent_packets;
                row.sender.sent_bytes = ends.sender.sent_bytes;
                row.sender.retransmitted_segments = ends.sender.lost_packets;
                row.sender.retransmitted_bytes = ends.sender.lost_bytes;
                row.sender.fast_retransmits = ends.sender.congestion_events;
                flows.push(ends);
            }
        }
        flows.sort_by_key(|ends| ends.flow);
        report.web.sort_by_key(|web| web.flow);
        report.state_hash = mix(report.state_hash ^ mix(self.path.decisions()));
        Ok((report, flows))
    }

    /// Returns a hash over all outcomes of the path: packet, time, and whether it was delivered, marked or lost.
    pub fn decisions(&self) -> u64 {
        self.path.decisions()
    }

    /// Returns the simulation, including its probe.
    pub fn into_simulation(self) -> Simulation<P> {
        self.path.into_simulation()
    }
}

/// Returns the event of a datagram whose payload has `bytes` bytes.
fn datagram(time: Time, kind: PacketEventKind, bytes: usize) -> StackPacket {
    StackPacket {
        time,
        kind: kind as u8,
        packet_type: PacketType::Unknown as u8,
        first: UNKNOWN,
        last: UNKNOWN,
        length: bytes as u32,
        evidence: LossEvidence::Unknown as u8,
    }
}

/// Returns the event of a packet that a stack has reported.
fn reported(event: &PacketEvent) -> StackPacket {
    StackPacket {
        time: Time(event.at_ps),
        kind: event.kind as u8,
        packet_type: event.packet_type as u8,
        first: i64::try_from(event.first).unwrap_or(UNKNOWN),
        last: i64::try_from(event.last).unwrap_or(UNKNOWN),
        length: event.length,
        evidence: event.evidence as u8,
    }
}

/// Returns the flows that are further paths of the connection of the flow with this name, with their configurations.
fn further_paths<'a>(scenario: &'a Scenario, name: &str) -> Vec<(usize, &'a StackPathConfig)> {
    let flows = scenario.flows.iter().enumerate();
    flows
        .filter_map(|(index, flow)| match &flow.traffic {
            TrafficConfig::StackPath(path) if path.of == name => Some((index, path)),
            _ => None,
        })
        .collect()
}

/// Returns the settings of a stack, followed by those of its further paths.
fn with_path_settings(config: &StackConfig, further: &[(usize, &StackPathConfig)]) -> Vec<(String, String)> {
    let of_paths = further.iter().enumerate().flat_map(|(number, (_, path))| {
        let prefix = path_prefix(number + 1);
        let settings = path.settings.iter();
        settings.map(move |(name, value)| (format!("{prefix}{name}"), value.clone()))
    });
    config.settings.iter().cloned().chain(of_paths).collect()
}

/// Returns the setting that describes the requests of a web client to both ends: for each request, its time [ps], its
/// length, and the length of its response [byte].
fn requests_setting(files: &[File], request_bytes: u32) -> String {
    let requests = files.iter();
    let lines: Vec<String> = requests
        .map(|file| format!("{} {request_bytes} {}", file.requested.0, file.bytes))
        .collect();
    lines.join(";")
}

/// Moves the times at which an end had received requests or responses completely from its report to the files.
fn take_file_times(report: &mut EndReport, files: &mut [File], time_of: fn(&mut File) -> &mut Option<Time>) {
    report.values.retain(|(name, value)| {
        let number = name
            .strip_prefix(FILE_PREFIX)
            .and_then(|digits| digits.parse::<usize>().ok());
        let Some(file) = number.and_then(|number| files.get_mut(number)) else {
            return true;
        };
        *time_of(file) = Some(Time(*value as u64));
        false
    });
}

/// Removes the values of a path from an end's report, and returns them as the report of the path.
fn take_path(report: &mut EndReport, path: usize) -> EndReport {
    let (prefix, mut of_path) = (path_prefix(path), EndReport::default());
    report.values.retain(|(name, value)| {
        let Some(name) = name.strip_prefix(&prefix) else {
            return true;
        };
        match name {
            "sent_packets" => of_path.sent_packets = *value as u64,
            "sent_bytes" => of_path.sent_bytes = *value as u64,
            "lost_packets" => of_path.lost_packets = *value as u64,
            "lost_bytes" => of_path.lost_bytes = *value as u64,
            "congestion_events" => of_path.congestion_events = *value as u64,
            _ => of_path.values.push((name.to_owned(), *value)),
        }
        false
    });
    of_path
}

/// Returns the seed of an end.
fn random(seed: u64, end: u64) -> u64 {
    Stream::new(seed, "stack", end).below(u64::MAX)
}
