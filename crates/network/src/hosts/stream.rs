//! Applications that write to a TCP socket over time: at a constant rate, or in bursts.

use super::application::Application;
use super::{proxy, Hosts};
use crate::hosts::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::Flow;
use crate::report::flows::StreamReport;
use crate::traffic::schedule::Schedule;

/// State of an application that writes over time.
#[derive(Debug)]
pub(crate) struct Writer {
    schedule: Schedule,
    /// Amount [byte] of data written so far.
    written: u64,
}

impl Writer {
    /// Returns the amount [byte] of data written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Creates an application that has not written anything.
    pub(super) fn new(schedule: Schedule) -> Box<Writer> {
        Box::new(Writer { schedule, written: 0 })
    }
}

/// Returns what each application that writes over time has written.
pub(crate) fn reports<P: Probe>(hosts: &Hosts<P>) -> Vec<StreamReport> {
    let flows = hosts.flows.iter().enumerate();
    let writers = flows.filter_map(|(flow, state)| {
        let writer = state.application.try_as_stream_ref()?;
        Some(StreamReport {
            flow: state.proxy.as_ref().map_or(flow, |proxy| proxy.last.index()),
            written_bytes: writer.written,
        })
    });
    writers.collect()
}

/// Writes the data that are due now, and schedules the next write.
pub(super) fn write<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let now = hosts.clock.now;
    let state = &mut hosts.flows[flow.index()];
    let start = state.start;
    let Application::Stream(writer) = &mut state.application else {
        return;
    };
    while let Some((_, length)) = writer.schedule.due(start).filter(|due| due.0 <= now) {
        writer.schedule.step();
        writer.written += u64::from(length);
    }
    let written = writer.written;
    if let Some((next, _)) = writer.schedule.due(start) {
        hosts.expect_action(flow, next);
    }
    let state = &mut hosts.flows[flow.index()];
    if state.proxy.is_some() {
        return proxy::send(hosts, medium, flow);
    }
    state.sender.write_up_to(written);
    hosts.send_data(medium, flow);
}
