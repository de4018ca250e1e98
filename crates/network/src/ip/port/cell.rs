//! Ports of a network whose links react to traffic: each cell owns the queues of its stations, whose transmissions its
//! medium access (`access/`) determines.
//!
//! Packets that have been taken from a queue, and have not left, occupy no space in the buffer. A port has no
//! transmitter of its own: a packet leaves when the access ends its transmission, in the order in which it was taken.

use super::egress_queue::{EgressQueue, QueuedPacket};
use crate::access::{AnyAccess, MediumAccess, NewStation, StationEvent, Stations};
use crate::packets::{Circuit, Link, Options, Packet};
use crate::report::packets::PacketReport;
use crate::scenario::Scenario;
use longpipe_events::{Rate, Span, Time};
use std::collections::VecDeque;

/// Place of a port: its cell, and its station there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Number of the cell.
    pub cell: u32,
    /// Number of the station in the cell.
    pub station: u32,
    /// Whether the port belongs to a host.
    pub host: bool,
}

/// Queue of a station.
#[derive(Clone, Debug)]
struct Station {
    link: Link,
    delay: Span,
    /// Rate that the port never exceeds.
    max_rate: Rate,
    queue: EgressQueue,
    /// Packets in transmission, in order.
    begun: VecDeque<QueuedPacket>,
    /// Earliest arrival of the next packet that leaves: packets that leave together arrive in order, one ps apart.
    earliest: Time,
}

/// A packet that leaves a port.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    /// Link of the port.
    pub link: Link,
    pub packet: QueuedPacket,
    /// Time at which it reaches the end of the link.
    pub arrival: Time,
}

/// Queues of the stations of a cell.
#[derive(Clone, Debug)]
struct Queues {
    stations: Vec<Station>,
    /// Packets that have left since the caller last collected them.
    left: Vec<Left>,
    /// Stations whose queues have reports that the caller has not collected.
    touched: Vec<usize>,
    /// Whether events of stations are recorded, and those that the caller has not collected.
    records: bool,
    recorded: Vec<(Time, Link, StationEvent)>,
}

impl Queues {
    /// Records whether the queue of a station has reports.
    #[inline]
    fn touch(&mut self, station: usize) {
        if self.stations[station].queue.has_reports() && self.touched.last() != Some(&station) {
            self.touched.push(station);
        }
    }
}

impl Stations for Queues {
    #[inline]
    fn waiting_bytes(&self, station: usize) -> u64 {
        self.stations[station].queue.backlog().1
    }

    fn take(&mut self, station: usize, now: Time) -> Option<u64> {
        let Station { queue, begun, .. } = &mut self.stations[station];
        let taken = queue.begin_another(now).map(|packet| {
            let bytes = u64::from(packet.packet.bytes());
            begun.push_back(packet);
            bytes
        });
        self.touch(station);
        taken
    }

    fn leave(&mut self, station: usize, now: Time) {
        let station = &mut self.stations[station];
        if let Some(packet) = station.begun.pop_front() {
            station.queue.finish_one(now, &packet);
            let arrival = (now + station.delay).max(station.earliest);
            station.earliest = arrival + Span(1);
            let link = station.link;
            self.left.push(Left { link, packet, arrival });
        }
    }

    fn discard_at(&mut self, station: usize, place: usize, now: Time) {
        let Station { queue, begun, .. } = &mut self.stations[station];
        if let Some(packet) = begun.remove(place) {
            queue.discard_one(now, &packet);
        }
        self.touch(station);
    }

    #[inline]
    fn record(&mut self, station: usize, at: Time, event: StationEvent) {
        if self.records {
            self.recorded.push((at, self.stations[station].link, event));
        }
    }
}

/// A cell.
#[derive(Clone, Debug)]
struct Cell {
    access: AnyAccess,
    queues: Queues,
    /// Time of the scheduled event, if there is one.
    event: Option<Time>,
}

/// All cells of a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    cells: Vec<Cell>,
    /// Places of the ports by link; empty if there are no cells.
    places: Vec<Option<Place>>,
}

