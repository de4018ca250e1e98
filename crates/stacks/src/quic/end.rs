//! One end of a connection: the stack's endpoint, its connection, and the application. This module is compiled for each
//! stack: `proto` is the stack's crate, and `adapter` contains the functions that differ between stacks.

use super::application::Application;
use super::controls::CONTROLS;
use super::proto::{self, Connection, ConnectionHandle, DatagramEvent, Endpoint, Event};
use super::transport::transport;
use super::{adapter, null};
use crate::certificate;
use crate::packet_log::PacketLog;
use crate::sessions::{self, Sessions};
use crate::settings::Settings;
use crate::stats::picoseconds;
use bytes::BytesMut;
use longpipe_end::adapter::Workload;
use longpipe_end::{Ecn, End, Outbox, PacketEvent, Report, Role, Setup, State, NEVER};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PS_PER_NS: u64 = 1_000;
/// Size of the memory for received datagrams [byte], some 40 full ones.
const RECEIVED_BYTES: usize = 1 << 16;

/// Handle of the only connection of an end.
type Open = (ConnectionHandle, Connection);

/// Creates an end point of a connection.
///
/// # Errors
/// Returns an error that names the setting if a setting is invalid.
pub fn create(setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
    let settings = Settings::read(setup, &CONTROLS)?;
    Ok(Box::new(Quic::new(&settings, setup)?))
}

/// One end of a connection.
struct Quic {
    seed: u64,
    start_ps: u64,
    /// `Instant` that corresponds to time zero of the run.
    zero: Instant,
    endpoint: Endpoint,
    /// Configuration of a client that has not connected yet.
    client: Option<proto::ClientConfig>,
    open: Option<Open>,
    paths: adapter::Paths,
    application: Application,
    /// Stateless responses of the endpoint, each with its path and its ECN bits.
    stateless: Vec<(Vec<u8>, u8, Ecn)>,
    buffer: Vec<u8>,
    /// Memory for received datagrams. Each takes a part of it, because an allocation for each would take longer.
    received: BytesMut,
    /// Packets of the connection, if the run reads them.
    log: Option<PacketLog>,
    handshake_ps: Option<u64>,
    closed: Option<(u64, String)>,
}

/// Returns a fixed address for an end of a path, because packets in a simulation have no addresses.
pub(super) fn address(client: bool, path: u8) -> SocketAddr {
    let (last, port) = if client { (1, 40_000) } else { (2, 443) };
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2 * path + last)), port)
}

/// Returns the path whose address a datagram is sent to.
fn path_to(destination: SocketAddr) -> u8 {
    match destination.ip() {
        IpAddr::V4(ip) => (ip.octets()[3] - 1) / 2,
        IpAddr::V6(_) => 0,
    }
}

/// Datagrams of an end, each with its ECN bits.
#[derive(Default)]
struct Flight(Vec<(Vec<u8>, Ecn)>);

impl Outbox for Flight {
    fn send_on(&mut self, _: u8, payload: &[u8], ecn: Ecn) {
        self.0.push((payload.to_vec(), ecn));
    }
}

impl Quic {
    fn new(settings: &Settings<'_>, setup: &Setup<'_>) -> Result<Quic, String> {
        let paths = adapter::Paths::new(settings, setup)?;
        let log = setup.logs_packets.then(PacketLog::default);
        let transport = configured(settings, setup, &paths, log.as_ref())?;
        let resumes = settings.early_data.then_some(Sessions::Resume);
        let connects = settings.connects(setup.role);
        let mut made = Quic::of(settings, setup, &transport, resumes, connects, paths)?;
        made.log = log;
        if let Some(client) = made.client.as_ref().filter(|_| settings.early_data) {
            obtain_session(
                client,
                settings,
                setup,
                &configured(settings, setup, &made.paths, None)?,
            )?;
        }
        Ok(made)
    }

