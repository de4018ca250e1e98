//! All sweep ports of a run, the cells in transit to them, and the times at which the ports are processed.
//!
//! When a cell leaves its host, its arrival at its first port is known, and its arrivals at later ports are known even
//! longer in advance. A port can therefore be advanced slightly beyond the current time, once the ports upstream of it
//! have been advanced. It must be processed no later than the first unprocessed frame could reach its host.

use crate::atm::interface::ScheduledFrame;
use crate::atm::port::sweep::{CellRun, CompletedFrame, LostCell, Sink, Stream, SweepCounters, SweepPort};
use crate::atm::port::transit::Passed;
use crate::packets::{Circuit, Link, Options, Packet};
use longpipe_events::{Ring, Time};

/// A port that is upstream of another port.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamPort {
    /// Index of the port; a port is also upstream of itself.
    pub port: u32,
    /// Minimum time [ps] between a cell's arrival at this port and its arrival at the downstream port.
    pub latency: u64,
}

/// Upstream ports and lookahead of a port.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Ports directly upstream.
    pub feeders: Vec<UpstreamPort>,
    /// The port itself and all ports upstream of it.
    pub closure: Vec<UpstreamPort>,
    /// Minimum time [ps] from a cell's departure from its host to its arrival at the port.
    pub outlook: u64,
    /// Minimum time [ps] from a cell's arrival at the port to its arrival at its host, over circuits without a further
    /// sweep port.
    pub ack_lookahead: u64,
    /// Time [ps] before which all arrivals have been processed.
    swept: u64,
    /// Time [ps] at which the port will be processed next; `NEVER` if nothing is in transit to it.
    wakes: u64,
}

/// A time [ps] later than all others.
const NEVER: u64 = u64::MAX;

impl Reach {
    /// Creates the state of a port that has not processed anything.
    pub fn new(feeders: Vec<UpstreamPort>, closure: Vec<UpstreamPort>, outlook: u64, ack_lookahead: u64) -> Reach {
        Reach {
            feeders,
            closure,
            outlook,
            ack_lookahead,
            swept: 0,
            wakes: NEVER,
        }
    }
}

/// A circuit that passes through sweep ports.
#[derive(Clone, Debug)]
pub struct Route {
    /// Stream of cells that are in transit to the circuit's first port over its host's link.
    pub stream: u32,
    /// Index of the VC at its first port.
    pub local: u32,
    /// Index of the circuit's last sweep port.
    pub last: u32,
    /// Minimum time [ps] from a cell's arrival at the first port to its arrival at its host.
    pub latency: u64,
    /// Step of the circuit after its last sweep port.
    pub step: u32,
    packets: Ring<Packet>,
    options: Ring<Options>,
}

impl Route {
    /// Creates a circuit without cells in transit.
    pub fn new(stream: u32, local: u32, last: u32, latency: u64, step: u32) -> Route {
        Route {
            stream,
            local,
            last,
            latency,
            step,
            packets: Ring::default(),
            options: Ring::default(),
        }
    }

    /// Returns the packet of a frame, unless it has been removed.
    fn packet(&self, frame: u32) -> Option<Packet> {
        let after = u64::from(frame.wrapping_sub(self.packets.head() as u32));
        let is_there = after < self.packets.len();
        is_there.then(|| *self.packets.get(self.packets.head() + after))
    }

    /// Removes and returns the packet of a frame. Also removes earlier packets, which were lost.
    fn take(&mut self, frame: u32, options: &mut Options) -> Option<Packet> {
        loop {
            let last = self.packets.head() as u32 == frame;
            let packet = self.packets.pop()?;
            if packet.has_options() {
                let own = self.options.pop()?;
                if last {
                    *options = own;
                }
            }
            if last {
                return Some(packet);
            }
        }
    }
}

/// All sweep ports.
#[derive(Clone, Debug, Default)]
pub struct Sweeps {
    ports: Vec<SweepPort>,
    reaches: Vec<Reach>,
    streams: Vec<Stream>,
    woken: Vec<Vec<u32>>,
    /// Routes by VC.
    routes: Vec<Option<Box<Route>>>,
    done: Vec<CompletedFrame>,
    /// Cells lost since the latest call to `take_lost`.
    lost: Vec<LostCell>,
    /// The port that is being processed.
    processing: u32,
}

impl Sweeps {
    /// Creates the ports without cells in transit.
    pub fn new(
        ports: Vec<SweepPort>,
        reaches: Vec<Reach>,
        streams: Vec<Stream>,
        routes: Vec<Option<Box<Route>>>,
    ) -> Sweeps {
        Sweeps {
            woken: vec![Vec::new(); ports.len()],
            ports,
            reaches,
            streams,
            routes,
            done: Vec::new(),
            lost: Vec::new(),
            processing: u32::MAX,
        }
    }

    /// Returns whether the frames of a VC pass through sweep ports.
    #[inline(always)]
    pub fn carry(&self, vc: Circuit) -> bool {
        self.routes.get(vc.index()).is_some_and(Option::is_some)
    }

