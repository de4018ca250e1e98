//! quiche as an end of flows: a shared object for `traffic.file`.

mod application;
mod http;
mod system;

use application::Application;
use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod, SslSignatureAlgorithm, SslVerifyMode};
use boring::x509::X509;
use longpipe_end::adapter::{Reductions, Settings, SplitMix64, Workload, EARLY_DATA, HTTP3, OF_DATAGRAMS};
use longpipe_end::export::Stacks;
use longpipe_end::{Ecn, End, Outbox, Report, Role, Setup, State, NEVER};
use quiche::{Config, Connection, ConnectionId, RecvInfo};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

const PS_PER_NS: u64 = 1_000;
/// Names of the congestion controls; the first one is the default.
const CONTROLS: [&str; 3] = ["cubic", "reno", "bbr2_gcongestion"];
const MOST_BYTES: u32 = 65_527;
/// Flow-control window without the setting `window` [byte], because the library's defaults are 0.
const WINDOW_BYTES: u64 = 16 << 20;
/// Idle timeout of quiche's example programs [ms].
const IDLE_TIMEOUT_MS: u64 = 30_000;
const ID_BYTES: usize = 16;
/// Key with which servers encrypt the tickets of sessions, so that another one can resume them.
const TICKET_KEY: [u8; 48] = [0; 48];
/// Datagrams that a connection queues in each direction.
const QUEUED_DATAGRAMS: usize = 1 << 16;
const MOST_STREAMS: u64 = 100;
/// Flights of each end of a connection before the run, at least those of the handshake and the ticket.
const FLIGHTS_BEFORE_RUN: usize = 4;

/// The stacks of this object.
#[derive(Debug)]
pub struct Quiche;

impl Stacks for Quiche {
    fn create(stack: &str, setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
        if stack != "quiche" {
            return Err(format!("stack: {stack}; needs quiche"));
        }
        Ok(Box::new(Side::new(setup)?))
    }
}

longpipe_end::export!(Quiche, c"quiche 0.30.0");

/// One end of a connection.
struct Side {
    random: SplitMix64,
    start_ps: u64,
    connects: bool,
    /// `Instant` of time zero of the run.
    zero: Instant,
    config: Config,
    /// Session that a client resumes.
    session: Option<Vec<u8>>,
    connection: Option<Connection>,
    application: Application,
    /// Datagrams that quiche has paced, with their release times [ps].
    paced: VecDeque<(u64, Vec<u8>)>,
    /// Time before which quiche's BBR wants to send no packet.
    release: Option<Instant>,
    buffer: Vec<u8>,
    handshake_ps: Option<u64>,
    closed: Option<(u64, String)>,
    datagrams: u64,
    sent_bytes: u64,
    reductions: Reductions,
}

// SAFETY: all calls for one end come from one thread, one after another.
unsafe impl Send for Side {}

fn address(client: bool) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, if client { 1 } else { 2 })), 443)
}

fn line(error: impl std::fmt::Display) -> String {
    format!("quiche: {error}")
}

/// Returns the configuration of TLS. Signatures with Ed25519 have a constant length.
fn tls() -> Result<SslContextBuilder, boring::error::ErrorStack> {
    let mut builder = SslContextBuilder::new(SslMethod::tls())?;
    builder.set_verify(SslVerifyMode::NONE);
    builder.set_verify_algorithm_prefs(&[SslSignatureAlgorithm::ED25519])?;
    let certificate = X509::from_der(include_bytes!("../../../../crates/stacks/certificate/certificate.der"))?;
    let key = PKey::private_key_from_pkcs8(include_bytes!("../../../../crates/stacks/certificate/key.der"))?;
    builder.set_certificate(&certificate)?;
    builder.set_private_key(&key)?;
    Ok(builder)
}

impl Side {
    fn new(setup: &Setup<'_>) -> Result<Side, String> {
        let own = [OF_DATAGRAMS.as_slice(), &[EARLY_DATA, HTTP3]].concat();
        let settings = Settings::read(setup, &CONTROLS, &own, MOST_BYTES)?;
        let mut side = Side::of(setup, &settings)?;
        if settings.early_data && side.connects {
            side.session = Some(session(setup, &settings)?);
        }
        Ok(side)
    }

