//! Cellular access (LTE and NR): a base station schedules the users of a cell in slots, in both directions.
//!
//! Downlink data are sent in the next downlink slot that the scheduler gives to their user. Uplink data wait for grants: a
//! user without one sends a scheduling request, and reports what remains with each block (BSR). HARQ repeats blocks that
//! fail, RLC repeats what HARQ loses, and packets are delivered in order, so that one failure delays all packets behind it.
//!
//! Events occur at the starts of slots, and only in slots in which a station sends, receives or learns something. Data
//! that arrive at the start of a slot are considered in the next one.

mod blocks;
mod frame;
mod parameters;
mod scheduler;
mod user;

use super::cell_events::CellEvents;
use super::fragments::{Filled, InTransit};
use super::{AccessReport, MediumAccess, NewStation, StationAction, StationEvent, Stations};
use blocks::{fill, Block, BlockState, Blocks, Rules};
use frame::{Frame, Way, SYMBOLS};
use longpipe_events::{Span, Stream, Time};
use parameters::config;
pub use parameters::{CellularConfig, Direction, Preset, Rlc, Scheduler};
use scheduler::{Candidate, Order};
use std::collections::VecDeque;
use user::{Activity, Channel, Presence};

/// Upper ends [byte] of the levels of a short buffer status report (TS 38.321 table 6.1.3.1-1).
const LEVELS: [u64; 30] = [
    10, 14, 20, 28, 38, 53, 74, 102, 142, 198, 276, 384, 535, 745, 1038, 1446, 2014, 2806, 3909, 5446, 7587, 10570,
    14726, 20516, 28581, 39818, 55474, 77284, 107669, 150000,
];

/// Returns the number of bytes that a buffer status report states.
fn reported(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        _ => LEVELS[LEVELS.partition_point(|&level| level < bytes).min(LEVELS.len() - 1)],
    }
}

/// What happens at the start of a slot, in this order. Handovers make actions of earlier epochs of a station void.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    /// The transmission of a block in the slot before has ended.
    Receive { station: usize, block: u64, epoch: u64 },
    /// A handover begins.
    Handover { station: usize },
    /// RLC notices that a block is missing.
    Notice { station: usize, block: u64 },
    /// The scheduler learns the outcome of a transmission by HARQ.
    Feedback {
        station: usize,
        block: u64,
        repeats: bool,
        epoch: u64,
    },
    /// RLC repeats a block.
    Repeat { station: usize, block: u64, epoch: u64 },
    /// The scheduler learns of uplink data by a report, or a request, that was composed in an earlier slot.
    Report {
        station: usize,
        composed: u64,
        bytes: u64,
        is_request: bool,
        epoch: u64,
    },
    /// A user may send a scheduling request.
    Request { station: usize, epoch: u64 },
    /// The interruption by a handover has ended.
    Resume { station: usize },
    /// The scheduler assigns the slot to downlink users.
    Downlink,
    /// The scheduler grants an uplink slot to users.
    Uplink { slot: u64 },
    /// A user sends new data by a grant.
    Send { station: usize },
}

/// A grant for new data in an uplink slot.
#[derive(Clone, Copy, Debug)]
struct Grant {
    slot: u64,
    bytes: u64,
    resource_blocks: u64,
}

/// What base station and user know of each other, for uplink data.
#[derive(Clone, Debug, Default)]
struct Requests {
    period: u64,
    /// Slot within the period in which the user may send a scheduling request.
    offset: u64,
    /// Size [byte] of the grant that answers a request.
    grant_bytes: u64,
    /// Bytes that the base station knows of, and has not granted.
    known: u64,
    /// Grants whose slots have not come.
    grants: VecDeque<Grant>,
    /// Slots and bytes of grants after the slot in which the last report was composed.
    granted: VecDeque<(u64, u64)>,
    /// Slot in which the last report was composed that has reached the base station.
    last: u64,
    /// Requests, and reports of data, on their way.
    expected: u64,
    /// Whether the user waits for the slot of its scheduling request.
    is_due: bool,
}

