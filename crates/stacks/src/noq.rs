//! noq-proto: CUBIC, NewReno and BBRv3.

use noq_proto as proto;

#[path = "quic/application.rs"]
mod application;
#[path = "noq_controls.rs"]
mod controls;
#[path = "quic/end.rs"]
mod end;
mod paths;
#[path = "quic/transport.rs"]
mod transport;

pub use end::create;

mod null {
    use super::proto;
    use super::proto::PathId;

    crate::null::null_crypto!(id: ConnectionId, path: [path: PathId,], start: [&self]);
}

/// Functions whose implementation differs from quinn's.
mod adapter {
    pub use super::paths::Paths;
    use super::proto::*;
    use crate::packet_log::PacketLog;
    use bytes::{Bytes, BytesMut};
    use std::net::SocketAddr;
    use std::num::NonZeroUsize;
    use std::sync::Arc;
    use std::time::Instant;

    struct Factory(PacketLog);

    impl QlogFactory for Factory {
        fn for_connection(&self, _: Side, _: SocketAddr, _: ConnectionId, _: Instant) -> Option<QlogConfig> {
            Some(QlogConfig::new(self.0.writer(true)))
        }
    }

    /// Lets a connection write its packets to a log.
    pub fn log_packets(transport: &mut TransportConfig, log: &PacketLog) {
        transport.qlog_factory(Arc::new(Factory(log.clone())));
    }

    pub fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
        Endpoint::new(config, server, true)
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
        endpoint.handle(at, FourTuple::new(peer, Some(own.ip())), ecn, data, buffer)
    }

    pub fn poll_transmit(connection: &mut Connection, at: Instant, buffer: &mut Vec<u8>) -> Option<Transmit> {
        connection.poll_transmit(at, NonZeroUsize::MIN, buffer)
    }

    /// Writes data to a stream. Returns the number of bytes written; None if the stream accepts none.
    pub fn write(connection: &mut Connection, id: StreamId, data: Bytes) -> Option<usize> {
        connection.send_stream(id).write_chunks(&mut &mut [data][..]).ok()
    }

    /// Returns the slow-start threshold [byte] and the pacing rate [bit/s], if the controller reports them.
    pub fn metrics(connection: &Connection) -> (Option<u64>, Option<u64>) {
        let Some(state) = connection.congestion_state(PathId::ZERO) else {
            return (None, None);
        };
        let metrics = state.metrics();
        // noq reports the pacing rate in byte/s, whereas quinn reports it in bit/s.
        let pacing_bps = metrics.pacing_rate.map(|rate| rate.saturating_mul(8));
        (metrics.ssthresh.filter(|bytes| *bytes < u64::MAX), pacing_bps)
    }
}
