//! Reads the packets of a connection from the qlog that the stack writes: the only interface through which quinn and noq
//! report them.

use longpipe_end::packets::{LossEvidence, PacketEventKind, PacketType};
use longpipe_end::PacketEvent;
use serde::Deserialize;
use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The events of an end's packets. Copies share the events.
#[derive(Clone, Debug, Default)]
pub struct PacketLog(Arc<Mutex<Events>>);

#[derive(Debug, Default)]
struct Events {
    /// Current time [ps]. The times in the stack's qlog are rounded.
    now: u64,
    all: Vec<PacketEvent>,
}

impl PacketLog {
    /// Sets the time of the following events [ps].
    pub fn set_time(&self, now: u64) {
        self.locked().now = now;
    }

    /// Moves all events to `events`.
    pub fn take(&self, events: &mut Vec<PacketEvent>) {
        events.append(&mut self.locked().all);
    }

    /// Returns the file to which the stack writes. `evidence` is whether its evidence for losses is correct.
    pub fn writer(&self, evidence: bool) -> Box<dyn Write + Send + Sync> {
        Box::new(Writer {
            log: self.clone(),
            evidence,
            line: Vec::new(),
        })
    }

    fn locked(&self) -> MutexGuard<'_, Events> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parses the records of a qlog as they are written.
struct Writer {
    log: PacketLog,
    evidence: bool,
    /// Beginning of a record whose end has not been written.
    line: Vec<u8>,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        // A stack writes a record in many parts, most of which do not end it.
        if bytes.contains(&b'\n') {
            self.read_records();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer {
    /// Reads and removes all complete records.
    fn read_records(&mut self) {
        let complete = self
            .line
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |last| last + 1);
        let mut events = self.log.locked();
        for line in self.line[..complete].split(|&byte| byte == b'\n') {
            let record = line.strip_prefix(b"\x1e").unwrap_or(line);
            // Records that are no packets, such as the header, are not read.
            if let Ok(record) = serde_json::from_slice::<Record<'_>>(record) {
                let now = events.now;
                record.append_to(&mut events.all, now, self.evidence);
            }
        }
        drop(events);
        self.line.drain(..complete);
    }
}

#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    header: Header<'a>,
    #[serde(borrow)]
    trigger: Option<Cow<'a, str>>,
    #[serde(default)]
    frames: Vec<Frame>,
}

#[derive(Deserialize)]
struct Header<'a> {
    #[serde(borrow)]
    packet_type: Cow<'a, str>,
    packet_number: Option<u64>,
    #[serde(default)]
    length: u32,
}

#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    acked_ranges: Vec<Vec<u64>>,
}

impl Record<'_> {
    /// Appends the events of the record at `now` [ps].
    fn append_to(&self, events: &mut Vec<PacketEvent>, now: u64, evidence: bool) {
        let (header, trigger) = (&self.data.header, self.data.trigger.as_deref());
        let kind = match self.name.rsplit(':').next() {
            Some("packet_sent") => PacketEventKind::Sent,
            Some("packet_received") => PacketEventKind::Received,
            Some("packet_lost") => PacketEventKind::Lost,
            _ => return,
        };
        let Some(number) = header.packet_number else {
            return;
        };
        let event = PacketEvent {
            at_ps: now,
            kind,
            packet_type: match &*header.packet_type {
                "initial" => PacketType::Initial,
                "handshake" => PacketType::Handshake,
                "0RTT" => PacketType::ZeroRtt,
                "1RTT" => PacketType::OneRtt,
                _ => PacketType::Unknown,
            },
            first: number,
            last: number,
            length: header.length,
            evidence: match trigger.filter(|_| evidence) {
                Some("reordering_threshold") => LossEvidence::Reordering,
                Some("time_threshold") => LossEvidence::Time,
                _ => LossEvidence::Unknown,
            },
        };
        events.push(event);
        if kind != PacketEventKind::Received {
            return;
        }
        for range in self.data.frames.iter().flat_map(|frame| &frame.acked_ranges) {
            if let (Some(first), Some(last)) = (range.first(), range.last()) {
                events.push(PacketEvent {
                    kind: PacketEventKind::Acknowledged,
                    first: *first,
                    last: *last,
                    length: 0,
                    ..event
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events_of(text: &str, evidence: bool) -> Vec<PacketEvent> {
        let (log, mut events) = (PacketLog::default(), Vec::new());
        log.set_time(7);
        let mut writer = log.writer(evidence);
        for part in text.as_bytes().chunks(10) {
            writer.write_all(part).expect("the writer accepts everything");
        }
        log.take(&mut events);
        events
    }

    #[test]
    fn split_record_is_one_event() {
        let text = "\u{1e}{\"qlog_version\":\"0.3\"}\n\
            \u{1e}{\"time\":1.5,\"name\":\"transport:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\",\
            \"packet_number\":3,\"length\":1200}}}\n\
            \u{1e}{\"time\":1.5,\"name\":\"recovery:metrics_updated\",\"data\":{\"smoothed_rtt\":3.0}}\n";
        let [event] = events_of(text, true)[..] else {
            panic!("one event");
        };
        assert_eq!((event.at_ps, event.kind), (7, PacketEventKind::Sent));
        assert_eq!(
            (event.packet_type, event.first, event.length),
            (PacketType::OneRtt, 3, 1200)
        );
    }

    #[test]
    fn the_ranges_of_ack_frames_follow_the_packet_that_contains_them() {
        let text = "\u{1e}{\"time\":1.5,\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_type\":\
            \"initial\",\"packet_number\":0},\"frames\":[{\"frame_type\":\"padding\"},{\"frame_type\":\"ack\",\
            \"acked_ranges\":[[0,4],[6]]}]}}\n";
        let found: Vec<_> = events_of(text, true)
            .iter()
            .map(|event| (event.kind, event.first, event.last))
            .collect();
        assert_eq!(
            found,
            [
                (PacketEventKind::Received, 0, 0),
                (PacketEventKind::Acknowledged, 0, 4),
                (PacketEventKind::Acknowledged, 6, 6),
            ]
        );
    }

    #[test]
    fn unreliable_loss_evidence_is_reported_as_unknown() {
        let text = "\u{1e}{\"time\":1.5,\"name\":\"recovery:packet_lost\",\"data\":{\"header\":{\"packet_type\":\
            \"1RTT\",\"packet_number\":9,\"length\":100},\"trigger\":\"reordering_threshold\"}}\n";
        assert_eq!(events_of(text, true)[0].evidence, LossEvidence::Reordering);
        assert_eq!(events_of(text, false)[0].evidence, LossEvidence::Unknown);
    }
}