/// A direction of a user's link.
#[derive(Clone, Debug)]
struct Station {
    way: Way,
    /// Bytes of a slot with all symbols in this direction, at the rate of the link.
    slot_bytes: f64,
    channel: Channel,
    rules: Rules,
    errors: Stream,
    presence: Presence,
    /// Number of the user among those of the cell.
    user: usize,
    /// Handovers so far, the end of the last one, and whether the next one is scheduled.
    epoch: u64,
    resumes: u64,
    is_handover_due: bool,
    requests: Requests,
    /// Bytes that have not been sent of the packet of which a part has been sent; 0 if there is none.
    rest: u64,
    blocks: Blocks,
    /// Blocks that wait for a retransmission by HARQ, and by RLC, in order.
    by_harq: VecDeque<u64>,
    by_rlc: VecDeque<u64>,
    /// HARQ processes in use.
    processes: u64,
    in_transit: InTransit,
    /// Time since which data wait that are in no transmission, and end of the present one.
    waits_since: Option<Time>,
    busy_until: Time,
    taken: u64,
    delivered: u64,
    report: AccessReport,
}

impl Station {
    /// Returns the bytes of a whole slot for this user.
    fn bytes_of(&mut self, slot: u64, frame: &Frame) -> u64 {
        let share = frame.symbols(self.way, slot) as f64 / SYMBOLS as f64;
        (self.slot_bytes * share * self.channel.rate(frame.start(slot))) as u64
    }

    fn has_process(&self) -> bool {
        self.processes < self.rules.processes
    }

    fn has_retransmissions(&self) -> bool {
        !self.by_harq.is_empty() || !self.by_rlc.is_empty()
    }

    /// Counts the end of the wait of data whose transmission begins, and returns how long they have waited.
    fn stop_waiting(&mut self, now: Time) -> Span {
        let waited = self.waits_since.take().map_or(0, |since| now.0.saturating_sub(since.0));
        self.report.waiting = Span(self.report.waiting.0 + waited);
        Span(waited)
    }
}

/// Assignment of the slots of a direction.
#[derive(Clone, Debug)]
struct Assignment {
    stations: Vec<usize>,
    order: Order,
    /// Next slot that is assigned, if there is one.
    due: Option<u64>,
    /// First slot that has not been assigned.
    from: u64,
}

/// A cell.
#[derive(Clone, Debug)]
pub(crate) struct Cellular {
    frame: Frame,
    resource_blocks: u64,
    processing: u64,
    acknowledgement: u64,
    grant_slots: u64,
    stations: Vec<Station>,
    /// Users by the order of their nodes.
    activities: Vec<Activity>,
    down: Assignment,
    up: Assignment,
    events: CellEvents<u64, Action>,
    /// Users with data, in the slot that is being assigned.
    users: Vec<Candidate>,
}

