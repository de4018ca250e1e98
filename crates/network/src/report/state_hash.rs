//! The hash of a run's final state; equal for equal runs, whatever the engine.

use crate::hosts::datagrams::DatagramReport;
use crate::hosts::flow::Flow;
use crate::hosts::relay::RelayReport;
use crate::report::{ClassReport, FlowReport, PortReport, SourceReport, WebReport};
use longpipe_events::{mix, Time};

/// Folds words, in order, into one.
#[derive(Default)]
pub(crate) struct StateHash(u64);

impl StateHash {
    /// The hash of all words so far.
    pub(crate) fn value(&self) -> u64 {
        self.0
    }

    pub(crate) fn word(&mut self, word: u64) {
        self.0 = mix(self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mix(word.wrapping_add(1)));
    }

    fn instant(&mut self, time: Option<Time>) {
        self.word(time.map_or(u64::MAX, |time| time.0));
    }

    pub(crate) fn flow(&mut self, report: &FlowReport, flow: &Flow) {
        let (space, counters) = (flow.sender.flight(), &report.sender);
        for word in [
            report.delivered_bytes,
            report.highest_sequence_bytes,
            space.una,
            space.nxt,
            space.max,
            space.cwnd().to_bits(),
            space.ssthresh().to_bits(),
            u64::from(space.duplicates),
            counters.sent_segments,
            counters.sent_bytes,
            counters.retransmitted_segments,
            counters.retransmitted_bytes,
            counters.timeouts,
            counters.fast_retransmits,
            counters.duplicate_acks,
            report.start.0,
        ] {
            self.word(word);
        }
        self.instant(report.completion);
        self.instant(flow.sender.next_timeout().get());
        self.instant(flow.receiver.next_timeout().get());
    }

    pub(crate) fn web(&mut self, report: &WebReport) {
        self.word(report.scheduled_bytes);
        self.word(report.requests.sent_bytes);
        for file in &report.files {
            self.word(file.bytes);
            self.word(file.requested.0);
            self.instant(file.answered);
            self.instant(file.completed);
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
        counted
            .into_iter()
            .chain(report.delays.words())
            .for_each(|word| self.word(word));
    }

    pub(crate) fn relay(&mut self, report: &RelayReport) {
        for word in [
            report.mean_bytes.to_bits(),
            report.peak_bytes,
            report.held_bytes,
            report.window_updates,
            report.window_probes,
        ] {
            self.word(word);
        }
    }

    pub(crate) fn class(&mut self, report: &ClassReport) {
        let counters = &report.counters;
        for word in [
            counters.cells_in,
            counters.cells_out,
            counters.lost(),
            report.held,
            counters.peak_queue,
            report.mean_queue.map_or(0, f64::to_bits),
        ] {
            self.word(word);
        }
    }

    pub(crate) fn source(&mut self, report: &SourceReport) {
        for word in [
            report.sent,
            report.delivered,
            report.lost,
            report.mean_delay.to_bits(),
            report.least_delay.0,
            report.most_delay.0,
        ] {
            self.word(word);
        }
    }

    pub(crate) fn port(&mut self, report: &PortReport) {
        for word in [
            report.cells_in,
            report.cells_out,
            report.lost_overflow,
            report.lost_refused,
            report.lost_discarded,
            report.lost_forced,
            report.held,
            report.frames_in,
            report.frames_damaged,
            report.peak_queue,
            report.mean_queue.map_or(0, f64::to_bits),
        ] {
            self.word(word);
        }
        // Hashes are older than bit errors and outages.
        for later in [report.frames_spoilt, report.lost_outage, report.lost_on_wire] {
            if later > 0 {
                self.word(later);
            }
        }
    }
}
