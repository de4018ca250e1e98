//! Return link of DVB-RCS2 (EN 301 545-2): the terminals of a beam request capacity from the network control center
//! (NCC) at the gateway, and send in the bursts (slots) of superframes that it grants.
//!
//! All superframes are counted in the gateway's time of reception: terminals send earlier, by their propagation delay.
//! A terminal evaluates its requests periodically, or on demand, and sends a request in its control slot, of which each
//! superframe has one for each terminal, or by random access. The NCC decides on the plan of a superframe a lead before it; the lead includes
//! both one-way delays. The slots of a plan begin in the middle of the superframe, and continue at its beginning: a
//! terminal that is alone then has the mean place of a terminal in a loaded beam.
//!
//! An idle beam has no events: without requests, plans contain the constant rates and free capacity alone, and are
//! computed when the next packet arrives.

mod allocation;
mod frame;
mod parameters;
mod random_access;
mod requests;

use super::cell_events::CellEvents;
use super::fragments::{Filled, InTransit};
use super::{AccessReport, MediumAccess, NewStation, StationAction, StationEvent, Stations};
use allocation::Ncc;
use frame::{fill, OwnSlots, Slots, HEADER};
use longpipe_events::{Span, Stream, Time};
use parameters::config;
pub use parameters::{Category, DvbRcs2Config, Preset, RandomAccess};
use random_access::{Channel, OwnRules, CONSECUTIVE, IDLE};
use requests::{Evaluation, Limits, Request, Rule};
use std::collections::VecDeque;
use std::ops::Range;

/// Events of a beam, in the order in which simultaneous ones are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    /// The transmissions of a terminal's packets have ended.
    EndBurst(usize),
    /// The NCC decides on the plan of a superframe.
    Plan(u64),
    /// A terminal evaluates its requests.
    Evaluate(usize),
    /// Terminals prepare their random access in a superframe.
    RandomAccess(u64),
    /// A burst of a terminal begins.
    BeginBurst(usize),
}

/// A terminal that sends in a superframe by random access, with its bursts: requests, then data.
struct RandomSender {
    number: usize,
    requests: Vec<Request>,
    data: Vec<Filled>,
}

impl RandomSender {
    fn bursts(&self) -> usize {
        self.requests.len() + self.data.len()
    }
}

/// Slots of all terminals in a superframe.
#[derive(Clone, Debug)]
struct Plan {
    superframe: u64,
    /// Time at which the NCC has sent the plan.
    sent: Time,
    /// Slots by terminal.
    slots: Vec<OwnSlots>,
}

/// A terminal.
#[derive(Clone, Debug)]
struct Terminal {
    delay: u64,
    overhead: u64,
    on_demand: bool,
    request_loss: f64,
    losses: Stream,
    rule: Rule,
    limits: Limits,
    /// Time [ps] from the start of a superframe to the terminal's control slot.
    control_ps: u64,
    /// Time [ps] between evaluations, and time of the first one.
    interval_ps: u64,
    phase_ps: u64,
    /// Time of the next evaluation, if one is due.
    evaluates: Option<Time>,
    arrived_bytes: u64,
    /// Bytes that plans have granted since the last evaluation, including the constant rate.
    assigned_bytes: u64,
    /// First superframe whose plan the terminal has not counted as assigned.
    uncounted: u64,
    /// Bytes that have not been sent of the packet of which a part has been sent; 0 if there is none.
    rest: u64,
    /// Superframe and slot of the next burst, if the terminal has data and slots.
    next: Option<(u64, u64)>,
    /// Superframe and slots of the last bursts, each full of one packet, that were counted before they begin.
    ahead: (u64, Range<u64>),
    /// End of the last burst.
    free: Time,
    in_transit: InTransit,
    random_access: OwnRules,
    /// Requests that wait for random access.
    outbox: VecDeque<Request>,
    /// Superframe after the last one with random access, and the number of consecutive ones.
    consecutive: (u64, u64),
    /// First superframe in which the terminal may use random access.
    not_before: u64,
    /// Time since which data wait.
    waits_since: Option<Time>,
    /// Bursts in all superframes before `unplanned`.
    granted: u64,
    report: AccessReport,
}

