//! All ports of a run that sweep, what is on its way to them, and when each has to look.
//!
//! A host's cells are known before they arrive by as long as a cell takes to its first port. A port's cells are known
//! that much longer. So a port can be brought to any instant that is past, and a little beyond, if those before it are
//! brought there first. It has to look no sooner than the first frame that it has not seen could reach its host.

use crate::atm::interface::Frame;
use crate::atm::port::sweep::{Account, Done, LostCell, Run, Sink, Stream, SweepPort};
use crate::atm::port::transit::Passed;
use crate::packets::ring::Ring;
use crate::packets::{Circuit, Link, Options, Packet};
use longpipe_events::Time;

/// A port before another one.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// The port, which may be that one itself.
    pub port: u32,
    /// No cell comes from the one to the other sooner after its arrival there [ps].
    pub latency: u64,
}

/// What is known of a port beside what it is.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Ports right before it.
    pub feeders: Vec<Before>,
    /// It and all ports before it.
    pub closure: Vec<Before>,
    /// Cells that a host sends now arrive no sooner [ps].
    pub outlook: u64,
    /// Least time from a cell's arrival to its host, of circuits with no further such port.
    pub lead: u64,
    /// Everything that arrives before this was taken.
    swept: u64,
    /// When it will look again; never, if nothing is on its way.
    wakes: u64,
}

/// Never, or nothing.
const NEVER: u64 = u64::MAX;

impl Reach {
    /// Of a port that has not looked.
    pub fn new(feeders: Vec<Before>, closure: Vec<Before>, outlook: u64, lead: u64) -> Reach {
        Reach {
            feeders,
            closure,
            outlook,
            lead,
            swept: 0,
            wakes: NEVER,
        }
    }
}

/// A circuit that passes such ports.
#[derive(Clone, Debug)]
pub struct Route {
    /// What is on its way to its first port over its host's link.
    pub stream: u32,
    /// Its number there.
    pub local: u32,
    /// Its last one.
    pub last: u32,
    /// No cell comes from the first to its host sooner after its arrival there [ps].
    pub latency: u64,
    /// The step after its last one.
    pub step: u32,
    packets: Ring<Packet>,
    options: Ring<Options>,
}

impl Route {
    /// With nothing on its way.
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

    /// Takes the packet of a frame, and those before it, which were lost.
    fn take(&mut self, frame: u32, options: &mut Options, mut lost: impl FnMut(u32, Packet)) -> Option<Packet> {
        loop {
            let number = self.packets.head() as u32;
            let last = number == frame;
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
            lost(number, packet);
        }
    }
}

/// All ports that sweep.
#[derive(Clone, Debug, Default)]
pub struct Sweeps {
    ports: Vec<SweepPort>,
    reaches: Vec<Reach>,
    streams: Vec<Stream>,
    woken: Vec<Vec<u32>>,
    /// By VC.
    routes: Vec<Option<Box<Route>>>,
    done: Vec<Done>,
    /// Frames that lost a cell since they were last taken.
    lost: Vec<LostCell>,
    /// The port that is looking.
    looking: u32,
}

