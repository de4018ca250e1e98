//! Forward link of DVB-S2 and DVB-S2X (EN 302 307-1 and -2): one carrier for the terminals of a beam.
//!
//! The gateway sends BBFRAMEs one after the other. A frame has one MODCOD, that of the terminal whose turn it is, and
//! carries its packets first, and then those of the terminals in turn that have the same MODCOD, or a faster one. It
//! begins when data fill it, or when the oldest data have waited for the filling timeout, and is padded.
//!
//! With adaptive coding and modulation (ACM), a terminal reports its Es/N0 periodically, and the gateway selects its
//! MODCOD by the last report. A frame is lost for a terminal whose Es/N0 is below the threshold of the frame's MODCOD.
//!
//! An idle carrier has no events: its dummy frames carry nothing, and the first frame with data begins at once.

mod gse;
mod modcods;
mod parameters;

use super::fragments::{Filled, InTransit};
use super::{AccessReport, MediumAccess, NewStation, StationAction, StationEvent, Stations};
use longpipe_events::{Span, Time};
use modcods::Modcod;
use parameters::config;
pub use parameters::{DvbS2Config, FecFrame};

/// Reports of a terminal, and the MODCOD that they select.
#[derive(Clone, Debug)]
struct Adaptation {
    /// Times [ps] and Es/N0 [dB] of the channel, which is linear between them.
    es_n0: Vec<(u64, f64)>,
    interval_ps: u64,
    margin_db: f64,
    hysteresis_db: f64,
    /// Number of the next report.
    next: u64,
}

impl Adaptation {
    /// Returns the Es/N0 [dB] of the channel at a time.
    fn es_n0_db(&self, at: Time) -> f64 {
        let after = self.es_n0.partition_point(|&(time, _)| time <= at.0);
        match (
            after.checked_sub(1).map(|before| self.es_n0[before]),
            self.es_n0.get(after),
        ) {
            (Some((begin, from)), Some(&(end, to))) => {
                from + (to - from) * ((at.0 - begin) as f64 / (end - begin) as f64)
            }
            (Some((_, level)), None) | (None, Some(&(_, level))) => level,
            (None, None) => f64::INFINITY,
        }
    }
}

/// A terminal.
#[derive(Clone, Debug)]
struct Terminal {
    delay: Span,
    label_bytes: u64,
    timeout: Span,
    /// Number of the MODCOD; the fastest one without ACM.
    modcod: usize,
    adaptation: Option<Adaptation>,
    /// Bytes that have not been sent of the packet of which a part has been sent; 0 if there is none.
    rest: u64,
    in_transit: InTransit,
    /// Time since which data wait that are in no frame.
    waits_since: Option<Time>,
    report: AccessReport,
}

impl Terminal {
    fn new(station: &NewStation<'_>, modcods: &[Modcod]) -> Terminal {
        let config = config(station);
        let adaptation = config.es_n0_ps.as_ref().map(|es_n0| Adaptation {
            es_n0: es_n0.clone(),
            interval_ps: config.report_interval_ps,
            margin_db: config.margin,
            hysteresis_db: config.hysteresis,
            next: 0,
        });
        let mut terminal = Terminal {
            delay: station.delay,
            label_bytes: config.gse_label_bytes,
            timeout: Span(config.fill_timeout_ps),
            modcod: modcods.len() - 1,
            adaptation,
            rest: 0,
            in_transit: InTransit::default(),
            waits_since: None,
            report: AccessReport::default(),
        };
        // The gateway knows the channel at the start of the run.
        terminal.receive_report(Time::ZERO, modcods);
        terminal
    }

    /// Selects the MODCOD after a report on the channel at a time.
    fn receive_report(&mut self, measured: Time, modcods: &[Modcod]) {
        let Some(adaptation) = &self.adaptation else { return };
        let level = adaptation.es_n0_db(measured) - adaptation.margin_db;
        let fastest = |level: f64| modcods.iter().rposition(|modcod| modcod.es_n0_db <= level).unwrap_or(0);
        self.modcod = self
            .modcod
            .clamp(fastest(level - adaptation.hysteresis_db), fastest(level));
    }