/// The beam.
#[derive(Clone, Debug)]
pub(crate) struct DvbRcs2 {
    slots: Slots,
    /// Slots of a carrier in a superframe.
    count: u64,
    burst_bytes: u64,
    superframe_ps: u64,
    lead_ps: u64,
    processing_ps: u64,
    /// Longest propagation delay [ps] of a terminal.
    longest_ps: u64,
    ncc: Ncc,
    channel: Option<Channel>,
    terminals: Vec<Terminal>,
    /// Plans of consecutive superframes, which are not all over.
    plans: VecDeque<Plan>,
    /// Superframe after those of `plans`.
    unplanned: u64,
    /// Whether the NCC decides on each plan in turn.
    is_active: bool,
    events: CellEvents<Time, Action>,
}

impl Terminal {
    fn new(station: &NewStation<'_>, (number, count): (usize, usize), seed: u64) -> Terminal {
        let config = config(station);
        let share = |period_ps: u64| (u128::from(period_ps) * (2 * number as u128 + 1) / (2 * count as u128)) as u64;
        let frames = config.interval_ps() / config.superframe_ps();
        Terminal {
            delay: station.delay.0,
            overhead: config.overhead_bytes(),
            on_demand: config.is_on_demand(),
            request_loss: config.request_loss,
            losses: Stream::new(seed, "request", station.link as u64),
            rule: config.rule(),
            limits: config.limits(),
            control_ps: share(config.superframe_ps()),
            interval_ps: config.interval_ps(),
            // OpenSAND: frame `mac_id` of each period.
            phase_ps: match config.is_of_opensand() {
                true => (number as u64 % frames.max(1)) * config.superframe_ps(),
                false => share(config.interval_ps()),
            },
            evaluates: None,
            arrived_bytes: 0,
            assigned_bytes: 0,
            uncounted: 0,
            rest: 0,
            next: None,
            ahead: (0, 0..0),
            free: Time::ZERO,
            in_transit: InTransit::default(),
            random_access: config.own_random_access(config.capacity(station.rate_bps)),
            outbox: VecDeque::new(),
            consecutive: (0, 0),
            not_before: 0,
            waits_since: None,
            granted: 0,
            report: AccessReport::default(),
        }
    }

    /// Returns the first periodic evaluation at or after a time.
    fn evaluation_from(&self, at: Time) -> Time {
        let periods = at.0.saturating_sub(self.phase_ps).div_ceil(self.interval_ps);
        Time(self.phase_ps + periods * self.interval_ps)
    }

    /// Adds the time in which data have waited until `now`, and returns it.
    fn stop_waiting(&mut self, now: Time) -> Span {
        let waited = self.waits_since.take().map_or(0, |since| now.0.saturating_sub(since.0));
        self.report.waiting = Span(self.report.waiting.0 + waited);
        Span(waited)
    }

    /// Returns whether the terminal uses random access in a superframe, for which it may draw a back-off.
    fn may_access(&mut self, superframe: u64, channel: &mut Channel, superframe_ps: u64) -> bool {
        if superframe < self.not_before {
            return false;
        }
        let OwnRules {
            backoff_probability,
            backoff,
            ..
        } = self.random_access;
        let begins = self.consecutive.0 != superframe;
        if begins && backoff_probability > 0.0 && channel.fraction() < backoff_probability {
            self.not_before = superframe + backoff.0.div_ceil(superframe_ps);
            return false;
        }
        true
    }

    /// Counts a superframe with random access; after several consecutive ones, the terminal leaves the next ones to
    /// others.
    fn use_frame(&mut self, superframe: u64) {
        let (next, count) = self.consecutive;
        let count = if next == superframe { count + 1 } else { 1 };
        self.consecutive = (superframe + 1, count);
        if count == CONSECUTIVE {
            self.not_before = superframe + 1 + IDLE;
        }
    }

    /// Returns the data bytes of a burst, and counts its other bytes as overhead.
    fn count_bytes(&mut self, filled: &Filled, burst_bytes: u64) -> u64 {
        let data = filled.bytes.saturating_sub(filled.completed * self.overhead);
        self.report.overhead_bytes += burst_bytes - data;
        data
    }
}

/// Returns whether a plan grants a terminal bursts in a superframe.
fn is_granted(plans: &VecDeque<Plan>, superframe: u64, number: usize) -> bool {
    let first = plans.front().map_or(0, |plan| plan.superframe);
    let plan = superframe
        .checked_sub(first)
        .and_then(|place| plans.get(place as usize));
    plan.is_some_and(|plan| plan.slots[number].number > 0)
}