impl Sweeps {
    /// None of whose cells is on its way.
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
            looking: u32::MAX,
        }
    }

    /// Whether frames of a VC go so.
    #[inline(always)]
    pub fn carry(&self, vc: Circuit) -> bool {
        self.routes.get(vc.index()).is_some_and(Option::is_some)
    }

    /// A host sends a frame, whose first cell arrives at `first`: the port that has to look sooner for it, and when.
    #[inline]
    pub fn send(&mut self, sent: &Frame, first: Time, options: &Options) -> Option<(u32, Time)> {
        let Frame { packet, cells, .. } = *sent;
        let route = self.routes[packet.vc().index()].as_mut()?;
        let frame = route.packets.tail() as u32;
        route.packets.push(packet);
        if packet.has_options() {
            route.options.push(*options);
        }
        let run = Run {
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
        if wakes >= reach.wakes || route.last == self.looking {
            return None;
        }
        reach.wakes = wakes;
        Some((route.last, Time(wakes)))
    }

    /// A port takes what is known to arrive at it by `end`.
    pub fn look(&mut self, port: u32, now: Time, end: Time) {
        self.looking = port;
        let until = now.0.saturating_add(self.reaches[port as usize].outlook);
        self.sweep(port, until.min(end.0 + 1));
    }

    /// Frames that have their slots at their last ports since, one by one.
    pub fn done(&self, number: usize) -> Option<Done> {
        self.done.get(number).copied()
    }

    /// Takes the frames that lost a cell since the last call, each with its packet.
    pub fn take_lost(&mut self) -> Vec<(LostCell, Packet)> {
        let lost = std::mem::take(&mut self.lost);
        let packet = |one: LostCell| {
            let route = self.routes[one.vc.index()].as_ref()?;
            let after = u64::from(one.frame.wrapping_sub(route.packets.head() as u32));
            let is_there = after < route.packets.len();
            is_there.then(|| (one, *route.packets.get(route.packets.head() + after)))
        };
        lost.into_iter().filter_map(packet).collect()
    }

    /// Whether any frame lost a cell since the last call of `take_lost`.
    pub fn have_lost(&self) -> bool {
        !self.lost.is_empty()
    }

    /// The port that was looking has told of all of them: when it looks again.
    pub fn rest(&mut self, port: u32) -> Option<Time> {
        self.done.clear();
        self.looking = u32::MAX;
        let bound = |before: &Before| {
            let (streams, woken) = (&self.streams, &self.woken[before.port as usize]);
            let bound = self.ports[before.port as usize].bound(woken, streams);
            bound.saturating_add(before.latency)
        };
        let reach = &self.reaches[port as usize];
        let next = reach.closure.iter().map(bound).min().unwrap_or(NEVER);
        let wakes = next.saturating_add(reach.lead).saturating_sub(1);
        self.reaches[port as usize].wakes = if next == NEVER { NEVER } else { wakes };
        (next != NEVER).then_some(Time(wakes))
    }

    /// Brings a port, and those before it, to an instant before which all is known.
    fn sweep(&mut self, port: u32, until: u64) {
        let reach = &mut self.reaches[port as usize];
        if reach.swept >= until {
            return;
        }
        reach.swept = until;
        for at in 0..self.reaches[port as usize].feeders.len() {
            let Before { port: before, latency } = self.reaches[port as usize].feeders[at];
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

    /// The packet of a frame and the step that it takes next, if all its cells are there; its options, if it has any.
    /// `lost` is called with the earlier frames that are lost.
    pub fn take(
        &mut self,
        done: &Done,
        cells: impl Fn(Packet) -> u16,
        options: &mut Options,
        lost: impl FnMut(u32, Packet),
    ) -> Option<Packet> {
        let route = self.routes[done.vc.index()].as_mut()?;
        let number = route.packets.head() + u64::from(done.frame.wrapping_sub(route.packets.head() as u32));
        let packet = *route.packets.get(number);
        if cells(packet) != done.cells {
            return None;
        }
        let step = route.step;
        Some(route.take(done.frame, options, lost)?.at_step(step))
    }

    /// Takes everything that arrives by `end`, the end of the run.
    pub fn finish(&mut self, end: Time) {
        (0..self.ports.len()).for_each(|port| self.sweep(port as u32, end.0 + 1));
        self.done.clear();
        self.lost.clear();
    }

    /// The link of each port, its slots and the delay behind it, and its counters at the end of the run.
    pub fn accounts(&self, now: Time) -> impl Iterator<Item = (Link, Account)> + '_ {
        self.ports.iter().map(move |port| (port.link(), port.account(now)))
    }

    /// Cells of each host's link that have not arrived by the end of the run.
    pub fn unread(&self) -> impl Iterator<Item = (Link, u64)> + '_ {
        let ports = self.ports.iter();
        ports.flat_map(|port| port.unread(&self.streams))
    }

    /// What a port's VC `local` has brought to the ports behind it.
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

    /// The last such port of each VC, and its step there.
    pub fn last_ports(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.routes.iter().flatten().map(|route| (route.last, route.step - 1))
    }
}
