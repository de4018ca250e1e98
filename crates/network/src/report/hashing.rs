//! Computes the hash of reports, which is part of the hash of a run's final state.

use super::flows::{ArrivedReport, DatagramReport, ProxyReport, VideoReport};
use super::state_hash::StateHash;
use super::{ClassReport, GuaranteedReport, PortReport, SourceReport, WebReport};
use crate::report::files::File;
use longpipe_events::Span;

impl StateHash {
    pub(crate) fn web(&mut self, report: &WebReport) {
        self.word(report.scheduled_bytes);
        self.word(report.requests.sent_bytes);
        self.files(&report.files);
    }

    pub(crate) fn video(&mut self, report: &VideoReport) {
        let playback = &report.playback;
        self.words([playback.played.0, playback.stalled.0, playback.stalls]);
        self.instant(playback.began);
        self.files(&report.chunks);
    }

    fn files(&mut self, files: &[File]) {
        for file in files {
            self.word(file.bytes);
            self.word(file.requested.0);
            self.instant(file.answered);
            self.instant(file.completed);
        }
    }

    pub(crate) fn arrived(&mut self, report: &ArrivedReport) {
        self.words([report.waited, report.peak]);
        for flow in &report.flows {
            self.word(flow.arrived.0);
            self.word(flow.bytes);
            self.instant(flow.completed.get());
        }
    }

    pub(crate) fn datagrams(&mut self, report: &DatagramReport) {
        let counted = [
            report.sent,
            report.sent_bytes,
            report.received,
            report.received_bytes,
            report.lost,
        ];
        // The number of duplicates is skipped if it is zero, because the golden hashes were recorded before it existed.
        let duplicates = Some(report.duplicates).filter(|&duplicates| duplicates > 0);
        self.words(counted.into_iter().chain(duplicates).chain(report.delays.words()));
    }

    pub(crate) fn proxy(&mut self, report: &ProxyReport) {
        self.words([
            report.mean_bytes.to_bits(),
            report.peak_bytes,
            report.held_bytes,
            report.window_updates,
            report.window_probes,
        ]);
    }

    pub(crate) fn class(&mut self, report: &ClassReport) {
        let counters = &report.counters;
        self.words([
            counters.cells_in,
            counters.cells_out,
            counters.lost(),
            report.held,
            counters.peak_queue,
            report.mean_queue.map_or(0, f64::to_bits),
        ]);
    }

    pub(crate) fn source(&mut self, report: &SourceReport) {
        let (min, max) = report.delays.unwrap_or((Span(0), Span(0)));
        self.words([
            report.sent,
            report.delivered,
            report.lost,
            report.mean_delay.to_bits(),
            min.0,
            max.0,
        ]);
    }

    pub(crate) fn guaranteed(&mut self, report: &GuaranteedReport) {
        self.words([
            report.frames_in,
            report.frames_ineligible,
            report.cells_in,
            report.cells_ineligible,
            report.cells_delivered,
        ]);
    }

    pub(crate) fn port(&mut self, report: &PortReport) {
        self.words([
            report.cells_in,
            report.cells_out,
            report.lost_overflow,
            report.lost_aqm,
            report.lost_discarded,
            report.lost_injected,
            report.held,
            report.frames_in,
            report.frames_damaged,
            report.peak_queue,
            report.mean_queue.map_or(0, f64::to_bits),
        ]);
        // Zero counters are skipped, because the golden hashes were recorded before bit errors and outages existed.
        for later in [report.frames_corrupted, report.lost_outage, report.lost_on_wire] {
            if later > 0 {
                self.word(later);
            }
        }
    }
}