    /// Selects the MODCOD by the reports that have reached the gateway by `now`.
    fn receive_reports(&mut self, now: Time, modcods: &[Modcod]) {
        let Some(adaptation) = &self.adaptation else { return };
        let (interval, first) = (adaptation.interval_ps, adaptation.next);
        let number = now.0.checked_sub(self.delay.0).map_or(0, |since| since / interval + 1);
        for report in first..number {
            self.receive_report(Time(report * interval), modcods);
        }
        if let Some(adaptation) = &mut self.adaptation {
            adaptation.next = number.max(first);
        }
    }

    /// Returns whether the terminal loses a frame that it receives at a time.
    fn loses(&self, modcod: &Modcod, received: Time) -> bool {
        let adaptation = self.adaptation.as_ref();
        adaptation.is_some_and(|adaptation| adaptation.es_n0_db(received) < modcod.es_n0_db)
    }
}

/// The carrier.
#[derive(Clone, Debug)]
pub(crate) struct DvbS2 {
    modcods: Vec<Modcod>,
    /// Time [ps] of a frame by MODCOD.
    frame_ps: Vec<u64>,
    terminals: Vec<Terminal>,
    /// Terminal whose turn is next.
    turn: usize,
    /// End of the present frame, if there is one, and the terminals whose data it carries.
    ends: Option<Time>,
    carried: Vec<usize>,
    /// Begin of the next frame, if the carrier is idle and data wait.
    begins: Option<Time>,
}