impl Cellular {
    /// Creates the idle cell of these stations.
    pub(super) fn new(new: &[NewStation<'_>], seed: u64) -> Cellular {
        let first = config(&new[0]);
        let frame = first.frame();
        let assignment = |way| Assignment {
            stations: (0..new.len())
                .filter(|&station| config(&new[station]).way() == way)
                .collect(),
            order: Order::new(first.scheduler, new.len(), frame.slots(first.fairness_time_ps)),
            due: None,
            from: 0,
        };
        let (down, up) = (assignment(Way::Down), assignment(Way::Up));
        let mut request_slot = 0;
        let user = |station: &NewStation<'_>| match config(station).way() {
            Way::Up => station.node,
            Way::Down => station.to,
        };
        let mut nodes: Vec<usize> = new.iter().map(user).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let station = |station: &NewStation<'_>| {
            let own = config(station);
            let period = own.request_period();
            // Users have the uplink slots of a period one after the other.
            let offset = frame.next(Way::Up, request_slot) % period;
            request_slot = if own.way() == Way::Up {
                (offset + 1) % period
            } else {
                request_slot
            };
            Station {
                way: own.way(),
                slot_bytes: own.slot_bytes(station.rate_bps),
                channel: own.channel(seed, station.link),
                rules: own.rules(),
                errors: Stream::new(seed, "block error", station.link as u64),
                presence: own.presence(),
                user: nodes.partition_point(|&node| node < user(station)),
                epoch: 0,
                resumes: 0,
                is_handover_due: false,
                requests: Requests {
                    period,
                    offset,
                    grant_bytes: own.request_grant_bytes,
                    ..Requests::default()
                },
                rest: 0,
                blocks: Blocks::default(),
                by_harq: VecDeque::new(),
                by_rlc: VecDeque::new(),
                processes: 0,
                in_transit: InTransit::default(),
                waits_since: None,
                busy_until: Time::ZERO,
                taken: 0,
                delivered: 0,
                report: AccessReport::default(),
            }
        };
        Cellular {
            frame,
            resource_blocks: first.resource_blocks(),
            processing: first.processing_slots(),
            acknowledgement: first.acknowledgement_slots.into(),
            grant_slots: first.grant_slots.into(),
            stations: new.iter().map(station).collect(),
            activities: vec![Activity::default(); nodes.len()],
            down,
            up,
            events: CellEvents::new(),
            users: Vec::new(),
        }
    }

    fn schedule(&mut self, slot: u64, action: Action) {
        self.events.push(slot, action);
    }

    /// Lets the scheduler assign a slot to the users of a direction, at the start of `slot` or later.
    fn arm(&mut self, way: Way, slot: u64) {
        match way {
            Way::Down => {
                let slot = self.frame.next(Way::Down, slot.max(self.down.from));
                if self.down.due.is_none_or(|due| slot < due) {
                    self.down.due = Some(slot);
                    self.schedule(slot, Action::Downlink);
                }
            }
            Way::Up => {
                let earliest = self.frame.next(Way::Down, slot) + self.grant_slots;
                let uplink = self.frame.next(Way::Up, earliest.max(self.up.from));
                let is_earlier = self.up.due.is_none_or(|due| uplink < due);
                if let Some(grant) = self.frame.grant_of(uplink, self.grant_slots).filter(|_| is_earlier) {
                    self.up.due = Some(uplink);
                    self.schedule(grant, Action::Uplink { slot: uplink });
                }
            }
        }
    }

    /// Returns the first slot from `slot` on in which a station may send new data.
    fn available(&self, number: usize, slot: u64) -> u64 {
        let station = &self.stations[number];
        let activity = self.activities[station.user];
        station.presence.available(station.way, slot, station.resumes, activity)
    }

    fn has_data(&self, number: usize, stations: &impl Stations) -> bool {
        self.stations[number].rest > 0 || stations.waiting_bytes(number) > 0
    }

    /// Returns the first slot from `slot` on in which the scheduler could serve a station; None if it knows of no data.
    fn ready(&self, number: usize, slot: u64, stations: &impl Stations) -> Option<u64> {
        let station = &self.stations[number];
        if !station.by_harq.is_empty() {
            return Some(slot);
        }
        let has_data = station.has_process() && (!station.by_rlc.is_empty() || self.has_new(number, stations));
        has_data.then(|| self.available(number, slot))
    }

    /// Lets the scheduler serve a station as soon as it can, from `slot` on.
    fn arm_for(&mut self, number: usize, slot: u64, stations: &impl Stations) {
        if let Some(at) = self.ready(number, slot, stations) {
            self.arm(self.stations[number].way, at);
        }
    }

    /// Returns whether the scheduler knows of new data of a station.
    fn has_new(&self, number: usize, stations: &impl Stations) -> bool {
        match self.stations[number].way {
            Way::Down => self.has_data(number, stations),
            Way::Up => self.stations[number].requests.known > 0,
        }
    }

    /// Lets a user with data send a scheduling request, in its next slot from `slot` on, unless it expects a grant.
    fn request(&mut self, slot: u64, number: usize, stations: &impl Stations) {
        if self.stations[number].way == Way::Down || !self.needs_request(number, stations) {
            return;
        }
        let requests = &mut self.stations[number].requests;
        requests.is_due = true;
        let (period, offset) = (requests.period, requests.offset);
        let epoch = self.stations[number].epoch;
        let slot = self.available(number, slot);
        let first = (slot / period).saturating_sub(1);
        let mut opportunities = (first..).map(|number| self.frame.next(Way::Up, number * period + offset));
        let at = opportunities.find(|&opportunity| opportunity >= slot).unwrap_or(slot);
        self.schedule(at, Action::Request { station: number, epoch });
    }

    fn needs_request(&self, number: usize, stations: &impl Stations) -> bool {
        let requests = &self.stations[number].requests;
        let is_expected = requests.known > 0 || !requests.grants.is_empty() || requests.expected > 0;
        !requests.is_due && !is_expected && self.has_data(number, stations)
    }

    fn send_request(&mut self, slot: u64, number: usize, stations: &mut impl Stations) {
        self.stations[number].requests.is_due = false;
        if !self.needs_request(number, stations) {
            return;
        }
        let station = &mut self.stations[number];
        station.report.requests += 1;
        station.requests.expected += 1;
        let (bytes, epoch) = (station.requests.grant_bytes, station.epoch);
        stations.record(
            number,
            self.frame.start(slot),
            StationEvent::new(StationAction::Request, bytes),
        );
        let report = Action::Report {
            station: number,
            composed: slot,
            bytes,
            is_request: true,
            epoch,
        };
        self.schedule(slot + self.processing, report);
    }

    /// Processes a report or a request that has reached the scheduler.
    fn learn(&mut self, number: usize, (composed, bytes): (u64, u64), is_request: bool) {
        let requests = &mut self.stations[number].requests;
        requests.expected -= u64::from(bytes > 0);
        if composed < requests.last {
            return;
        }
        requests.last = composed;
        while requests
            .granted
            .front()
            .is_some_and(|&(granted, _)| granted <= composed)
        {
            requests.granted.pop_front();
        }
        let granted: u64 = requests.granted.iter().map(|(_, bytes)| bytes).sum();
        let known = bytes.saturating_sub(granted);
        requests.known = if is_request { requests.known.max(known) } else { known };
    }

    /// Assigns the resource blocks of a slot to users of a direction, at the start of slot `present`.
    fn assign(&mut self, way: Way, slot: u64, present: u64, stations: &mut impl Stations) {
        let assignment = if way == Way::Down { &mut self.down } else { &mut self.up };
        assignment.due = None;
        assignment.from = slot + 1;
        assignment.order.begin_slot();
        let members = std::mem::take(&mut assignment.stations);
        let mut room = self.resource_blocks;
        for &number in &members {
            if self.stations[number].has_retransmissions() {
                room -= self.retransmit(number, slot, room, stations);
            }
        }
        let mut users = std::mem::take(&mut self.users);
        users.clear();
        for &number in &members {
            let may_send = self.stations[number].has_process() && self.has_new(number, stations);
            if may_send && self.available(number, slot) == slot {
                let bytes = self.stations[number].bytes_of(slot, &self.frame);
                users.push(Candidate { station: number, bytes });
            }
        }
        users.retain(|user| user.bytes > 0);
        while room > 0 {
            let order = if way == Way::Down {
                &self.down.order
            } else {
                &self.up.order
            };
            let Some(user) = order.choose(&users).map(|place| users.swap_remove(place)) else {
                break;
            };
            let (used, bytes) = match way {
                Way::Down => self.send_down(user, slot, room, stations),
                Way::Up => self.grant(user, slot, present, room, stations),
            };
            room -= used;
            if bytes > 0 {
                let order = if way == Way::Down {
                    &mut self.down.order
                } else {
                    &mut self.up.order
                };
                order.serve(user.station, bytes);
            }
        }
        self.users = users;
        let next = members
            .iter()
            .filter_map(|&number| self.ready(number, slot + 1, stations))
            .min();
        let assignment = if way == Way::Down { &mut self.down } else { &mut self.up };
        assignment.stations = members;
        if let Some(next) = next {
            // The grants of the next uplink slot may be sent in the present slot.
            self.arm(way, if next == slot + 1 { present } else { next });
        }
    }

    /// Repeats blocks of a station in a slot with `room` resource blocks. Returns the number of those that it uses.
    fn retransmit(&mut self, number: usize, slot: u64, room: u64, stations: &mut impl Stations) -> u64 {
        let mut used = 0;
        while let Some(block) = self.next_retransmission(number, slot, room - used) {
            let Some(sent) = self.stations[number].blocks.get(block) else {
                break;
            };
            used += sent.resource_blocks;
            let event = StationEvent::new(StationAction::Retransmission, sent.filled.bytes);
            stations.record(number, self.frame.start(slot), event);
            self.stations[number].report.retransmissions += 1;
            self.begin(number, block, slot);
        }
        used
    }

    /// Removes and returns the block that a station repeats next, if it fits into `room` resource blocks of a slot.
    fn next_retransmission(&mut self, number: usize, slot: u64, room: u64) -> Option<u64> {
        let (all, frame) = (self.resource_blocks, self.frame);
        let station = &mut self.stations[number];
        if let Some(&block) = station.by_harq.front() {
            let fits = station
                .blocks
                .get(block)
                .is_some_and(|sent| sent.resource_blocks <= room);
            return if fits { station.by_harq.pop_front() } else { None };
        }
        let may_send = station.has_process() && self.available(number, slot) == slot;
        let station = &mut self.stations[number];
        let &block = station.by_rlc.front().filter(|_| may_send)?;
        // RLC passes the data to MAC again, in a block for the present channel.
        let bytes = Some(station.bytes_of(slot, &frame)).filter(|&bytes| bytes > 0)?;
        let sent = station.blocks.get(block)?;
        sent.resource_blocks = (sent.filled.bytes * all).div_ceil(bytes).clamp(1, all);
        if sent.resource_blocks > room {
            return None;
        }
        station.processes += 1;
        station.by_rlc.pop_front()
    }

    /// Begins a transmission of a block in a slot.
    fn begin(&mut self, number: usize, block: u64, slot: u64) {
        let station = &mut self.stations[number];
        let Some(sent) = station.blocks.get(block) else { return };
        if sent.transmissions == 0 {
            sent.first = slot;
        }
        sent.transmissions += 1;
        let share = u128::from(self.frame.slot_ps) * u128::from(sent.resource_blocks);
        let airtime = (share / u128::from(self.resource_blocks)) as u64;
        station.report.airtime = Span(station.report.airtime.0 + airtime);
        let (station, epoch) = (number, station.epoch);
        self.schedule(slot + 1, Action::Receive { station, block, epoch });
    }

    /// Sends new data to a user in a downlink slot with `room` resource blocks. Returns the numbers of resource blocks and
    /// of bytes that it uses.
    fn send_down(&mut self, user: Candidate, slot: u64, room: u64, stations: &mut impl Stations) -> (u64, u64) {
        let bytes = user.bytes * room / self.resource_blocks;
        let needed = |used: u64| (used * self.resource_blocks).div_ceil(user.bytes).clamp(1, room);
        let grant = Grant {
            slot,
            bytes,
            resource_blocks: room,
        };
        let (used, block) =
            self.stations[user.station].fill(user.station, grant, self.frame.start(slot), needed, stations);
        let Some(block) = block else {
            if !self.has_data(user.station, stations) {
                // The queue discipline has dropped its packets.
                self.stations[user.station].stop_waiting(self.frame.start(slot));
            }
            return (0, 0);
        };
        self.start(user.station, block, slot, stations);
        (used, user.bytes * used / self.resource_blocks)
    }

    /// Begins the first transmission of a block of new data.
    fn start(&mut self, number: usize, block: u64, slot: u64, stations: &mut impl Stations) {
        let (now, end) = (self.frame.start(slot), self.frame.start(slot + 1));
        let station = &mut self.stations[number];
        self.activities[station.user].last = Some(slot);
        station.report.granted += 1;
        station.report.used += 1;
        let waited = station.stop_waiting(now);
        let bytes = station.blocks.get(block).map_or(0, |block| block.filled.bytes);
        let event = StationEvent::new(StationAction::Transmission, bytes);
        stations.record(number, now, StationEvent { waited, ..event });
        station.busy_until = end;
        if station.rest > 0 || stations.waiting_bytes(number) > 0 {
            station.waits_since = Some(end);
        }
        self.begin(number, block, slot);
    }

    /// Grants a user resource blocks of an uplink slot. Returns the numbers of resource blocks and of bytes.
    fn grant(
        &mut self,
        user: Candidate,
        slot: u64,
        present: u64,
        room: u64,
        stations: &mut impl Stations,
    ) -> (u64, u64) {
        let station = &mut self.stations[user.station];
        let known = station.requests.known;
        let used = (known * self.resource_blocks).div_ceil(user.bytes).clamp(1, room);
        let bytes = user.bytes * used / self.resource_blocks;
        station.requests.known = known.saturating_sub(bytes);
        station.requests.grants.push_back(Grant {
            slot,
            bytes,
            resource_blocks: used,
        });
        station.requests.granted.push_back((slot, bytes));
        station.processes += 1;
        let event = StationEvent::new(StationAction::Grant, bytes);
        stations.record(user.station, self.frame.start(present), event);
        self.schedule(slot, Action::Send { station: user.station });
        (used, bytes)
    }

    /// Sends new data, and reports what remains, by the grant of an uplink slot.
    fn send_up(&mut self, slot: u64, number: usize, stations: &mut impl Stations) {
        let now = self.frame.start(slot);
        let station = &mut self.stations[number];
        // A handover voids grants.
        if station.requests.grants.front().is_none_or(|grant| grant.slot != slot) {
            return;
        }
        let Some(grant) = station.requests.grants.pop_front() else {
            return;
        };
        let epoch = station.epoch;
        // The grant has been assigned whole.
        let (_, block) = station.fill(number, grant, now, |_| grant.resource_blocks, stations);
        let bytes = reported(station.rest + stations.waiting_bytes(number));
        station.requests.expected += u64::from(bytes > 0);
        match block {
            Some(block) => {
                // The report arrives with the block.
                if let Some(block) = station.blocks.get(block) {
                    block.report = Some(bytes);
                }
                station.processes -= 1;
                self.start(number, block, slot, stations);
            }
            None => {
                // Padding, with a report: no HARQ is needed for it.
                station.processes -= 1;
                station.report.granted += 1;
                if bytes == 0 {
                    station.stop_waiting(now);
                }
                let report = Action::Report {
                    station: number,
                    composed: slot,
                    bytes,
                    is_request: false,
                    epoch,
                };
                self.schedule(slot + self.processing, report);
            }
        }
    }

    /// Ends a transmission of a block at the start of a slot.
    fn receive(&mut self, slot: u64, number: usize, block: u64, stations: &mut impl Stations) {
        let (sent, processing) = (slot - 1, self.processing);
        let station = &mut self.stations[number];
        let (way, rules, epoch) = (station.way, station.rules, station.epoch);
        let Some(own) = station.blocks.get(block) else { return };
        let (transmissions, composed, report) = (own.transmissions, own.first, own.report);
        let error = if transmissions == 1 {
            rules.first_error
        } else {
            rules.further_error
        };
        let fails = error > 0.0 && station.errors.fraction() < error;
        let is_last = transmissions >= rules.transmissions;
        let learned = match way {
            Way::Down => self.frame.next(Way::Up, sent + self.acknowledgement) + processing,
            Way::Up => sent + processing,
        };
        if !fails || is_last {
            if let Some(own) = station.blocks.get(block) {
                own.report = None;
            }
        }
        let mut noticed = vec![];
        if !fails {
            noticed = station.blocks.receive(block, slot);
            if let Some(bytes) = report {
                let report = Action::Report {
                    station: number,
                    composed,
                    bytes,
                    is_request: false,
                    epoch,
                };
                self.events.push(learned, report);
            }
            self.deliver(slot, number, stations);
        } else if is_last {
            if let Some(own) = station.blocks.get(block) {
                own.state = BlockState::Failed;
            }
            station.requests.expected -= u64::from(report.is_some_and(|bytes| bytes > 0));
            noticed.push(block);
        }
        for block in noticed {
            let at = self.stations[number].blocks.noticed(block, slot, &rules);
            self.schedule(at, Action::Notice { station: number, block });
        }
        let feedback = Action::Feedback {
            station: number,
            block,
            repeats: fails && !is_last,
            epoch,
        };
        self.schedule(learned.max(slot), feedback);
        self.request(slot, number, stations);
    }

    /// Repeats a block by HARQ, or ends its process.
    fn feed_back(&mut self, slot: u64, number: usize, block: u64, repeats: bool, stations: &impl Stations) {
        let station = &mut self.stations[number];
        match repeats {
            true => station.by_harq.push_back(block),
            false => station.processes -= 1,
        }
        self.arm_for(number, slot, stations);
    }

    /// Lets RLC repeat a block that HARQ has lost, or gives it up.
    fn notice(&mut self, slot: u64, number: usize, block: u64, stations: &mut impl Stations) {
        let station = &mut self.stations[number];
        let rules = station.rules;
        if !station
            .blocks
            .get(block)
            .is_some_and(|own| own.state == BlockState::Failed)
        {
            return;
        }
        let at = station.blocks.noticed(block, slot, &rules);
        if at > slot {
            return self.schedule(at, Action::Notice { station: number, block });
        }
        let Some(own) = station.blocks.get(block) else { return };
        if rules.rlc == Rlc::Um || own.repeated >= rules.rlc_retransmissions {
            own.state = BlockState::Lost;
            return self.deliver(slot, number, stations);
        }
        own.state = BlockState::Pending;
        own.transmissions = 0;
        own.repeated += 1;
        if own.gap.take().is_some() {
            station.blocks.report_status(slot);
        }
        // The status report, or the poll that it answers, takes a slot of the other direction.
        let at = match station.way {
            Way::Down => self.frame.next(Way::Up, slot) + self.processing,
            Way::Up => self.frame.next(Way::Down, slot),
        };
        let (station, epoch) = (number, station.epoch);
        self.schedule(at, Action::Repeat { station, block, epoch });
    }

    /// Schedules the next handover of a station that has data in a slot, unless it is scheduled.
    fn await_handover(&mut self, slot: u64, number: usize) {
        let station = &mut self.stations[number];
        if station.is_handover_due {
            return;
        }
        if let Some((next, end)) = station.presence.handover(slot) {
            station.is_handover_due = true;
            station.resumes = station.resumes.max(end);
            self.schedule(next, Action::Handover { station: number });
        }
    }

    /// Moves a user to another base station.
    fn hand_over(&mut self, slot: u64, number: usize, stations: &mut impl Stations) {
        let has_data = self.has_data(number, stations);
        let station = &mut self.stations[number];
        station.is_handover_due = false;
        if !has_data && station.blocks.is_empty() {
            return;
        }
        station.epoch += 1;
        station.processes = 0;
        station.by_harq.clear();
        let keeps = station.presence.forwards && station.rules.rlc == Rlc::Am;
        station.by_rlc = station.blocks.stop(keeps).into();
        let requests = &mut station.requests;
        (requests.known, requests.expected, requests.last, requests.is_due) = (0, 0, slot, false);
        requests.grants.clear();
        requests.granted.clear();
        if station.way == Way::Down && !station.presence.forwards {
            station.lose_queue(number, self.frame.start(slot), stations);
        }
        self.deliver(slot, number, stations);
        self.await_handover(slot, number);
        let resumes = self.stations[number].resumes;
        self.schedule(resumes, Action::Resume { station: number });
    }

    /// Passes packets on that wait for no earlier block.
    fn deliver(&mut self, slot: u64, number: usize, stations: &mut impl Stations) {
        let now = self.frame.start(slot);
        let station = &mut self.stations[number];
        while let Some((filled, is_lost)) = station.blocks.release() {
            station.delivered += filled.completed;
            station.in_transit.complete(&filled, now, is_lost);
        }
        station.in_transit.end(number, now, stations);
    }
}