    /// Returns an end that has no session.
    fn of(setup: &Setup<'_>, settings: &Settings) -> Result<Side, String> {
        let window = settings.window.unwrap_or(WINDOW_BYTES);
        let mut random = SplitMix64(setup.seed);
        let made = system::at(0, &mut random, || -> Result<(Config, Instant), String> {
            let mut config =
                Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls().map_err(line)?).map_err(line)?;
            config.verify_peer(false);
            let protocols = [b"longpipe".as_slice()];
            let protocols = if settings.http3 {
                quiche::h3::APPLICATION_PROTOCOL
            } else {
                &protocols
            };
            config.set_application_protos(protocols).map_err(line)?;
            config.set_max_idle_timeout(IDLE_TIMEOUT_MS);
            config.set_max_recv_udp_payload_size(setup.most_bytes as usize);
            config.set_max_send_udp_payload_size(setup.most_bytes as usize);
            config.discover_pmtu(true);
            config.set_initial_max_data(window);
            config.set_initial_max_stream_data_uni(window);
            config.set_initial_max_stream_data_bidi_local(window);
            config.set_initial_max_stream_data_bidi_remote(window);
            config.set_max_connection_window(window);
            config.set_max_stream_window(window);
            config.set_initial_max_streams_uni(settings.workload.streams().max(MOST_STREAMS));
            config.set_initial_max_streams_bidi(MOST_STREAMS);
            if matches!(settings.workload, Workload::Datagrams { .. }) {
                config.enable_dgram(true, QUEUED_DATAGRAMS, QUEUED_DATAGRAMS);
            }
            if settings.early_data {
                config.enable_early_data();
                config.set_ticket_key(&TICKET_KEY).map_err(line)?;
            }
            config.set_cc_algorithm_name(settings.congestion).map_err(line)?;
            Ok((config, Instant::now()))
        });
        let (config, zero) = made?;
        Ok(Side {
            random,
            start_ps: setup.start_ps,
            connects: settings.connects(),
            zero,
            config,
            session: None,
            connection: None,
            application: Application::new(settings, setup)?,
            paced: VecDeque::new(),
            release: None,
            buffer: vec![0; 65_536],
            handshake_ps: None,
            closed: None,
            datagrams: 0,
            sent_bytes: 0,
            reductions: Reductions::default(),
        })
    }

    /// Runs `work` at `now` [ps] with this end's random numbers.
    fn within<T>(&mut self, now: u64, work: impl FnOnce(&mut Side) -> T) -> T {
        let mut random = self.random;
        let result = system::at(now / PS_PER_NS, &mut random, || work(self));
        self.random = random;
        result
    }

    /// Returns the time of an instant [ps].
    fn picoseconds(&self, instant: Instant) -> u64 {
        let ns = instant.saturating_duration_since(self.zero).as_nanos();
        u64::try_from(ns).map_or(NEVER, |ns| ns.saturating_mul(PS_PER_NS))
    }

    fn observe(&mut self) {
        if let Some(path) = self.connection.as_ref().and_then(|open| open.path_stats().next()) {
            self.reductions.observe(path.cwnd as u64, path.lost as u64);
        }
    }

    fn id() -> ConnectionId<'static> {
        let mut bytes = vec![0; ID_BYTES];
        system::fill(&mut bytes);
        ConnectionId::from_vec(bytes)
    }

    /// Lets the application act, and takes the datagrams that the connection sends.
    fn act(&mut self, now: u64) {
        let Some(open) = &mut self.connection else {
            return;
        };
        if open.is_established() {
            self.handshake_ps.get_or_insert(now);
        }
        if open.is_established() || open.is_in_early_data() {
            if let Err(error) = self.application.act(open, now, self.connects) {
                self.closed.get_or_insert((now, error));
            }
        }
        let mut taken = Vec::new();
        let instant = self.zero + Duration::from_nanos(now / PS_PER_NS);
        loop {
            // BBR takes the time of this call as that at which a packet leaves, so packets must not be taken earlier.
            self.release = open.get_next_release_time().and_then(|next| next.time(instant));
            if self.release.is_some() {
                break;
            }
            let Ok((bytes, info)) = open.send(&mut self.buffer) else {
                break;
            };
            taken.push((info.at, self.buffer[..bytes].to_vec()));
        }
        for (release, payload) in taken {
            let at = self.picoseconds(release).max(now);
            let after = self.paced.back().map_or(at, |(latest, _)| at.max(*latest));
            self.paced.push_back((after, payload));
        }
        if self.connection.as_ref().is_some_and(Connection::is_closed)
            && !self.application.is_done()
            && self.closed.is_none()
        {
            self.closed = Some((now, self.reason()));
        }
    }

    /// Opens the connection, which resumes a session if there is one.
    fn connect(&mut self, now: u64) -> Result<(), String> {
        let opened = self.within(now, |side| {
            let (name, id) = (Some("longpipe.test"), Side::id());
            let mut open = quiche::connect(name, &id, address(true), address(false), &mut side.config)?;
            side.session
                .take()
                .map_or(Ok(()), |session| open.set_session(&session))?;
            Ok::<_, quiche::Error>(open)
        });
        self.connection = Some(opened.map_err(line)?);
        Ok(())
    }

    /// Returns why the connection ended.
    fn reason(&self) -> String {
        let Some(open) = &self.connection else {
            return "closed".to_owned();
        };
        if open.is_timed_out() {
            return "timed out".to_owned();
        }
        let error = open.local_error().or(open.peer_error());
        error.map_or("closed".to_owned(), |error| format!("error {}", error.error_code))
    }
}

/// Datagrams that an end sends before the run.
#[derive(Default)]
struct Flight(Vec<Vec<u8>>);

impl Outbox for Flight {
    fn send_on(&mut self, _: u8, payload: &[u8], _: Ecn) {
        self.0.push(payload.to_vec());
    }
}

