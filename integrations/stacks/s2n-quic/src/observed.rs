//! What an end has observed of its connection: the library's events, and the progress of the application.

use crate::picoseconds;
use longpipe_end::adapter::{Reductions, Settings, Times, WebExchange, Workload};
use longpipe_end::packets::{LossEvidence, PacketEventKind, PacketType};
use longpipe_end::{PacketEvent, Report, State, NEVER};
use s2n_quic::provider::event::events::{
    AckRangeReceived, MtuUpdated, PacketHeader, PacketLost, PacketReceived, PacketSent, RecoveryMetrics,
};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Counters and times of an end.
#[derive(Debug)]
pub struct Observed {
    /// Current time of the run [ps].
    pub now_ps: u64,
    /// Data of the flow that this end has received [byte].
    pub delivered: u64,
    pub completed_ps: Option<u64>,
    pub handshake_ps: Option<u64>,
    /// Time and reason of the connection's failure.
    pub closed: Option<(u64, String)>,
    /// Whether the application has done all that it must, so that the end of the connection is no failure.
    pub done: bool,
    pub packets: Vec<PacketEvent>,
    /// Requests of a web client.
    pub web: WebExchange,
    /// Time for which the application waits [ps], or [`NEVER`].
    pub timer_ps: u64,
    logs_packets: bool,
    start_ps: u64,
    workload: Workload,
    times: Times,
    sent_packets: u64,
    lost_packets: u64,
    lost_bytes: u64,
    cwnd: Option<u64>,
    reductions: Reductions,
    /// Smoothed and minimum RTT.
    rtt: Option<(Duration, Duration)>,
    mtu: Option<u16>,
    timeouts: u64,
    pto_count: u32,
}

impl Observed {
    /// Creates counters of a flow that starts at `start_ps`; `logs_packets` also collects packets.
    pub fn new(settings: &Settings, web: WebExchange, start_ps: u64, logs_packets: bool) -> Observed {
        Observed {
            now_ps: 0,
            delivered: 0,
            completed_ps: None,
            handshake_ps: None,
            closed: None,
            done: false,
            packets: Vec::new(),
            web,
            timer_ps: NEVER,
            logs_packets,
            start_ps,
            workload: settings.workload,
            times: Times::default(),
            sent_packets: 0,
            lost_packets: 0,
            lost_bytes: 0,
            cwnd: None,
            reductions: Reductions::default(),
            rtt: None,
            mtu: None,
            timeouts: 0,
            pto_count: 0,
        }
    }

    /// Counts a response to a request of time `from` [ps].
    pub fn on_response(&mut self, from: u64) {
        self.times.push(self.now_ps - from);
    }

    /// Counts one of the streams of a transfer, which ends now.
    pub fn on_stream(&mut self) {
        self.times.push(self.now_ps - self.start_ps);
    }

    /// Returns the state of the sender.
    pub fn state(&self) -> State {
        State {
            cwnd: self.cwnd,
            srtt_ps: self.rtt.map(|(smoothed, _)| picoseconds(smoothed)),
            min_rtt_ps: self.rtt.map(|(_, min)| picoseconds(min)),
            sent_packets: self.sent_packets,
            lost_packets: self.lost_packets,
            ..State::default()
        }
    }

    /// Returns the counters, without those of datagrams.
    pub fn report(&self) -> Report {
        let rtt = |of: fn((Duration, Duration)) -> Duration| self.rtt.map_or(f64::NAN, |rtt| of(rtt).as_secs_f64());
        let values = [
            ("cwnd_bytes", self.cwnd.map_or(f64::NAN, |bytes| bytes as f64)),
            ("srtt_s", rtt(|(smoothed, _)| smoothed)),
            ("min_rtt_s", rtt(|(_, min)| min)),
            ("mtu_bytes", self.mtu.map_or(f64::NAN, f64::from)),
            ("timeouts", self.timeouts as f64),
        ];
        Report {
            delivered_bytes: self.delivered,
            completed_ps: self.completed_ps,
            sent_packets: self.sent_packets,
            lost_packets: self.lost_packets,
            lost_bytes: self.lost_bytes,
            congestion_events: self.reductions.count,
            handshake_ps: self.handshake_ps,
            closed: self.closed.clone().filter(|_| !self.done),
            values: values
                .map(|(name, value)| (name.to_owned(), value))
                .into_iter()
                .chain(if self.times.count() > 0 {
                    self.times.values(self.workload)
                } else {
                    Vec::new()
                })
                .chain(self.web.values())
                .collect(),
            ..Report::default()
        }
    }