    /// Accepts a frame from a host; the frame's first cell arrives at `first`. Returns the port whose processing must
    /// be rescheduled to an earlier time, if any, and that time.
    #[inline]
    pub fn send(&mut self, sent: &ScheduledFrame, first: Time, options: &Options) -> Option<(u32, Time)> {
        let ScheduledFrame { packet, cells, .. } = *sent;
        let route = self.routes[packet.vc().index()].as_mut()?;
        let frame = route.packets.tail() as u32;
        route.packets.push(packet);
        if packet.has_options() {
            route.options.push(*options);
        }
        let run = CellRun {
            time: first.0,
            slot: sent.slot,
            frame,
            local: route.local,
            cells,
            left: 0,
        };
        if let Some((port, input)) = self.streams[route.stream as usize].push(run) {
            self.woken[port as usize].push(input);
        }
        let reach = &mut self.reaches[route.last as usize];
        let wakes = sent.last.0.saturating_add(route.latency) - 1;
        if wakes >= reach.wakes || route.last == self.processing {
            return None;
        }
        reach.wakes = wakes;
        Some((route.last, Time(wakes)))
    }

    /// Makes a port process the arrivals by `end` that are known at `now`.
    pub fn process(&mut self, port: u32, now: Time, end: Time) {
        self.processing = port;
        let until = now.0.saturating_add(self.reaches[port as usize].outlook);
        self.sweep(port, until.min(end.0 + 1));
    }

    /// Returns the frame with index `number` among those that obtained their slots at their last sweep port since the
    /// latest call to `process`.
    pub fn done(&self, number: usize) -> Option<CompletedFrame> {
        self.done.get(number).copied()
    }

    /// Returns the cells lost since the last call, each with its packet.
    pub fn take_lost(&mut self) -> Vec<(LostCell, Packet)> {
        let lost = std::mem::take(&mut self.lost);
        let with_packet = |one: LostCell| Some((one, self.packet(one.vc, one.frame)?));
        lost.into_iter().filter_map(with_packet).collect()
    }

    /// Returns the packet of a frame that has not been removed, with the next step after its last sweep port.
    pub fn packet(&self, vc: Circuit, frame: u32) -> Option<Packet> {
        let route = self.routes[vc.index()].as_ref()?;
        Some(route.packet(frame)?.at_step(route.step))
    }

    /// Returns whether any cell was lost since the last call to `take_lost`.
    pub fn have_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// Completes the processing of a port. Returns the time at which the port must be processed next.
    pub fn next_processing(&mut self, port: u32) -> Option<Time> {
        self.done.clear();
        self.processing = u32::MAX;
        let bound = |before: &UpstreamPort| {
            let (streams, woken) = (&self.streams, &self.woken[before.port as usize]);
            let bound = self.ports[before.port as usize].bound(woken, streams);
            bound.saturating_add(before.latency)
        };
        let reach = &self.reaches[port as usize];
        let next = reach.closure.iter().map(bound).min().unwrap_or(NEVER);
        let wakes = next.saturating_add(reach.ack_lookahead).saturating_sub(1);
        self.reaches[port as usize].wakes = if next == NEVER { NEVER } else { wakes };
        (next != NEVER).then_some(Time(wakes))
    }

    /// Advances a port, and all ports upstream of it, to a time before which all arrivals are known.
    fn sweep(&mut self, port: u32, until: u64) {
        let reach = &mut self.reaches[port as usize];
        if reach.swept >= until {
            return;
        }
        reach.swept = until;
        for at in 0..self.reaches[port as usize].feeders.len() {
            let UpstreamPort { port: before, latency } = self.reaches[port as usize].feeders[at];
            self.sweep(before, until.saturating_sub(latency));
        }
        let mut woken = std::mem::take(&mut self.woken[port as usize]);
        let mut sink = Sink {
            streams: &mut self.streams,
            woken: &mut self.woken,
            done: &mut self.done,
            lost: &mut self.lost,
        };
        self.ports[port as usize].sweep(until, &mut woken, &mut sink);
        self.woken[port as usize] = woken;
    }

    /// Returns the packet and the next step of a frame if all of its cells arrived, and outputs the packet's options.
    /// Also removes earlier frames, which were lost.
    pub fn take(
        &mut self,
        done: &CompletedFrame,
        cells: impl Fn(Packet) -> u16,
        options: &mut Options,
    ) -> Option<Packet> {
        let route = self.routes[done.vc.index()].as_mut()?;
        if cells(route.packet(done.frame)?) != done.cells {
            return None;
        }
        let step = route.step;
        Some(route.take(done.frame, options)?.at_step(step))
    }

    /// Processes all arrivals by `end`, the end of the run.
    pub fn finish(&mut self, end: Time) {
        (0..self.ports.len()).for_each(|port| self.sweep(port as u32, end.0 + 1));
        self.done.clear();
    }

    /// Returns the link and the counters of each port at the end of the run.
    pub fn accounts(&self, now: Time) -> impl Iterator<Item = (Link, SweepCounters)> + '_ {
        self.ports.iter().map(move |port| (port.link(), port.account(now)))
    }

    /// Returns the number of cells on each host's link that have not arrived by the end of the run.
    pub fn unread(&self) -> impl Iterator<Item = (Link, u64)> + '_ {
        let ports = self.ports.iter();
        ports.flat_map(|port| port.unread(&self.streams))
    }

    /// Returns the state of the cells of VC `local` that have passed a port, for the ports downstream of it.
    pub fn passed_on(&self, port: u32, local: u32) -> Passed {
        let port = &self.ports[port as usize];
        let (grid, delay) = port.slots();
        let late = port.late().iter().filter(|late| late.local == local).copied();
        let (cells, frames) = port.passed_on(local as usize);
        Passed {
            grid,
            delay,
            cells,
            frames,
            late: late.collect(),
        }
    }

    /// Returns, for each VC, its last sweep port and the VC's step at that port.
    pub fn last_ports(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.routes.iter().flatten().map(|route| (route.last, route.step - 1))
    }
}