impl Station {
    /// Loses the packets that wait at the base station.
    fn lose_queue(&mut self, number: usize, now: Time, stations: &mut impl Stations) {
        let mut filled = Filled {
            completed: u64::from(self.rest > 0),
            ..Filled::default()
        };
        self.rest = 0;
        while stations.take(number, now).is_some() {
            self.taken += 1;
            filled.completed += 1;
        }
        self.stop_waiting(now);
        self.blocks.push(Block {
            state: BlockState::Lost,
            ..Block::new(filled, 0, 0)
        });
    }

    /// Fills a block with new data. Returns the number of resource blocks that it uses, of those that `needed` bytes use,
    /// and the block, if there are data.
    fn fill(
        &mut self,
        number: usize,
        grant: Grant,
        now: Time,
        needed: impl Fn(u64) -> u64,
        stations: &mut impl Stations,
    ) -> (u64, Option<u64>) {
        let mut taken = 0;
        let (filled, left) = fill(grant.bytes, &mut self.rest, || {
            let bytes = stations.take(number, now)?;
            taken += 1;
            Some(bytes)
        });
        self.taken += taken;
        if filled.bytes == 0 {
            return (0, None);
        }
        let used = needed(grant.bytes - left);
        self.report.overhead_bytes += grant.bytes * used / grant.resource_blocks - filled.bytes;
        self.processes += 1;
        let block = self.blocks.push(Block::new(filled, used, grant.slot));
        (used, Some(block))
    }
}

