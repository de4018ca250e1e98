//! Encoders of live video, whose frames follow the bitrate that the congestion control permits.

use super::application::Application;
use super::Hosts;
use crate::hosts::connection::Connection;
use crate::hosts::medium::Medium;
use crate::observe::probe::Probe;
use crate::packets::Flow;
use crate::report::flows::MediaReport;
use longpipe_events::Time;

/// Returns the counters of each encoder.
pub(crate) fn reports<P: Probe>(hosts: &Hosts<P>) -> Vec<MediaReport> {
    let flows = hosts.flows.iter().enumerate();
    let encoders = flows.filter_map(|(flow, state)| {
        let encoder = state.application.try_as_media_ref()?;
        let frames = encoder.counters();
        Some(MediaReport { flow, frames })
    });
    encoders.collect()
}

/// Writes the frame that is due now, and schedules the next one.
pub(super) fn write<P: Probe, M: Medium>(hosts: &mut Hosts<P>, medium: &mut M, flow: Flow) {
    let now = hosts.clock.now;
    let state = &mut hosts.flows[flow.index()];
    let (start, sent, permitted_bps) = (state.start, state.sender.flight().max, state.sender.permitted_bps());
    let Application::Media(encoder) = &mut state.application else {
        return;
    };
    if encoder.due(start) <= now {
        let written = encoder.write(now, permitted_bps, sent);
        state.awaited = encoder.awaited();
        state.sender.write_up_to(written);
    }
    let next = encoder.due(start);
    hosts.expect_action(flow, next);
    hosts.send_data(medium, flow);
}

/// Records that data of a flow have arrived, if an encoder produces them. Returns whether it does.
pub(super) fn on_delivered(state: &mut Connection, now: Time, delivered: u64) -> bool {
    let Application::Media(encoder) = &mut state.application else {
        return false;
    };
    encoder.on_delivered(now, delivered);
    if delivered < state.size {
        // After the stop, the source's data end at `size`, perhaps within a frame.
        state.awaited = encoder.awaited().min(state.size);
    } else {
        state.completion = state.completion.or(Some(now));
        state.awaited = u64::MAX;
    }
    true
}
