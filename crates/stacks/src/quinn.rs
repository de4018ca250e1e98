//! quinn-proto: CUBIC, NewReno and BBRv1.

use quinn_proto as proto;

#[path = "quic/application.rs"]
mod application;
#[path = "quinn_controls.rs"]
mod controls;
#[path = "quic/end.rs"]
mod end;
#[path = "quic/transport.rs"]
mod transport;

pub use end::create;

mod null {
    use super::proto;
    use std::sync::Arc;

    crate::null::null_crypto!(id: &ConnectionId, path: [], start: [self: Arc<Self>]);
}

/// Functions whose implementation differs from noq's.
mod adapter {
    use super::proto::*;
    use crate::packet_log::PacketLog;
    use crate::settings::Settings;
    use crate::stats::{measured, Reductions, Stats};
    use bytes::{Bytes, BytesMut};
    use longpipe_end::{Setup, NEVER};
    use std::net::SocketAddr;
    use std::sync::Arc;
    use std::time::Instant;

    /// Lets a connection write its packets to a log.
    pub fn log_packets(transport: &mut TransportConfig, log: &PacketLog) {
        let mut config = QlogConfig::default();
        // quinn compares the times in the wrong order, so that the threshold is never the time threshold.
        config.writer(log.writer(false));
        transport.qlog_stream(config.into_stream());
    }

    pub fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
        Endpoint::new(config, server, true, None)
    }

    pub fn handle(
        endpoint: &mut Endpoint,
        at: Instant,
        own: SocketAddr,
        peer: SocketAddr,
        ecn: Option<EcnCodepoint>,
        data: BytesMut,
        buffer: &mut Vec<u8>,
    ) -> Option<DatagramEvent> {
        endpoint.handle(at, peer, Some(own.ip()), ecn, data, buffer)
    }

    pub fn poll_transmit(connection: &mut Connection, at: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        connection.poll_transmit(at, 1, buffer)
    }

    /// Writes data to a stream. Returns the number of bytes written; None if the stream accepts none.
    pub fn write(connection: &mut Connection, id: StreamId, data: Bytes) -> Option<usize> {
        connection
            .send_stream(id)
            .write_chunks(&mut [data])
            .ok()
            .map(|written| written.bytes)
    }

    /// The only path of a connection.
    #[derive(Default)]
    pub struct Paths {
        reductions: Reductions,
    }

    impl Paths {
        pub fn new(_: &Settings<'_>, _: &Setup<'_>) -> Result<Paths, String> {
            Ok(Paths::default())
        }

        pub fn configure(&self, _: &mut TransportConfig, _: &Settings<'_>, _: u64) {}

        pub fn due(&self) -> u64 {
            NEVER
        }

        pub fn act(&mut self, _: &mut Connection, _: Instant, _: u64) -> bool {
            false
        }

        pub fn on_event(&mut self, _: &Event, _: &mut Connection, _: u64) {}

        /// Observes the congestion window.
        pub fn observe(&mut self, connection: &mut Connection) {
            let path = connection.stats().path;
            self.reductions.observe(path.cwnd, path.congestion_events);
        }

        pub fn report(&self, _: &mut Connection) -> Vec<(String, f64)> {
            Vec::new()
        }

        pub fn stats(&self, connection: &mut Connection) -> Stats {
            let stats = connection.stats();
            Stats {
                cwnd: stats.path.cwnd,
                rtt: measured(stats.path.rtt),
                min_rtt: measured(stats.path.min_rtt),
                sent_packets: stats.path.sent_packets,
                lost_packets: stats.path.lost_packets,
                lost_bytes: stats.path.lost_bytes,
                reductions: self.reductions.count,
                datagrams: stats.udp_tx.datagrams,
                sent_bytes: stats.udp_tx.bytes,
                mtu: stats.path.current_mtu,
            }
        }
    }

    /// Returns the slow-start threshold [byte] and the pacing rate [bit/s], if the controller reports them.
    pub fn metrics(connection: &Connection) -> (Option<u64>, Option<u64>) {
        let metrics = connection.congestion_state().metrics();
        (metrics.ssthresh.filter(|bytes| *bytes < u64::MAX), metrics.pacing_rate)
    }
}
