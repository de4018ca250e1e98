//! Columns of adaptive video: one table of flows, and one of chunks.

use crate::columns::floats;
use longpipe_events::{Span, Time};
use longpipe_network::report::files::File;
use longpipe_network::report::flows::VideoReport;
use longpipe_network::report::Report;
use longpipe_network::scenario::TrafficConfig;
use longpipe_network::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns one row per flow with adaptive video; times after the end of the run are NaN.
pub fn flows<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let rows = &report.videos;
    let names = rows.iter().map(|own| scenario.flows[own.flow].name.as_str());
    columns.set_item("flow", names.collect::<Vec<&str>>())?;
    let integers =
        |name, column: fn(&VideoReport) -> u64| columns.set_item(name, rows.iter().map(column).collect::<Vec<u64>>());
    integers("chunks", |own| own.chunks.len() as u64)?;
    integers("received", |own| received(own).count() as u64)?;
    columns.set_item(
        "mean_bitrate_bps",
        floats(rows.iter().map(|own| mean_bps(scenario, own))),
    )?;
    integers("switches", |own| {
        own.chunks
            .windows(2)
            .filter(|pair| pair[0].class != pair[1].class)
            .count() as u64
    })?;
    let seconds = |name, column: fn(&VideoReport) -> f64| columns.set_item(name, floats(rows.iter().map(column)));
    seconds("played_s", |own| own.playback.played.as_seconds())?;
    seconds("stalled_s", |own| own.playback.stalled.as_seconds())?;
    integers("stalls", |own| own.playback.stalls)?;
    let end = Time(scenario.duration_ps);
    columns.set_item(
        "downloading_s",
        floats(rows.iter().map(|own| downloading(own, end).as_seconds())),
    )?;
    let startup = rows.iter().map(|own| {
        let start = report.flows[own.flow].start;
        let began = own.playback.began;
        began.map_or(f64::NAN, |began| began.since(start).as_seconds())
    });
    columns.set_item("startup_s", floats(startup))?;
    integers("scheduled_bytes", |own| {
        let answered = own.chunks.iter().filter(|chunk| chunk.answered.is_some());
        answered.map(|chunk| chunk.bytes).sum()
    })?;
    Ok(columns)
}

/// Returns one row per requested chunk, flow by flow; empty if no flow has adaptive video.
pub fn chunks<'py>(py: Python<'py>, scenario: &Scenario, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    if report.videos.is_empty() {
        return Ok(columns);
    }
    let rows: Vec<(&VideoReport, &File)> = report
        .videos
        .iter()
        .flat_map(|own| own.chunks.iter().map(move |chunk| (own, chunk)))
        .collect();
    let seconds = |time: Option<Time>| time.map_or(f64::NAN, Time::as_seconds);
    let numbers: Vec<u32> = rows.iter().map(|row| row.0.flow as u32).collect();
    columns.set_item("flow", numbers)?;
    let rates: Vec<u64> = rows.iter().map(|row| bitrate(scenario, row.0, row.1)).collect();
    columns.set_item("bitrate_bps", rates)?;
    columns.set_item("size_bytes", rows.iter().map(|row| row.1.bytes).collect::<Vec<u64>>())?;
    columns.set_item(
        "requested_s",
        floats(rows.iter().map(|row| row.1.requested.as_seconds())),
    )?;
    columns.set_item("answered_s", floats(rows.iter().map(|row| seconds(row.1.answered))))?;
    columns.set_item("completed_s", floats(rows.iter().map(|row| seconds(row.1.completed))))?;
    Ok(columns)
}

fn received(own: &VideoReport) -> impl Iterator<Item = &File> {
    own.chunks.iter().filter(|chunk| chunk.completed.is_some())
}

/// Returns the time in which the player waited for a chunk, until `end`; a player requests one chunk at a time.
fn downloading(own: &VideoReport, end: Time) -> Span {
    let spans = own
        .chunks
        .iter()
        .map(|chunk| chunk.completed.unwrap_or(end).since(chunk.requested).0);
    Span(spans.sum())
}

/// Returns the mean bitrate [bit/s] of the chunks that have been received; NaN if there are none.
fn mean_bps(scenario: &Scenario, own: &VideoReport) -> f64 {
    let sum: u64 = received(own).map(|chunk| bitrate(scenario, own, chunk)).sum();
    sum as f64 / received(own).count() as f64
}

/// Returns the bitrate of a chunk [bit/s].
fn bitrate(scenario: &Scenario, own: &VideoReport, chunk: &File) -> u64 {
    match &scenario.flows[own.flow].traffic {
        TrafficConfig::AdaptiveVideo(video) => video.ladder_bps[chunk.class as usize],
        _ => 0,
    }
}
