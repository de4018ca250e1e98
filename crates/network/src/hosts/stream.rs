//! Applications that write to a TCP socket over time: at a constant rate, or in bursts.

use super::application::Application;
use super::source::Source;
use super::Hosts;
use crate::hosts::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::Flow;
use crate::report::flows::StreamReport;

/// State of an application that writes over time.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    source: Source,
    /// Amount [byte] of data written so far.
    written: u64,
}

impl Writer {
    /// Creates an application that has not written anything.
    pub(super) fn new(source: Source) -> Box<Writer> {
        Box::new(Writer { source, written: 0 })
    }
}

/// Returns what each application that writes over time has written.
pub(crate) fn reports<P: Probe>(hosts: &Hosts<P>) -> Vec<StreamReport> {
    let writers = hosts
        .flows
        .iter()
        .enumerate()
        .filter_map(|(flow, state)| match &state.application {
            Application::Stream(writer) => Some((flow, writer.written)),
            _ => None,
        });
    writers
        .map(|(flow, written_bytes)| StreamReport { flow, written_bytes })
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
    while let Some((_, length)) = writer.source.due(start).filter(|due| due.0 <= now) {
        writer.source.step();
        writer.written += u64::from(length);
    }
    state.sender.write_up_to(writer.written);
    if let Some((next, _)) = writer.source.due(start) {
        hosts.expect_action(flow, next);
    }
    hosts.send_data(medium, flow);
}