impl Cells {
    /// Creates the idle cells of a scenario.
    pub fn new(scenario: &Scenario, seed: u64) -> Cells {
        let mut cells = Cells::default();
        for stations in scenario.cells() {
            cells.places.resize(scenario.links.len(), None);
            for (station, new) in stations.iter().enumerate() {
                cells.places[new.link] = Some(Place {
                    cell: cells.cells.len() as u32,
                    station: station as u32,
                    host: scenario.is_host(scenario.links[new.link].from),
                });
            }
            let station = |new: &NewStation<'_>| Station {
                link: Link::new(new.link),
                delay: new.delay,
                max_rate: Rate(if new.config.keeps_rate() {
                    new.rate_bps
                } else {
                    u64::MAX
                }),
                queue: EgressQueue::new(scenario, &scenario.links[new.link], seed, new.link as u64),
                begun: VecDeque::new(),
                earliest: Time::ZERO,
            };
            cells.cells.push(Cell {
                access: AnyAccess::new(&stations, seed),
                queues: Queues {
                    stations: stations.iter().map(station).collect(),
                    left: Vec::new(),
                    touched: Vec::new(),
                    records: scenario.traces.grants,
                    recorded: Vec::new(),
                },
                event: None,
            });
        }
        cells
    }

    /// Returns the place of a link's port, if the link has medium access.
    #[inline]
    pub fn place(&self, link: Link) -> Option<Place> {
        self.places.get(link.index()).copied().flatten()
    }

    /// Processes the arrival of a packet at a port.
    pub fn arrive(&mut self, place: Place, now: Time, packet: Packet, options: &Options) {
        let (cell, station) = (&mut self.cells[place.cell as usize], place.station as usize);
        let queue = &mut cell.queues.stations[station].queue;
        let before = queue.backlog().1;
        queue.admit(now, packet, options);
        let admitted = queue.backlog().1.saturating_sub(before);
        cell.queues.touch(station);
        if admitted > 0 {
            cell.access.arrived(now, station, admitted, &mut cell.queues);
        }
    }

    /// Returns whether a cell has nothing to collect, and its next event is scheduled.
    #[inline]
    pub fn is_settled(&self, cell: u32) -> bool {
        let Cell { access, queues, event } = &self.cells[cell as usize];
        let has_reports = !(queues.left.is_empty() && queues.touched.is_empty() && queues.recorded.is_empty());
        !has_reports && access.next_event() == *event
    }

    /// Returns whether the scheduled event of a cell is due at `now`.
    pub fn is_due(&self, cell: u32, now: Time) -> bool {
        self.cells[cell as usize].event == Some(now)
    }

    /// Processes the events of a cell at `now`.
    pub fn wake(&mut self, cell: u32, now: Time) {
        let cell = &mut self.cells[cell as usize];
        if cell.event == Some(now) {
            cell.event = None;
        }
        cell.access.wake(now, &mut cell.queues);
    }

    /// Returns the next event of a cell with the link whose port has it, and None in place of its time if there is
    /// none, unless the event has been scheduled.
    #[inline]
    pub fn new_event(&mut self, cell: u32) -> Option<(Link, Option<Time>)> {
        let Cell { access, queues, event } = &mut self.cells[cell as usize];
        let next = access.next_event();
        (std::mem::replace(event, next) != next).then(|| (queues.stations[0].link, next))
    }

    /// Removes and returns the packets that have left the ports of a cell; None if there are none.
    #[inline]
    pub fn take_left(&mut self, cell: u32) -> Option<Vec<Left>> {
        let left = &mut self.cells[cell as usize].queues.left;
        (!left.is_empty()).then(|| std::mem::take(left))
    }

    /// Keeps the memory of a list that `take_left` returned, whose packets have been collected.
    pub fn keep_memory(&mut self, cell: u32, emptied: Vec<Left>) {
        let left = &mut self.cells[cell as usize].queues.left;
        if left.capacity() == 0 {
            *left = emptied;
        }
    }

    /// Removes and returns the recorded events of the stations of a cell, with their times and links; None if there are
    /// none.
    #[inline]
    pub fn take_recorded(&mut self, cell: u32) -> Option<Vec<(Time, Link, StationEvent)>> {
        let recorded = &mut self.cells[cell as usize].queues.recorded;
        (!recorded.is_empty()).then(|| std::mem::take(recorded))
    }

    /// Passes the queues of a cell that may have reports to `collect`, with their links.
    #[inline]
    pub fn collect_reports(&mut self, cell: u32, mut collect: impl FnMut(Link, &mut EgressQueue)) {
        let Queues { stations, touched, .. } = &mut self.cells[cell as usize].queues;
        if touched.is_empty() {
            return;
        }
        for station in touched.drain(..) {
            let Station { link, queue, .. } = &mut stations[station];
            collect(*link, queue);
        }
    }

    fn station(&self, place: Place) -> &Station {
        &self.cells[place.cell as usize].queues.stations[place.station as usize]
    }

    /// Returns the queue of a port.
    pub fn queue(&self, place: Place) -> &EgressQueue {
        &self.station(place).queue
    }

    /// Returns the rate that a port never exceeds.
    pub fn max_rate(&self, place: Place) -> Rate {
        self.station(place).max_rate
    }

    /// Returns the numbers of packets and bytes at a port, including those in transmission.
    pub fn held(&self, place: Place) -> (u64, u64) {
        self.queue(place).held()
    }

    /// Returns the arrival times and circuits of the packets at a router's port.
    pub fn waiting_packets(&self, place: Place) -> Vec<(Time, Circuit)> {
        if place.host {
            return vec![];
        }
        let Station { queue, begun, .. } = self.station(place);
        let mut waiting = queue.waiting_packets();
        waiting.extend(begun.iter().map(QueuedPacket::entry));
        waiting
    }

    /// Returns the counters of a port at `now`, the end of the run. A host's port also counts its packets and bytes on
    /// the wire as held.
    pub fn report(&mut self, place: Place, now: Time, on_wire: (u64, u64)) -> PacketReport {
        let Cell { access, queues, .. } = &mut self.cells[place.cell as usize];
        let mut report = queues.stations[place.station as usize].queue.report(now);
        if report.host {
            report.hold_on_wire(on_wire);
        }
        report.access = Some(access.report(place.station as usize, now));
        report
    }

    /// Returns whether all requests and grants are accounted for at `now`, the end of the run.
    pub fn conserve(&self, now: Time) -> bool {
        self.cells.iter().all(|cell| cell.access.conserves(now))
    }
}
