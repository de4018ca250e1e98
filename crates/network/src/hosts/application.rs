//! Applications of flows: the times at which they write, send and stop, and the data that they send.
//!
//! `on_clock` performs all scheduled actions of an application: its start, its next request, datagram or write, and its
//! stop.

use super::arriving::ConnectionSlot;
use super::connection::Connection;
use super::datagrams::Datagrams;
use super::requests::Requests;
use super::stream::Writer;
use super::{arriving, datagrams, media, proxy, request_response, stream, Hosts};
use crate::clock::{Actor, START};
use crate::hosts::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::external::ExternalPackets;
use crate::packets::{Circuit, Flow};
use crate::traffic::media::Encoder;
use longpipe_events::Time;
use longpipe_tcp::sender::GREEDY;
use strum::EnumTryAs;

/// Application of a flow, including the state of both of its ends.
#[derive(Debug, EnumTryAs)]
pub(crate) enum Application {
    /// Writes all its data when it starts: either a file or an endless stream.
    Bulk,
    /// Writes data over time.
    Stream(Box<Writer>),
    /// Writes frames of live video.
    Media(Box<Encoder>),
    /// Sends files in response to requests from the receiving host.
    Requests(Box<Requests>),
    /// Starts flows that arrive over time, using the slots at this index in `Hosts::arriving`.
    Arrivals(usize),
    /// Transfers the data of arriving flows, one after another.
    ConnectionSlot(ConnectionSlot),
    /// Sends datagrams instead of TCP segments.
    Datagrams(Box<Datagrams>),
    /// Programs outside the simulation, whose packets enter the simulated network.
    External(Box<ExternalPackets>),
}

impl Application {
    /// Returns whether the flow has no TCP end points.
    #[inline]
    pub(crate) fn is_without_tcp(&self) -> bool {
        matches!(self, Application::Datagrams(_) | Application::External(_))
    }
}

impl Connection {
    /// Returns whether the application acts at times of its own at this connection; the application of a split
    /// connection belongs to its first part if it writes data, and to its last one if it requests files.
    fn has_application(&self) -> bool {
        match (&self.application, &self.proxy) {
            (Application::Requests(requests), _) => requests.exchange.is_some(),
            (Application::Bulk, Some(proxy)) => proxy.source.is_none(),
            _ => true,
        }
    }

    /// Returns whether the application is still active at `time`, so that a write, request or datagram can be
    /// scheduled.
    pub(super) fn is_active_at(&self, time: Time) -> bool {
        self.stop.get().is_none_or(|stop| time < stop)
    }

    /// Ends the application's data at the last byte that was sent.
    fn stop_writing(&mut self, now: Time) {
        self.sender.stop_writing();
        self.size = self.sender.flight().max;
        self.await_all(now);
    }

    /// Sets the completion of the connection to the delivery of its last byte.
    fn await_all(&mut self, now: Time) {
        if self.completion.is_none() && self.size > 0 {
            let forwards = self.proxy.as_ref().is_some_and(|proxy| proxy.forwards());
            self.awaited = if forwards { 0 } else { self.size };
            if self.receiver.delivered() >= self.size {
                self.on_awaited(now);
            }
        }
    }

    /// Ends the data of a connection that forwards those of another one, at byte `size`.
    pub(super) fn end_at(&mut self, now: Time, size: u64) {
        self.size = size;
        self.await_all(now);
    }
}

impl<P: Probe> Hosts<P> {
    /// Schedules the start of a flow's application.
    pub fn expect_start<M: Medium>(&mut self, medium: &mut M, flow: Flow) {
        if let Application::ConnectionSlot(_) = self.flows[flow.index()].application {
            return;
        }
        let start = self.flows[flow.index()].start;
        self.clock.set(Actor::Start(flow), start, START);
        self.set_next_action(medium, Circuit::of_data(flow), start, START);
    }

    /// Schedules the next call to `on_clock` for a flow: at `time`, or at the application's stop if that is earlier.
    pub(super) fn expect_action(&mut self, flow: Flow, time: Time) {
        let stop = self.flows[flow.index()].stop.get().unwrap_or(time);
        self.clock.set(Actor::Start(flow), time.min(stop), START);
    }

    /// Starts a flow's application, or performs the action that the application has scheduled.
    pub fn on_clock<M: Medium>(&mut self, medium: &mut M, flow: Flow) {
        self.clear_next_action(Circuit::of_data(flow));
        let now = self.clock.now;
        let state = &mut self.flows[flow.index()];
        if let Application::Arrivals(index) = state.application {
            return arriving::on_clock(self, medium, index);
        }
        if !state.is_active_at(now) {
            if let Application::Bulk | Application::Stream(_) | Application::Media(_) = state.application {
                state.stop_writing(now);
                proxy::stop_writing(self, flow);
            }
            return;
        }
        if let Application::External(_) = state.application {
            return;
        }
        self.resume(flow);
        match self.flows[flow.index()].application {
            _ if !self.flows[flow.index()].has_application() => proxy::send(self, medium, flow),
            Application::Requests(_) => request_response::on_clock(self, medium, flow),
            Application::Datagrams(_) => datagrams::applications::send(self, medium, flow),
            Application::Stream(_) => stream::write(self, medium, flow),
            Application::Media(_) => media::write(self, medium, flow),
            Application::Bulk => self.write_all(medium, flow),
            Application::External(_) | Application::Arrivals(_) | Application::ConnectionSlot(_) => {}
        }
    }

    /// Writes all data of a bulk application that has started.
    fn write_all<M: Medium>(&mut self, medium: &mut M, flow: Flow) {
        if let Some(stop) = self.flows[flow.index()].stop.get() {
            self.expect_action(flow, stop);
        }
        let state = &mut self.flows[flow.index()];
        if state.proxy.is_some() {
            return proxy::send(self, medium, flow);
        }
        state.sender.write_up_to(state.size);
        if state.size < GREEDY {
            state.sender.close();
        }
        self.send_data(medium, flow);
    }
}