    /// Returns an end, which is a client that connects, or a server.
    fn of(
        settings: &Settings<'_>,
        setup: &Setup<'_>,
        transport: &Arc<proto::TransportConfig>,
        sessions: Option<Sessions>,
        connects: bool,
        paths: adapter::Paths,
    ) -> Result<Quic, String> {
        let made = getrandom::seeded(setup.seed, || {
            endpoint(settings.tls, connects, transport, sessions, setup)
        });
        let (endpoint, client) = made.map_err(|problem| format!("TLS: {problem}"))?;
        Ok(Quic {
            seed: setup.seed,
            start_ps: setup.start_ps,
            zero: Instant::now(),
            endpoint,
            client,
            open: None,
            paths,
            application: Application::new(settings, setup)?,
            stateless: Vec::new(),
            buffer: Vec::new(),
            received: BytesMut::with_capacity(RECEIVED_BYTES),
            log: None,
            handshake_ps: None,
            closed: None,
        })
    }

    fn at(&self, ps: u64) -> Instant {
        self.zero + Duration::from_nanos(ps / PS_PER_NS)
    }

    fn is_client(&self) -> bool {
        match &self.open {
            Some((_, connection)) => connection.side().is_client(),
            None => self.client.is_some(),
        }
    }

    /// Opens the connection.
    fn connect(&mut self, now: u64) -> Result<(), String> {
        let Some(config) = self.client.take() else {
            return Ok(());
        };
        let (at, endpoint) = (self.at(now), &mut self.endpoint);
        let opened = getrandom::seeded(self.seed ^ 1, || {
            endpoint.connect(at, config, address(false, 0), certificate::NAME)
        });
        self.open = Some(opened.map_err(|error| format!("cannot connect: {error}"))?);
        // An application that sends early data writes before the first datagram leaves.
        self.apply(at, now);
        Ok(())
    }

    /// Sends all datagrams that the connection has to send now.
    fn transmit(&mut self, at: Instant, outbox: &mut dyn Outbox) {
        let Some((_, connection)) = &mut self.open else {
            return;
        };
        loop {
            self.buffer.clear();
            let Some(sent) = adapter::poll_transmit(connection, at, &mut self.buffer) else {
                return;
            };
            let path = path_to(sent.destination);
            outbox.send_on(path, &self.buffer[..sent.size], codepoint(sent.ecn));
        }
    }

    /// Lets expired timers act. Returns whether there was one.
    fn expire(&mut self, at: Instant) -> bool {
        let Some((_, connection)) = &mut self.open else {
            return false;
        };
        let expired = connection.poll_timeout().is_some_and(|due| due <= at);
        if expired {
            connection.handle_timeout(at);
            self.paths.observe(connection);
        }
        expired
    }

    /// Passes events between the connection and the endpoint. Returns whether the connection received any.
    fn exchange(&mut self) -> bool {
        let Some((handle, connection)) = &mut self.open else {
            return false;
        };
        let mut received = false;
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
                received = true;
            }
        }
        received
    }

    /// Passes events to the application, and lets it act. Returns whether there may be something to send afterwards.
    fn apply(&mut self, at: Instant, now: u64) -> bool {
        while let Some(event) = self.open.as_mut().and_then(|(_, connection)| connection.poll()) {
            self.on_event(event, now);
        }
        let Some((_, connection)) = &mut self.open else {
            return false;
        };
        let opens = self.paths.act(connection, at, now);
        self.application.act(connection, now) || opens
    }

    fn on_event(&mut self, event: Event, now: u64) {
        match &event {
            Event::Connected => {
                self.handshake_ps = Some(now);
                let refused = |(_, open): &Open| open.side().is_client() && open.has_0rtt() && !open.accepted_0rtt();
                if self.open.as_ref().is_some_and(refused) {
                    self.closed = Some((now, "the server rejected the early data".to_owned()));
                }
            }
            // A connection times out after its work is done; this is not an error.
            Event::ConnectionLost { reason } if !self.application.is_done() && self.closed.is_none() => {
                self.closed = Some((now, reason.to_string()));
            }
            _ => {}
        }
        if let Some((_, connection)) = &mut self.open {
            self.paths.on_event(&event, connection, now);
            self.application.take(&event, connection, now);
        }
    }

    fn set_log_time(&self, now: u64) {
        if let Some(log) = &self.log {
            log.set_time(now);
        }
    }

    fn answer(&mut self, sent: proto::Transmit) {
        let payload = self.buffer[..sent.size].to_vec();
        self.stateless
            .push((payload, path_to(sent.destination), codepoint(sent.ecn)));
    }
}