    fn log(&mut self, kind: PacketEventKind, header: &PacketHeader, numbers: Option<(u64, u64)>, length: u32) {
        if !self.logs_packets {
            return;
        }
        let (packet_type, number) = match header {
            PacketHeader::Initial { number, .. } => (PacketType::Initial, *number),
            PacketHeader::Handshake { number, .. } => (PacketType::Handshake, *number),
            PacketHeader::ZeroRtt { number, .. } => (PacketType::ZeroRtt, *number),
            PacketHeader::OneRtt { number, .. } => (PacketType::OneRtt, *number),
            _ => return,
        };
        let (first, last) = numbers.unwrap_or((number, number));
        self.packets.push(PacketEvent {
            at_ps: self.now_ps,
            kind,
            packet_type,
            first,
            last,
            length,
            evidence: LossEvidence::Unknown,
        });
    }
}

/// Observations that the library's events and the application share.
#[derive(Clone, Debug)]
pub struct Shared(Arc<Mutex<Observed>>);

impl Shared {
    /// Shares observations.
    pub fn new(observed: Observed) -> Shared {
        Shared(Arc::new(Mutex::new(observed)))
    }

    /// Calls `work` with the observations.
    pub fn with<T>(&self, work: impl FnOnce(&mut Observed) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Subscriber for Shared {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _meta: &ConnectionMeta, _info: &ConnectionInfo) {}

    fn on_packet_sent(&mut self, (): &mut (), _meta: &ConnectionMeta, event: &PacketSent) {
        self.with(|seen| {
            seen.sent_packets += 1;
            seen.log(
                PacketEventKind::Sent,
                &event.packet_header,
                None,
                event.packet_len as u32,
            );
        });
    }

    fn on_packet_received(&mut self, (): &mut (), _meta: &ConnectionMeta, event: &PacketReceived) {
        let length = event.packet_len as u32;
        self.with(|seen| seen.log(PacketEventKind::Received, &event.packet_header, None, length));
    }

    fn on_ack_range_received(&mut self, (): &mut (), _meta: &ConnectionMeta, event: &AckRangeReceived<'_>) {
        let range = (*event.ack_range.start(), *event.ack_range.end());
        self.with(|seen| seen.log(PacketEventKind::Acknowledged, &event.packet_header, Some(range), 0));
    }

    fn on_packet_lost(&mut self, (): &mut (), _meta: &ConnectionMeta, event: &PacketLost<'_>) {
        self.with(|seen| {
            seen.lost_packets += 1;
            seen.lost_bytes += u64::from(event.bytes_lost);
            seen.log(
                PacketEventKind::Lost,
                &event.packet_header,
                None,
                event.bytes_lost.into(),
            );
        });
    }

    fn on_recovery_metrics(&mut self, (): &mut (), _meta: &ConnectionMeta, event: &RecoveryMetrics<'_>) {
        self.with(|seen| {
            let cwnd = u64::from(event.congestion_window);
            seen.reductions.observe(cwnd, seen.lost_packets);
            seen.cwnd = Some(cwnd);
            // Before the first sample, the minimum is absent, that is 0.
            seen.rtt = (!event.min_rtt.is_zero()).then_some((event.smoothed_rtt, event.min_rtt));
            seen.timeouts += u64::from(event.pto_count.saturating_sub(seen.pto_count));
            seen.pto_count = event.pto_count;
        });
    }

    fn on_mtu_updated(&mut self, (): &mut (), _meta: &ConnectionMeta, event: &MtuUpdated) {
        self.with(|seen| seen.mtu = Some(event.mtu));
    }
}