impl DvbRcs2 {
    /// Creates the idle beam of these terminals.
    pub(super) fn new(stations: &[NewStation<'_>], seed: u64) -> DvbRcs2 {
        let first = config(&stations[0]);
        let capacity = first.capacity(stations[0].rate_bps);
        let longest = stations.iter().map(|station| station.delay.0).max().unwrap_or(0);
        let accounts = stations.iter().map(|station| config(station).account());
        let terminal = |(number, station)| Terminal::new(station, (number, stations.len()), seed);
        DvbRcs2 {
            slots: Slots::new(stations[0].rate_bps, first.burst_bytes()),
            count: capacity.bursts,
            burst_bytes: first.burst_bytes(),
            superframe_ps: first.superframe_ps(),
            lead_ps: first.lead_ps(longest),
            processing_ps: first.processing_ps(),
            longest_ps: longest,
            channel: first
                .random_access(capacity)
                .map(|rules| Channel::new(rules, seed, stations[0].link)),
            ncc: Ncc::new(capacity, first.division(), accounts.collect()),
            terminals: stations.iter().enumerate().map(terminal).collect(),
            plans: VecDeque::new(),
            unplanned: 0,
            is_active: false,
            events: CellEvents::new(),
        }
    }

    /// Returns the time at which the NCC decides on the plan of a superframe; None before the start of the run.
    fn decision(&self, superframe: u64) -> Option<Time> {
        (superframe * self.superframe_ps).checked_sub(self.lead_ps).map(Time)
    }

    /// Returns the slots of the terminals in a superframe with these numbers of bursts.
    fn slots_of(&self, bursts: &[u64]) -> Vec<OwnSlots> {
        let mut next = self.count / 2;
        let own = |&number: &u64| {
            let first = next % self.count;
            next += number;
            OwnSlots { first, number }
        };
        bursts.iter().map(own).collect()
    }

    /// Adds the plan of the next superframe.
    fn add_plan(&mut self, bursts: &[u64], decided: Time, stations: &mut impl Stations) {
        self.plans.push_back(Plan {
            superframe: self.unplanned,
            sent: Time(decided.0 + self.processing_ps),
            slots: self.slots_of(bursts),
        });
        for (number, (terminal, &bursts)) in self.terminals.iter_mut().zip(bursts).enumerate() {
            terminal.granted += bursts;
            if bursts > 0 {
                let reached = Time(decided.0 + self.processing_ps + terminal.delay);
                let event = StationEvent::new(StationAction::Grant, bursts * self.burst_bytes);
                stations.record(number, reached, event);
            }
        }
        self.unplanned += 1;
    }

    /// Returns the bursts of each terminal in superframes without requests, before superframe `end`.
    fn idle_bursts(&self, end: u64) -> Vec<u64> {
        let number = end.saturating_sub(self.unplanned);
        if !self.ncc.has_free_capacity() {
            return self.ncc.idle_plan(0).iter().map(|bursts| bursts * number).collect();
        }
        let mut sums = vec![0; self.terminals.len()];
        for superframe in self.unplanned..end {
            let plan = self.ncc.idle_plan(superframe);
            sums.iter_mut().zip(plan).for_each(|(sum, bursts)| *sum += bursts);
        }
        sums
    }

    /// Makes the NCC decide on each plan from now on. Until now, no terminal has requested anything.
    fn activate(&mut self, now: Time, stations: &mut impl Stations) {
        self.is_active = true;
        // Superframes that the gateway has received are over for all terminals, which send before that.
        let over = now.0 / self.superframe_ps;
        if self.unplanned < over {
            let bursts = self.idle_bursts(over);
            self.terminals
                .iter_mut()
                .zip(bursts)
                .for_each(|(terminal, bursts)| terminal.granted += bursts);
            self.unplanned = over;
            self.plans.clear();
        }
        while self.decision(self.unplanned).is_none_or(|decided| decided < now) {
            let decided = self.decision(self.unplanned).unwrap_or(Time::ZERO);
            let plan = self.ncc.idle_plan(self.unplanned);
            self.add_plan(&plan, decided, stations);
        }
        if let Some(decided) = self.decision(self.unplanned) {
            self.events.push(decided, Action::Plan(self.unplanned));
        }
    }

    /// Decides on the plan of a superframe.
    fn plan(&mut self, now: Time, superframe: u64, stations: &mut impl Stations) {
        let bursts = self.ncc.plan(now, superframe);
        self.add_plan(&bursts, now, stations);
        // A terminal at any distance has sent its part of a superframe when the gateway receives the next one.
        let over = now.0 / self.superframe_ps;
        while self.plans.front().is_some_and(|plan| plan.superframe < over) {
            (0..self.terminals.len()).for_each(|number| self.count_assigned(number, now));
            self.plans.pop_front();
        }
        for number in 0..self.terminals.len() {
            self.find_burst(now, number, stations);
        }
        let has_data = |terminal: &Terminal| {
            terminal.waits_since.is_some() || terminal.evaluates.is_some() || !terminal.outbox.is_empty()
        };
        self.is_active = self.ncc.is_active() || self.terminals.iter().any(has_data);
        if self.is_active {
            let decided = Time(now.0 + self.superframe_ps);
            self.events.push(decided, Action::Plan(superframe + 1));
        }
    }

    /// Adds what the plans that have reached a terminal by `now` grant to its assigned bytes.
    fn count_assigned(&mut self, number: usize, now: Time) {
        let terminal = &mut self.terminals[number];
        let heard = now.0.checked_sub(terminal.delay).map(Time);
        for plan in self.plans.iter().take_while(|plan| Some(plan.sent) <= heard) {
            if plan.superframe >= terminal.uncounted {
                terminal.assigned_bytes += plan.slots[number].number * self.burst_bytes;
                terminal.uncounted = plan.superframe + 1;
            }
        }
    }

    /// Evaluates the requests of a terminal, and sends the request, if any, in its next control slot. With random access,
    /// only terminals with granted bursts have control slots.
    fn evaluate(&mut self, now: Time, number: usize, stations: &mut impl Stations) {
        self.count_assigned(number, now);
        let not_sent = self.not_begun(number, now) * (self.burst_bytes - HEADER);
        let terminal = &mut self.terminals[number];
        let seen = Evaluation {
            now,
            since_ps: terminal.interval_ps,
            arrived_bytes: std::mem::take(&mut terminal.arrived_bytes),
            queued_bytes: stations.waiting_bytes(number) + terminal.rest + not_sent,
            assigned_bytes: std::mem::take(&mut terminal.assigned_bytes),
        };
        if let Some(request) = terminal.rule.evaluate(&terminal.limits, &seen) {
            let earliest = now.0 + terminal.delay;
            let superframe = earliest
                .saturating_sub(terminal.control_ps)
                .div_ceil(self.superframe_ps);
            let waits =
                self.channel.is_some() && (!terminal.outbox.is_empty() || !is_granted(&self.plans, superframe, number));
            match waits {
                true => terminal.outbox.push_back(request),
                false => {
                    let received = Time(terminal.control_ps + superframe * self.superframe_ps);
                    self.send_request(now, number, request, Some(received), stations);
                }
            }
            self.await_random_access(now);
        }
        let terminal = &mut self.terminals[number];
        let continues = seen.queued_bytes > 0 || terminal.rule.is_pending();
        terminal.evaluates = continues.then(|| terminal.evaluation_from(Time(now.0 + 1)));
        if let Some(next) = terminal.evaluates {
            self.events.push(next, Action::Evaluate(number));
        }
    }

    /// Sends a request, which the gateway receives at the given time unless it is lost; None stands for a collision.
    fn send_request(
        &mut self,
        now: Time,
        number: usize,
        request: Request,
        received: Option<Time>,
        stations: &mut impl Stations,
    ) {
        let terminal = &mut self.terminals[number];
        terminal.report.requests += 1;
        let received = received.filter(|_| terminal.losses.fraction() >= terminal.request_loss);
        let action = match received {
            Some(_) => StationAction::Request,
            None => StationAction::LostRequest,
        };
        stations.record(number, now, request.event(action));
        match received {
            Some(received) => self.ncc.receive(number, received, request),
            None => terminal.report.requests_lost += 1,
        }
    }

    /// Schedules the random access of the next superframe whose terminals have not prepared it.
    fn await_random_access(&mut self, now: Time) {
        if let Some(channel) = self.channel.as_mut().filter(|channel| !channel.is_due) {
            channel.is_due = true;
            let superframe = (now.0 + self.longest_ps).div_ceil(self.superframe_ps);
            let at = Time(superframe * self.superframe_ps - self.longest_ps);
            self.events.push(at, Action::RandomAccess(superframe));
        }
    }

    /// Lets terminals without granted bursts in a superframe send requests and data by random access. All terminals
    /// prepare it when the terminal with the longest propagation delay does.
    fn random_access(&mut self, now: Time, superframe: u64, stations: &mut impl Stations) {
        let Some(mut channel) = self.channel.take() else { return };
        channel.is_due = false;
        let senders = self.random_senders(now, superframe, &mut channel, stations);
        let counts: Vec<u64> = senders.iter().map(|sender| sender.bursts() as u64).collect();
        let mut decoded = channel.frame(&counts).into_iter();
        for sender in senders {
            self.send_randomly(superframe, sender, &mut decoded, stations);
        }
        self.channel = Some(channel);
        let is_pending = |(number, terminal): (usize, &Terminal)| {
            terminal.rest > 0 || stations.waiting_bytes(number) > 0 || !terminal.outbox.is_empty()
        };
        if self.terminals.iter().enumerate().any(is_pending) {
            self.await_random_access(Time(now.0 + 1));
        }
    }

    /// Returns the requests and data that terminals without granted bursts send in a superframe by random access.
    fn random_senders(
        &mut self,
        now: Time,
        superframe: u64,
        channel: &mut Channel,
        stations: &mut impl Stations,
    ) -> Vec<RandomSender> {
        let begin = superframe * self.superframe_ps;
        let mut senders = vec![];
        for number in 0..self.terminals.len() {
            let terminal = &mut self.terminals[number];
            if is_granted(&self.plans, superframe, number) {
                let received = Time(begin + terminal.control_ps);
                while let Some(request) = self.terminals[number].outbox.pop_front() {
                    self.send_request(now, number, request, Some(received), stations);
                }
                continue;
            }
            let has_data = terminal.rest > 0 || stations.waiting_bytes(number) > 0;
            let is_idle = !has_data && terminal.outbox.is_empty();
            if is_idle || !terminal.may_access(superframe, channel, self.superframe_ps) {
                continue;
            }
            let own = terminal.random_access.bursts as usize;
            let requests: Vec<Request> = (0..own).map_while(|_| terminal.outbox.pop_front()).collect();
            let overhead = terminal.overhead;
            let mut data = vec![];
            while requests.len() + data.len() < own {
                let filled = fill(channel.rules.burst_bytes, &mut terminal.rest, overhead, || {
                    stations.take(number, now)
                });
                if filled.bytes == 0 {
                    break;
                }
                data.push(filled);
            }
            let sender = RandomSender { number, requests, data };
            if sender.bursts() > 0 {
                senders.push(sender);
            }
        }
        senders
    }

    /// Sends the bursts of a terminal in a superframe by random access; `slots` returns, for each, the slot in which it
    /// is decoded, or None if it is lost.
    fn send_randomly(
        &mut self,
        superframe: u64,
        sender: RandomSender,
        slots: &mut impl Iterator<Item = Option<u64>>,
        stations: &mut impl Stations,
    ) {
        let begin = superframe * self.superframe_ps;
        let (number, bursts) = (sender.number, sender.bursts());
        let terminal = &mut self.terminals[number];
        let at = Time(begin - terminal.delay.min(begin));
        terminal.use_frame(superframe);
        terminal.report.attempts += bursts as u64;
        for request in sender.requests {
            let slot = slots.next().flatten();
            self.terminals[number].report.collisions += u64::from(slot.is_none());
            let received = slot.map(|slot| Time(begin + self.slots.start(slot + 1)));
            self.send_request(at, number, request, received, stations);
        }
        let terminal = &mut self.terminals[number];
        let mut waited = if sender.data.is_empty() {
            Span(0)
        } else {
            terminal.stop_waiting(at)
        };
        let mut end = at;
        for filled in sender.data {
            let slot = slots.next().flatten();
            terminal.report.collisions += u64::from(slot.is_none());
            // Packets leave in order, and lost ones do not delay others.
            end = slot.map_or(end, |slot| end.max(Time(at.0 + self.slots.start(slot + 1))));
            terminal.in_transit.complete(&filled, end, slot.is_none());
            let action = match slot {
                Some(_) => StationAction::Attempt,
                None => StationAction::Collision,
            };
            let bytes = terminal.count_bytes(&filled, self.burst_bytes);
            let waited = std::mem::take(&mut waited);
            stations.record(
                number,
                at,
                StationEvent {
                    waited,
                    ..StationEvent::new(action, bytes)
                },
            );
            if filled.completed > 0 {
                self.events.push(end, Action::EndBurst(number));
            }
        }
        terminal.free = terminal.free.max(Time(at.0 + self.superframe_ps));
        let has_data = terminal.rest > 0 || stations.waiting_bytes(number) > 0;
        if terminal.waits_since.is_none() && has_data {
            terminal.waits_since = Some(terminal.free);
        } else if !has_data {
            terminal.waits_since = None;
        }
    }

    /// Schedules the next burst of a terminal that has data, in the first of its slots that it can still use.
    fn find_burst(&mut self, now: Time, number: usize, stations: &mut impl Stations) {
        let terminal = &mut self.terminals[number];
        if terminal.next.is_some() || (terminal.rest == 0 && stations.waiting_bytes(number) == 0) {
            return;
        }
        let earliest = now.max(terminal.free).0 + terminal.delay;
        let first = self.plans.front().map_or(0, |plan| plan.superframe);
        let over = (earliest / self.superframe_ps).saturating_sub(first) as usize;
        for plan in self.plans.range(over.min(self.plans.len())..) {
            if plan.slots[number].number == 0 {
                continue;
            }
            let begin = plan.superframe * self.superframe_ps;
            let offset = earliest.saturating_sub(begin);
            // A plan is in effect when it has reached the terminal, which is before its superframe.
            let from = self.slots.first_from(offset);
            if let Some(slot) = plan.slots[number].next(from, self.count) {
                terminal.next = Some((plan.superframe, slot));
                let at = Time(begin + self.slots.start(slot) - terminal.delay);
                self.events.push(at, Action::BeginBurst(number));
                return;
            }
        }
    }

    /// Returns the number of a terminal's bursts that were counted although they begin at `from` or later.
    fn not_begun(&self, number: usize, from: Time) -> u64 {
        let Terminal {
            ahead: (superframe, slots),
            delay,
            ..
        } = &self.terminals[number];
        if slots.is_empty() {
            return 0;
        }
        let offset = (from.0 + delay).saturating_sub(superframe * self.superframe_ps);
        slots.end.saturating_sub(self.slots.first_from(offset).max(slots.start))
    }

    /// Counts the consecutive bursts from a slot on that are full of the rest of a packet, and neither end it nor need
    /// another one: they cause no events. Returns the slot after them.
    fn skip_full_bursts(&mut self, number: usize, (superframe, slot): (u64, u64), stations: &mut impl Stations) -> u64 {
        let full = self.burst_bytes - HEADER;
        let terminal = &mut self.terminals[number];
        let wanted = terminal.rest.saturating_sub(1) / full;
        if wanted == 0 {
            return slot;
        }
        let first = self.plans.front().map_or(0, |plan| plan.superframe);
        let plan = superframe
            .checked_sub(first)
            .and_then(|place| self.plans.get(place as usize));
        let bursts = plan
            .map_or(0, |plan| plan.slots[number].consecutive(slot, self.count))
            .min(wanted);
        let begin = superframe * self.superframe_ps - terminal.delay;
        for slot in slot..slot + bursts {
            let event = StationEvent::new(StationAction::Transmission, full);
            stations.record(number, Time(begin + self.slots.start(slot)), event);
        }
        terminal.rest -= bursts * full;
        terminal.report.used += bursts;
        terminal.report.overhead_bytes += bursts * HEADER;
        terminal.ahead = (superframe, slot..slot + bursts);
        slot + bursts
    }

    fn begin_burst(&mut self, now: Time, number: usize, stations: &mut impl Stations) {
        let terminal = &mut self.terminals[number];
        let Some((superframe, slot)) = terminal.next.take() else {
            return;
        };
        let overhead = terminal.overhead;
        let filled = fill(self.burst_bytes, &mut terminal.rest, overhead, || {
            stations.take(number, now)
        });
        let begin = superframe * self.superframe_ps - terminal.delay;
        let end = begin + self.slots.start(slot + 1);
        if filled.bytes > 0 {
            let waited = terminal.stop_waiting(now);
            terminal.report.used += 1;
            let bytes = terminal.count_bytes(&filled, self.burst_bytes);
            let event = StationEvent::new(StationAction::Transmission, bytes);
            stations.record(number, now, StationEvent { waited, ..event });
            terminal.in_transit.complete(&filled, Time(end), false);
        }
        if filled.completed > 0 {
            self.events.push(Time(end), Action::EndBurst(number));
        }
        let after = self.skip_full_bursts(number, (superframe, slot + 1), stations);
        let free = Time(begin + self.slots.start(after));
        let terminal = &mut self.terminals[number];
        terminal.free = free;
        if terminal.rest > 0 || stations.waiting_bytes(number) > 0 {
            terminal.waits_since.get_or_insert(free);
        } else {
            terminal.waits_since = None;
        }
        self.find_burst(now, number, stations);
    }
}

impl MediumAccess for DvbRcs2 {
    fn arrived(&mut self, now: Time, station: usize, bytes: u64, stations: &mut impl Stations) {
        let terminal = &mut self.terminals[station];
        terminal.arrived_bytes += bytes;
        if terminal.waits_since.is_none() {
            terminal.waits_since = Some(now.max(terminal.free));
        }
        if terminal.evaluates.is_none() && !matches!(terminal.rule, Rule::None) {
            let at = match terminal.on_demand {
                true => now,
                false => terminal.evaluation_from(Time(now.0 + 1)),
            };
            terminal.evaluates = Some(at);
            self.events.push(at, Action::Evaluate(station));
        }
        if !self.is_active {
            self.activate(now, stations);
        }
        self.await_random_access(now);
        self.find_burst(now, station, stations);
        // An evaluation on demand is due now.
        self.wake(now, stations);
    }