impl MediumAccess for Cellular {
    fn arrived(&mut self, now: Time, station: usize, _bytes: u64, stations: &mut impl Stations) {
        let own = &mut self.stations[station];
        if own.waits_since.is_none() {
            own.waits_since = Some(now.max(own.busy_until));
        }
        let way = own.way;
        if way == Way::Up && own.presence.is_steady() && !self.needs_request(station, stations) {
            return;
        }
        let slot = self.frame.after(now);
        let own = &mut self.stations[station];
        if own.presence.is_steady() {
            // Shortcut: the scheduler serves the direction as soon as it can serve the station.
            if way == Way::Down && self.down.due.is_some_and(|due| due <= slot) {
                return;
            }
        } else {
            own.presence.promote(slot, &mut self.activities[own.user]);
            self.await_handover(slot, station);
        }
        match way {
            Way::Down => self.arm_for(station, slot, stations),
            Way::Up => self.request(slot, station, stations),
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.events.first().map(|slot| self.frame.start(slot))
    }

    fn wake(&mut self, now: Time, stations: &mut impl Stations) {
        while self.events.first().is_some_and(|slot| self.frame.start(slot) <= now) {
            let Some((slot, action)) = self.events.pop() else {
                return;
            };
            let is_void = |station: usize, epoch: u64| self.stations[station].epoch != epoch;
            match action {
                Action::Receive { station, epoch, .. }
                | Action::Feedback { station, epoch, .. }
                | Action::Repeat { station, epoch, .. }
                | Action::Report { station, epoch, .. }
                | Action::Request { station, epoch }
                    if is_void(station, epoch) => {}
                Action::Receive { station, block, .. } => self.receive(slot, station, block, stations),
                Action::Handover { station } => self.hand_over(slot, station, stations),
                Action::Notice { station, block } => self.notice(slot, station, block, stations),
                Action::Feedback {
                    station,
                    block,
                    repeats,
                    ..
                } => {
                    self.feed_back(slot, station, block, repeats, stations);
                }
                Action::Repeat { station, block, .. } => {
                    self.stations[station].by_rlc.push_back(block);
                    self.arm_for(station, slot, stations);
                }
                Action::Report {
                    station,
                    composed,
                    bytes,
                    is_request,
                    ..
                } => {
                    self.learn(station, (composed, bytes), is_request);
                    self.arm_for(station, slot, stations);
                    self.request(slot, station, stations);
                }
                Action::Request { station, .. } => self.send_request(slot, station, stations),
                Action::Resume { station } => {
                    self.arm_for(station, slot, stations);
                    self.request(slot, station, stations);
                }
                Action::Downlink if self.down.due == Some(slot) => self.assign(Way::Down, slot, slot, stations),
                Action::Uplink { slot: uplink } if self.up.due == Some(uplink) => {
                    self.assign(Way::Up, uplink, slot, stations);
                }
                // The scheduler has been called earlier.
                Action::Downlink | Action::Uplink { .. } => {}
                Action::Send { station } => self.send_up(slot, station, stations),
            }
        }
    }

    fn report(&self, station: usize, now: Time) -> AccessReport {
        let own = &self.stations[station];
        let waiting = own.waits_since.map_or(0, |since| now.0.saturating_sub(since.0));
        AccessReport {
            waiting: Span(own.report.waiting.0 + waiting),
            ..own.report
        }
    }

    fn conserves(&self, _now: Time) -> bool {
        self.stations.iter().all(|station| {
            let begun = u64::from(station.rest > 0);
            station.taken == station.delivered + station.blocks.completed() + begun
                && station.report.used <= station.report.granted
                && station.processes <= station.rules.processes
        })
    }
}

#[cfg(test)]
mod tests;