/// Returns the configuration of a connection that uses `paths` and writes its packets to `log`.
fn configured(
    settings: &Settings<'_>,
    setup: &Setup<'_>,
    paths: &adapter::Paths,
    log: Option<&PacketLog>,
) -> Result<Arc<proto::TransportConfig>, String> {
    let most_bytes = u16::try_from(setup.most_bytes).map_err(|_| "longest_packet: too large".to_owned())?;
    let mut transport = transport(settings.congestion, settings.window, most_bytes)?;
    paths.configure(&mut transport, settings, setup.seed);
    if let Some(log) = log {
        adapter::log_packets(&mut transport, log);
    }
    Ok(Arc::new(transport))
}

/// Connects to a server once before the run, without a path. The client's configuration then holds a session: copies of
/// the configuration share one session cache. Both ends of this connection use `transport`, which is not that of the
/// run, because a configuration counts the controllers that it has created.
fn obtain_session(
    client: &proto::ClientConfig,
    settings: &Settings<'_>,
    setup: &Setup<'_>,
    transport: &Arc<proto::TransportConfig>,
) -> Result<(), String> {
    let workload = Workload::Streams { count: 0 };
    let (settings, start_ps) = (Settings { workload, ..*settings }, 0);
    let of = |role: Role| {
        let setup = Setup {
            role,
            start_ps,
            paths: 1,
            ..*setup
        };
        let paths = adapter::Paths::new(&settings, &setup)?;
        let (issues, connects) = (Some(Sessions::Issue), role == Role::Sender);
        Quic::of(&settings, &setup, transport, issues, connects, paths)
    };
    let mut ends = [of(Role::Sender)?, of(Role::Receiver)?];
    let mut client = client.clone();
    client.transport_config(Arc::clone(transport));
    ends[0].client = Some(client);
    let mut is_quiet = false;
    while !is_quiet {
        is_quiet = true;
        for index in 0..2 {
            let mut flight = Flight::default();
            ends[index].wake(0, &mut flight)?;
            is_quiet &= flight.0.is_empty();
            for (payload, ecn) in flight.0 {
                ends[1 - index].receive(0, &payload, ecn)?;
            }
        }
    }
    Ok(())
}

/// Creates the endpoint, and a client's configuration.
fn endpoint(
    tls: bool,
    connects: bool,
    transport: &Arc<proto::TransportConfig>,
    sessions: Option<Sessions>,
    setup: &Setup<'_>,
) -> Result<(Endpoint, Option<proto::ClientConfig>), String> {
    let mut config = proto::EndpointConfig::default();
    config
        .max_udp_payload_size(setup.most_bytes as u16)
        .map_err(|error| error.to_string())?;
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&setup.seed.to_le_bytes());
    config.rng_seed(Some(bytes));
    let config = Arc::new(config);
    if connects {
        let mut client = if tls {
            let mut roots = rustls::RootCertStore::empty();
            roots
                .add(certificate::certificate())
                .map_err(|error| error.to_string())?;
            proto::ClientConfig::with_root_certificates(Arc::new(roots)).map_err(|error| error.to_string())?
        } else {
            proto::ClientConfig::new(Arc::new(null::Null))
        };
        client.transport_config(Arc::clone(transport));
        return Ok((adapter::endpoint(config, None), Some(client)));
    }
    let mut server = match sessions {
        Some(sessions) => {
            let tls = proto::crypto::rustls::QuicServerConfig::try_from(sessions::server(sessions)?);
            proto::ServerConfig::with_crypto(Arc::new(tls.map_err(|error| error.to_string())?))
        }
        None if tls => {
            let chain = vec![certificate::certificate()];
            proto::ServerConfig::with_single_cert(chain, certificate::key()).map_err(|error| error.to_string())?
        }
        None => proto::ServerConfig::with_crypto(Arc::new(null::Null)),
    };
    server.transport_config(Arc::clone(transport));
    Ok((adapter::endpoint(config, Some(Arc::new(server))), None))
}

