//! Return link of DVB-RCS2 (EN 301 545-2): the terminals of a beam request capacity from the network control centre
//! (NCC) at the gateway, and send in the bursts (slots) of superframes that it grants.
//!
//! All superframes are counted in the gateway's time of reception: terminals send earlier, by their propagation delay.
//! A terminal evaluates its requests periodically, or on demand, and sends a request in its control slot, of which each
//! superframe has one for each terminal. The NCC decides on the plan of a superframe a lead before it; the lead includes
//! both one-way delays. The slots of a plan begin in the middle of the superframe, and continue at its beginning: a
//! terminal that is alone then has the mean place of a terminal in a loaded beam.
//!
//! An idle beam has no events: without requests, plans contain the constant rates and free capacity alone, and are
//! computed when the next packet arrives.

mod allocation;
mod frame;
mod parameters;
mod requests;

use super::{AccessReport, MediumAccess, NewStation, Stations};
use allocation::Ncc;
use frame::{fill, OwnSlots, Slots};
use longpipe_events::{Span, Stream, Time};
use parameters::config;
pub use parameters::{Category, DvbRcs2Config, Preset};
use requests::{Evaluation, Limits, Rule};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Events of a beam, in the order in which simultaneous ones are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    /// The burst of a terminal ends in which the last bytes of packets were sent.
    EndBurst(usize),
    /// The NCC decides on the plan of a superframe.
    Plan(u64),
    /// A terminal evaluates its requests.
    Evaluate(usize),
    /// A burst of a terminal begins.
    BeginBurst(usize),
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
    /// End of the last burst.
    free: Time,
    /// Packets whose last bytes are in the current burst.
    completing: u64,
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
    ncc: Ncc,
    terminals: Vec<Terminal>,
    /// Plans of consecutive superframes, which are not all over.
    plans: VecDeque<Plan>,
    /// Superframe after those of `plans`.
    unplanned: u64,
    /// Whether the NCC decides on each plan in turn.
    is_active: bool,
    events: BinaryHeap<Reverse<(Time, Action)>>,
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
            free: Time::ZERO,
            completing: 0,
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

    /// Adds the time in which data have waited until `now`.
    fn stop_waiting(&mut self, now: Time) {
        if let Some(since) = self.waits_since.take() {
            self.report.waiting = Span(self.report.waiting.0 + now.0.saturating_sub(since.0));
        }
    }
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
            ncc: Ncc::new(capacity, first.division(), accounts.collect()),
            terminals: stations.iter().enumerate().map(terminal).collect(),
            plans: VecDeque::new(),
            unplanned: 0,
            is_active: false,
            events: BinaryHeap::new(),
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
    fn add_plan(&mut self, bursts: &[u64], decided: Time) {
        self.plans.push_back(Plan {
            superframe: self.unplanned,
            sent: Time(decided.0 + self.processing_ps),
            slots: self.slots_of(bursts),
        });
        for (terminal, &bursts) in self.terminals.iter_mut().zip(bursts) {
            terminal.granted += bursts;
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
    fn activate(&mut self, now: Time) {
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
            self.add_plan(&plan, decided);
        }
        if let Some(decided) = self.decision(self.unplanned) {
            self.events.push(Reverse((decided, Action::Plan(self.unplanned))));
        }
    }

    /// Decides on the plan of a superframe.
    fn plan(&mut self, now: Time, superframe: u64, stations: &mut impl Stations) {
        let bursts = self.ncc.plan(now, superframe);
        self.add_plan(&bursts, now);
        // A terminal at any distance has sent its part of a superframe when the gateway receives the next one.
        let over = now.0 / self.superframe_ps;
        while self.plans.front().is_some_and(|plan| plan.superframe < over) {
            (0..self.terminals.len()).for_each(|number| self.count_assigned(number, now));
            self.plans.pop_front();
        }
        for number in 0..self.terminals.len() {
            self.find_burst(now, number, stations);
        }
        let has_data = |terminal: &Terminal| terminal.waits_since.is_some() || terminal.evaluates.is_some();
        self.is_active = self.ncc.is_active() || self.terminals.iter().any(has_data);
        if self.is_active {
            let decided = Time(now.0 + self.superframe_ps);
            self.events.push(Reverse((decided, Action::Plan(superframe + 1))));
        }
    }

    /// Adds what the plans that have reached a terminal by `now` grant to its assigned bytes.
    fn count_assigned(&mut self, number: usize, now: Time) {
        let terminal = &mut self.terminals[number];
        let known = now.0.checked_sub(terminal.delay).map(Time);
        for plan in self.plans.iter().take_while(|plan| Some(plan.sent) <= known) {
            if plan.superframe >= terminal.uncounted {
                terminal.assigned_bytes += plan.slots[number].number * self.burst_bytes;
                terminal.uncounted = plan.superframe + 1;
            }
        }
    }

    /// Evaluates the requests of a terminal, and sends the request, if any, in its next control slot.
    fn evaluate(&mut self, now: Time, number: usize, stations: &mut impl Stations) {
        self.count_assigned(number, now);
        let terminal = &mut self.terminals[number];
        let seen = Evaluation {
            now,
            since_ps: terminal.interval_ps,
            arrived_bytes: std::mem::take(&mut terminal.arrived_bytes),
            queued_bytes: stations.waiting_bytes(number) + terminal.rest,
            assigned_bytes: std::mem::take(&mut terminal.assigned_bytes),
        };
        if let Some(request) = terminal.rule.evaluate(&terminal.limits, &seen) {
            terminal.report.requests += 1;
            let earliest = now.0 + terminal.delay;
            let periods = earliest
                .saturating_sub(terminal.control_ps)
                .div_ceil(self.superframe_ps);
            let received = Time(terminal.control_ps + periods * self.superframe_ps);
            match terminal.losses.fraction() < terminal.request_loss {
                true => terminal.report.requests_lost += 1,
                false => self.ncc.receive(number, received, request),
            }
        }
        let continues = seen.queued_bytes > 0 || terminal.rule.is_pending();
        terminal.evaluates = continues.then(|| terminal.evaluation_from(Time(now.0 + 1)));
        if let Some(next) = terminal.evaluates {
            self.events.push(Reverse((next, Action::Evaluate(number))));
        }
    }

    /// Schedules the next burst of a terminal that has data, in the first of its slots that it can still use.
    fn find_burst(&mut self, now: Time, number: usize, stations: &mut impl Stations) {
        let terminal = &mut self.terminals[number];
        if terminal.next.is_some() || (terminal.rest == 0 && stations.waiting_bytes(number) == 0) {
            return;
        }
        let earliest = now.max(terminal.free).0 + terminal.delay;
        for plan in &self.plans {
            let begin = plan.superframe * self.superframe_ps;
            // A plan is in effect when it has reached the terminal, which is before its superframe.
            let from = self.slots.first_from(earliest.saturating_sub(begin));
            if let Some(slot) = plan.slots[number].next(from, self.count) {
                terminal.next = Some((plan.superframe, slot));
                let at = Time(begin + self.slots.start(slot) - terminal.delay);
                self.events.push(Reverse((at, Action::BeginBurst(number))));
                return;
            }
        }
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
        let end = superframe * self.superframe_ps + self.slots.start(slot + 1) - terminal.delay;
        terminal.free = Time(end);
        if filled.bytes > 0 {
            terminal.stop_waiting(now);
            terminal.report.used += 1;
            terminal.report.overhead_bytes += self.burst_bytes - filled.bytes + filled.completed * overhead;
        }
        if filled.completed > 0 {
            terminal.completing = filled.completed;
            self.events.push(Reverse((Time(end), Action::EndBurst(number))));
        }
        if terminal.rest > 0 || stations.waiting_bytes(number) > 0 {
            terminal.waits_since.get_or_insert(Time(end));
        } else {
            terminal.waits_since = None;
        }
        self.find_burst(now, number, stations);
    }

    fn end_burst(&mut self, now: Time, number: usize, stations: &mut impl Stations) {
        for _ in 0..std::mem::take(&mut self.terminals[number].completing) {
            stations.leave(number, now);
        }
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
            self.events.push(Reverse((at, Action::Evaluate(station))));
        }
        if !self.is_active {
            self.activate(now);
        }
        self.find_burst(now, station, stations);
        // An evaluation on demand is due now.
        self.wake(now, stations);
    }

    fn next_event(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((time, _))| *time)
    }

    fn wake(&mut self, now: Time, stations: &mut impl Stations) {
        while let Some(&Reverse((time, action))) = self.events.peek() {
            if time > now {
                return;
            }
            self.events.pop();
            match action {
                Action::EndBurst(number) => self.end_burst(time, number, stations),
                Action::Plan(superframe) => self.plan(time, superframe, stations),
                Action::Evaluate(number) => self.evaluate(time, number, stations),
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
        AccessReport {
            granted: terminal.granted + idle - planned - idle_later,
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