    fn next_event(&self) -> Option<Time> {
        self.events.first()
    }

    fn wake(&mut self, now: Time, stations: &mut impl Stations) {
        while self.events.first().is_some_and(|time| time <= now) {
            let Some((time, action)) = self.events.pop() else {
                return;
            };
            match action {
                Action::EndBurst(number) => self.terminals[number].in_transit.end(number, time, stations),
                Action::Plan(superframe) => self.plan(time, superframe, stations),
                Action::Evaluate(number) => self.evaluate(time, number, stations),
                Action::RandomAccess(superframe) => self.random_access(time, superframe, stations),
                Action::BeginBurst(number) => self.begin_burst(time, number, stations),
            }
        }
    }

    fn report(&self, station: usize, now: Time) -> AccessReport {
        let terminal = &self.terminals[station];
        let at_terminal = now.0 + terminal.delay;
        let later = |superframe: u64, own: &OwnSlots| {
            let offset = at_terminal.saturating_sub(superframe * self.superframe_ps);
            own.number_from(self.slots.first_from(offset), self.count)
        };
        let planned: u64 = self
            .plans
            .iter()
            .map(|plan| later(plan.superframe, &plan.slots[station]))
            .sum();
        // Without plans, the superframe that the terminal sends at the end is idle.
        let last = at_terminal / self.superframe_ps;
        let (idle, idle_later) = match self.unplanned <= last {
            true => {
                let slots = self.slots_of(&self.ncc.idle_plan(last));
                (self.idle_bursts(last + 1)[station], later(last, &slots[station]))
            }
            false => (0, 0),
        };
        let waiting = terminal.waits_since.map_or(0, |since| now.0.saturating_sub(since.0));
        let not_begun = self.not_begun(station, Time(now.0 + 1));
        AccessReport {
            granted: terminal.granted + idle - planned - idle_later,
            used: terminal.report.used - not_begun,
            overhead_bytes: terminal.report.overhead_bytes - not_begun * HEADER,
            waiting: Span(terminal.report.waiting.0 + waiting),
            ..terminal.report
        }
    }

    fn conserves(&self, now: Time) -> bool {
        (0..self.terminals.len()).all(|number| {
            let report = self.report(number, now);
            report.requests == report.requests_lost + self.ncc.accounts[number].received()
                && report.used <= report.granted
        })
    }
}

#[cfg(test)]
mod tests;