fn codepoint(ecn: Option<proto::EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(proto::EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(proto::EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(proto::EcnCodepoint::Ce) => Ecn::Ce,
    }
}

impl End for Quic {
    fn due(&mut self) -> u64 {
        if self.client.is_some() {
            return self.start_ps;
        }
        let timeout = self.open.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let timeout_ps = timeout.map_or(NEVER, |at| picoseconds(at.saturating_duration_since(self.zero)));
        timeout_ps.min(self.paths.due()).min(self.application.due())
    }

    // The order is that of quinn's and noq's own drivers over sockets: a connection sends, then its timers act, then it
    // exchanges events with the endpoint, and the application acts last, because it is a task of its own there.
    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        self.set_log_time(now);
        if now >= self.start_ps {
            self.connect(now)?;
        }
        for (answer, path, ecn) in self.stateless.drain(..) {
            outbox.send_on(path, &answer, ecn);
        }
        let at = self.at(now);
        self.transmit(at, outbox);
        if self.expire(at) {
            self.transmit(at, outbox);
        }
        loop {
            // If timers expire at this time again, the end is woken again.
            if self.exchange() || self.apply(at, now) {
                self.transmit(at, outbox);
            } else {
                return Ok(());
            }
        }
    }

    fn receive(&mut self, now: u64, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        self.receive_on(now, 0, payload, ecn)
    }

    fn receive_on(&mut self, now: u64, path: u8, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        self.set_log_time(now);
        let ecn = proto::EcnCodepoint::from_bits(ecn as u8);
        let (at, client) = (self.at(now), self.is_client());
        let (own, peer) = (address(client, path), address(!client, path));
        self.buffer.clear();
        self.received.extend_from_slice(payload);
        let data = self.received.split();
        match adapter::handle(&mut self.endpoint, at, own, peer, ecn, data, &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((open_handle, connection)) = &mut self.open {
                    if *open_handle == handle {
                        connection.handle_event(event);
                        self.paths.observe(connection);
                    }
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let (endpoint, buffer) = (&mut self.endpoint, &mut self.buffer);
                let accepted = getrandom::seeded(self.seed ^ 1, || {
                    endpoint.accept(incoming, at, buffer, None).map_err(Box::new)
                });
                match accepted {
                    Ok(open) if self.open.is_none() => self.open = Some(open),
                    Ok(_) => return Err("a second connection arrived".to_owned()),
                    Err(error) => {
                        self.closed.get_or_insert((now, error.cause.to_string()));
                        if let Some(sent) = error.response {
                            self.answer(sent);
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(sent)) => self.answer(sent),
            None => {}
        }
        Ok(())
    }

    fn state(&mut self) -> State {
        let Some((_, connection)) = &mut self.open else {
            return State::default();
        };
        let stats = self.paths.stats(connection);
        let (ssthresh, pacing_bps) = adapter::metrics(connection);
        State {
            cwnd: Some(stats.cwnd),
            ssthresh,
            srtt_ps: stats.rtt.map(picoseconds),
            min_rtt_ps: stats.min_rtt.map(picoseconds),
            pacing_bps,
            sent_packets: stats.sent_packets,
            lost_packets: stats.lost_packets,
        }
    }

    fn packets(&mut self, events: &mut Vec<PacketEvent>) {
        if let Some(log) = &self.log {
            log.take(events);
        }
    }

    fn report(&mut self) -> Report {
        let mut report = Report {
            delivered_bytes: self.application.delivered,
            completed_ps: self.application.completed_ps,
            handshake_ps: self.handshake_ps,
            closed: self.closed.clone(),
            ..Report::default()
        };
        report.values.extend(self.application.values());
        let Some((_, connection)) = &mut self.open else {
            return report;
        };
        let stats = self.paths.stats(connection);
        report.sent_packets = stats.sent_packets;
        report.sent_bytes = stats.sent_bytes;
        report.lost_packets = stats.lost_packets;
        report.lost_bytes = stats.lost_bytes;
        report.congestion_events = stats.reductions;
        for (name, value) in [
            ("cwnd_bytes", stats.cwnd as f64),
            ("srtt_s", stats.rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64())),
            ("min_rtt_s", stats.min_rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64())),
            ("mtu_bytes", f64::from(stats.mtu)),
            ("datagrams", stats.datagrams as f64),
        ] {
            report.values.push((name.to_owned(), value));
        }
        report.values.extend(self.paths.report(connection));
        report
    }
}