impl DvbS2 {
    /// Creates the idle carrier of these terminals.
    pub(super) fn new(stations: &[NewStation<'_>]) -> DvbS2 {
        let first = config(&stations[0]);
        let modcods = first.modcods();
        let symbols_ps = |modcod: &Modcod| first.frame_ps(modcod, stations[0].rate_bps);
        DvbS2 {
            frame_ps: modcods.iter().map(symbols_ps).collect(),
            terminals: stations
                .iter()
                .map(|station| Terminal::new(station, &modcods))
                .collect(),
            modcods,
            turn: 0,
            ends: None,
            carried: vec![],
            begins: None,
        }
    }

    fn has_data(&self, number: usize, stations: &impl Stations) -> bool {
        self.terminals[number].rest > 0 || stations.waiting_bytes(number) > 0
    }

    /// Returns, by MODCOD, whether the waiting data of the terminals with this MODCOD fill a frame.
    fn are_full(&self, stations: &impl Stations) -> Vec<bool> {
        let mut bytes = vec![0; self.modcods.len()];
        for (number, terminal) in self.terminals.iter().enumerate() {
            bytes[terminal.modcod] += terminal.rest + stations.waiting_bytes(number);
        }
        bytes
            .iter()
            .zip(&self.modcods)
            .map(|(bytes, modcod)| *bytes >= modcod.data_bytes)
            .collect()
    }

    /// Returns the time at which a frame for a terminal with data may begin.
    fn ready(&self, number: usize, now: Time, are_full: &[bool]) -> Time {
        let terminal = &self.terminals[number];
        match are_full[terminal.modcod] {
            true => now,
            false => now.max(terminal.waits_since.unwrap_or(now) + terminal.timeout),
        }
    }

    /// Determines the start of the next frame of the idle carrier.
    fn schedule(&mut self, now: Time, stations: &impl Stations) {
        let are_full = self.are_full(stations);
        self.begins = (0..self.terminals.len())
            .filter(|&number| self.has_data(number, stations))
            .map(|number| self.ready(number, now, &are_full))
            .min();
    }

    fn begin_frame(&mut self, now: Time, stations: &mut impl Stations) {
        let count = self.terminals.len();
        self.terminals
            .iter_mut()
            .for_each(|terminal| terminal.receive_reports(now, &self.modcods));
        let are_full = self.are_full(stations);
        let mut order = (0..count).map(|place| (self.turn + place) % count);
        let is_ready = |number| self.has_data(number, stations) && self.ready(number, now, &are_full) <= now;
        let Some(first) = order.find(|&number| is_ready(number)) else {
            // A report has changed a MODCOD, so that data do not fill the frame.
            return self.schedule(now, stations);
        };
        let chosen = self.terminals[first].modcod;
        let modcod = self.modcods[chosen];
        let end = Time(now.0 + self.frame_ps[chosen]);
        let mut room = modcod.data_bytes;
        // Data for equal MODCODs come before those for faster ones, which would be padding otherwise.
        for is_equal in [true, false] {
            for place in 0..count {
                let number = (first + place) % count;
                let own = self.terminals[number].modcod;
                if (is_equal && own == chosen) || (!is_equal && own > chosen) {
                    room = self.fill(number, room, &modcod, (now, end), stations);
                }
            }
        }
        self.terminals[first].report.overhead_bytes += room;
        self.turn = (first + 1) % count;
        self.begins = None;
        self.ends = Some(end);
    }

    /// Fills the room of a frame with the data of a terminal. Returns the bytes that are left.
    fn fill(
        &mut self,
        number: usize,
        room: u64,
        modcod: &Modcod,
        (now, end): (Time, Time),
        stations: &mut impl Stations,
    ) -> u64 {
        let terminal = &mut self.terminals[number];
        let (filled, left) = gse::fill(room, &mut terminal.rest, terminal.label_bytes, || {
            stations.take(number, now)
        });
        if filled.bytes == 0 {
            return left;
        }
        self.carried.push(number);
        let is_lost = terminal.loses(modcod, end + terminal.delay);
        terminal.in_transit.complete(&filled, end, is_lost);
        let waited = terminal
            .waits_since
            .take()
            .map_or(Span(0), |since| Span(now.0.saturating_sub(since.0)));
        let Filled { bytes, .. } = filled;
        let report = &mut terminal.report;
        report.waiting = Span(report.waiting.0 + waited.0);
        report.granted += 1;
        report.used += 1;
        report.overhead_bytes += room - left - bytes;
        let event = StationEvent::new(StationAction::Transmission, bytes);
        stations.record(number, now, StationEvent { waited, ..event });
        if terminal.rest > 0 || stations.waiting_bytes(number) > 0 {
            terminal.waits_since = Some(end);
        }
        left
    }
}

impl MediumAccess for DvbS2 {
    fn arrived(&mut self, now: Time, station: usize, _bytes: u64, stations: &mut impl Stations) {
        self.terminals[station].waits_since.get_or_insert(now);
        if self.ends.is_none() {
            self.schedule(now, stations);
            self.wake(now, stations);
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.ends.or(self.begins)
    }

    fn wake(&mut self, now: Time, stations: &mut impl Stations) {
        while let Some(time) = self.next_event().filter(|&time| time <= now) {
            if self.ends.take().is_some() {
                for number in std::mem::take(&mut self.carried) {
                    self.terminals[number].in_transit.end(number, time, stations);
                }
                self.schedule(time, stations);
            } else {
                self.begins = None;
                self.begin_frame(time, stations);
            }
        }
    }

    fn report(&self, station: usize, now: Time) -> AccessReport {
        let terminal = &self.terminals[station];
        let waiting = terminal.waits_since.map_or(0, |since| now.0.saturating_sub(since.0));
        AccessReport {
            waiting: Span(terminal.report.waiting.0 + waiting),
            ..terminal.report
        }
    }

    fn conserves(&self, _now: Time) -> bool {
        self.terminals
            .iter()
            .all(|terminal| terminal.report.used == terminal.report.granted)
    }
}

#[cfg(test)]
mod tests;
