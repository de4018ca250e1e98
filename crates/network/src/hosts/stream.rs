//! Applications that write to a TCP socket over time: at a constant rate, or in bursts.

use super::application::Application;
use super::Hosts;
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
    /// Creates an application that has not written anything.
    pub(super) fn new(schedule: Schedule) -> Box<Writer> {
        Box::new(Writer { schedule, written: 0 })
    }
}

/// Returns what each application that writes over time has written.
pub(crate) fn reports<P: Probe>(hosts: &Hosts<P>) -> Vec<StreamReport> {
    let flows = hosts.flows.iter().enumerate();
    let writers = flows.filter_map(|(flow, state)| state.application.try_as_stream_ref().map(|writer| (flow, writer)));
    writers
        .map(|(flow, writer)| StreamReport {
            flow,
            written_bytes: writer.written,
        })
        .collect()
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
    state.sender.write_up_to(writer.written);
    if let Some((next, _)) = writer.schedule.due(start) {
        hosts.expect_action(flow, next);
    }
    hosts.send_data(medium, flow);
}