/// Connects to a server once before the run, without a path, and returns the session that the server issues.
fn session(setup: &Setup<'_>, settings: &Settings) -> Result<Vec<u8>, String> {
    let settings = Settings {
        workload: Workload::Streams { count: 0 },
        ..*settings
    };
    let of = |role: Role| {
        let setup = Setup {
            role,
            start_ps: 0,
            ..*setup
        };
        Side::of(&setup, &Settings { role, ..settings })
    };
    let mut ends = [of(Role::Sender)?, of(Role::Receiver)?];
    for _ in 0..FLIGHTS_BEFORE_RUN {
        for index in 0..2 {
            let mut flight = Flight::default();
            ends[index].wake(0, &mut flight)?;
            for payload in flight.0 {
                ends[1 - index].receive(0, &payload, Ecn::NotEct)?;
            }
        }
    }
    let session = ends[0].connection.as_ref().and_then(|open| open.session());
    session
        .map(<[u8]>::to_vec)
        .ok_or_else(|| "quiche: no session".to_owned())
}

impl End for Side {
    fn due(&mut self) -> u64 {
        let Some(open) = &self.connection else {
            return if self.connects { self.start_ps } else { NEVER };
        };
        let times = [open.timeout_instant(), self.release];
        let first = times.into_iter().flatten().map(|at| self.picoseconds(at)).min();
        let paced = self.paced.front().map(|(release, _)| *release);
        let datagram = self.application.due();
        first.into_iter().chain(paced).chain(datagram).min().unwrap_or(NEVER)
    }

    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        if self.connection.is_none() && self.connects && now >= self.start_ps {
            self.connect(now)?;
        }
        self.within(now, |side| {
            let timeout = side.connection.as_ref().and_then(Connection::timeout_instant);
            if timeout.is_some_and(|at| side.picoseconds(at) <= now) {
                side.connection.as_mut().map(Connection::on_timeout);
                side.observe();
            }
            side.act(now);
            // A client is in early data once its first packet was written.
            if side.connection.as_ref().is_some_and(Connection::is_in_early_data) {
                side.act(now);
            }
            side.observe();
        });
        while let Some((_, payload)) = self.paced.pop_front_if(|(release, _)| *release <= now) {
            outbox.send(&payload, Ecn::NotEct);
            self.datagrams += 1;
            self.sent_bytes += payload.len() as u64;
        }
        Ok(())
    }

    fn receive(&mut self, now: u64, payload: &[u8], _ecn: Ecn) -> Result<(), String> {
        let (own, peer) = (address(self.connects), address(!self.connects));
        if self.connection.is_none() {
            if self.connects {
                return Ok(());
            }
            let opened = self.within(now, |side| {
                quiche::accept(&Side::id(), None, own, peer, &mut side.config)
            });
            self.connection = Some(opened.map_err(line)?);
        }
        self.within(now, |side| {
            let mut bytes = payload.to_vec();
            if let Some(open) = &mut side.connection {
                // A packet that cannot be processed closes the connection, or is ignored.
                let _ = open.recv(&mut bytes, RecvInfo { from: peer, to: own });
            }
            side.observe();
        });
        Ok(())
    }

    fn state(&mut self) -> State {
        let Some(path) = self.connection.as_ref().and_then(|open| open.path_stats().next()) else {
            return State::default();
        };
        let measured = path.min_rtt.is_some();
        State {
            cwnd: Some(path.cwnd as u64),
            srtt_ps: measured.then(|| picoseconds(path.rtt)),
            min_rtt_ps: path.min_rtt.map(picoseconds),
            sent_packets: path.sent as u64,
            lost_packets: path.lost as u64,
            ..State::default()
        }
    }

    fn report(&mut self) -> Report {
        let mut report = Report {
            delivered_bytes: self.application.delivered,
            completed_ps: self.application.completed_ps,
            handshake_ps: self.handshake_ps,
            closed: self.closed.clone(),
            sent_bytes: self.sent_bytes,
            congestion_events: self.reductions.count,
            values: self.application.values(),
            ..Report::default()
        };
        let Some(path) = self.connection.as_ref().and_then(|open| open.path_stats().next()) else {
            return report;
        };
        report.sent_packets = path.sent as u64;
        report.lost_packets = path.lost as u64;
        report.lost_bytes = self.connection.as_ref().map_or(0, |open| open.stats().lost_bytes);
        for (name, value) in [
            ("cwnd_bytes", path.cwnd as f64),
            ("srtt_s", path.min_rtt.map_or(f64::NAN, |_| path.rtt.as_secs_f64())),
            ("min_rtt_s", path.min_rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64())),
            ("mtu_bytes", path.pmtu as f64),
            ("datagrams", self.datagrams as f64),
            ("timeouts", path.total_pto_count as f64),
        ] {
            report.values.push((name.to_owned(), value));
        }
        report
    }
}

fn picoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).map_or(NEVER, |ns| ns.saturating_mul(PS_PER_NS))
}
