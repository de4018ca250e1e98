//! s2n-quic as an end of flows: a shared object for `traffic.file`.
//!
//! The library's providers supply the time, the random numbers and the datagrams: [`endpoint`] runs the library's
//! endpoint in place of its event loop, and [`application`] is polled by the same thread.

mod application;
mod endpoint;
mod observed;
mod random;

use application::Work;
use endpoint::{Datagram, Driver, Provider};
use longpipe_end::adapter::{Settings, WebExchange};
use longpipe_end::export::Stacks;
use longpipe_end::{Ecn, End, Outbox, PacketEvent, Report, Setup, State, NEVER};
use observed::{Observed, Shared};
use random::Random;
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls;
use s2n_quic::provider::{congestion_controller, StartError};
use s2n_quic::{Client, Server};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

/// Names of the congestion controls; the first one is the default.
const CONTROLS: [&str; 2] = ["cubic", "bbr"];
/// Number of streams that the library permits by default.
const MOST_STREAMS: u64 = 100;
const MOST_BYTES: u32 = 65_507;
/// Name in the certificate of the other stacks.
const SERVER_NAME: &str = "longpipe.test";
const PROTOCOL: [&[u8]; 1] = [b"longpipe"];

/// The stacks of this object.
#[derive(Debug)]
pub struct S2nQuic;

impl Stacks for S2nQuic {
    fn create(stack: &str, setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
        if stack != "s2n-quic" {
            return Err(format!("stack: {stack}; needs s2n-quic"));
        }
        Ok(Box::new(Side::new(setup)?))
    }
}

longpipe_end::export!(S2nQuic, c"s2n-quic 1.91.0");

/// One end of a connection.
struct Side {
    start_ps: u64,
    /// Whether this end opens the connection, so that its application runs only from `start_ps` on.
    connects: bool,
    driver: Box<dyn Driver>,
    work: Pin<Box<Work>>,
    /// Set when `work` can proceed.
    woken: Arc<Flag>,
    observed: Shared,
    received: Vec<Datagram>,
    sent: Vec<Datagram>,
    datagrams: u64,
    sent_bytes: u64,
    started: bool,
}

/// A flag as the waker of the application.
#[derive(Debug, Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn line(error: impl std::fmt::Display) -> String {
    format!("s2n-quic: {error}")
}

/// Returns the limits of the library, which permit the streams of the application, with the windows of the setting `window`, if there is one.
fn limits(settings: &Settings) -> Result<Limits, String> {
    let mut limits = Limits::default();
    if settings.workload.streams() > MOST_STREAMS {
        let streams = settings.workload.streams();
        limits = limits
            .with_max_open_local_unidirectional_streams(streams)
            .and_then(|limits| limits.with_max_open_remote_unidirectional_streams(streams))
            .map_err(|error| format!("streams: {streams}; {error}"))?;
    }
    let Some(window) = settings.window else {
        return Ok(limits);
    };
    let buffer = u32::try_from(window).map_err(|_| format!("window: {window}; needs at most 4294967295 bytes"))?;
    let set = || {
        limits
            .with_data_window(window)?
            .with_bidirectional_local_data_window(window)?
            .with_bidirectional_remote_data_window(window)?
            .with_unidirectional_data_window(window)?
            .with_max_send_buffer_size(buffer)
    };
    set().map_err(|error| format!("window: {window}; {error}"))
}

impl Side {
    fn new(setup: &Setup<'_>) -> Result<Side, String> {
        let settings = Settings::read(setup, &CONTROLS, &[], MOST_BYTES)?;
        let connects = settings.connects();
        let observed = Shared::new(Observed::new(
            &settings,
            WebExchange::read(setup)?,
            setup.start_ps,
            setup.logs_packets,
        ));
        let slot = Arc::new(Mutex::new(None));
        let provider = Provider::new(connects, setup.most_bytes, slot.clone());
        let random = Random::new(setup.seed);
        let limits = limits(&settings)?;
        // The controls have different types, of which the builders' types depend.
        let work = match settings.congestion {
            "bbr" => {
                let control = congestion_controller::Bbr::default();
                start(connects, provider, random, limits, control, &observed, settings)
            }
            _ => {
                let control = congestion_controller::Cubic::default();
                start(connects, provider, random, limits, control, &observed, settings)
            }
        };
        let work = work.map_err(line)?;
        let driver = slot.lock().ok().and_then(|mut slot| slot.take());
        Ok(Side {
            start_ps: setup.start_ps,
            connects,
            driver: driver.ok_or("s2n-quic: no endpoint was started")?,
            work,
            woken: Arc::new(Flag(AtomicBool::new(true))),
            observed,
            received: Vec::new(),
            sent: Vec::new(),
            datagrams: 0,
            sent_bytes: 0,
            started: false,
        })
    }
}

/// Starts an endpoint, which `provider` takes, and returns its application.
fn start(
    connects: bool,
    provider: Provider,
    random: Random,
    limits: Limits,
    control: impl congestion_controller::Endpoint,
    observed: &Shared,
    settings: Settings,
) -> Result<Pin<Box<Work>>, Box<dyn std::error::Error + Send + Sync>> {
    let certificate = include_bytes!("../../../../crates/stacks/certificate/certificate.der").to_vec();
    if connects {
        let tls = rustls::Client::builder()
            .with_certificate(vec![certificate])?
            .with_application_protocols(PROTOCOL.iter())?
            .build()?;
        let client = Client::builder()
            .with_tls(tls)?
            .with_io(provider)?
            .with_connection_id(random.clone())?
            .with_stateless_reset_token(random::Provider(random.clone()))?
            .with_random(random::Provider(random))?
            .with_limits(limits)?
            .with_congestion_controller(control)?
            .with_event(observed.clone())?
            .start()
            .map_err(problem)?;
        return Ok(Box::pin(application::run_client(client, observed.clone(), settings)));
    }
    let key = include_bytes!("../../../../crates/stacks/certificate/key.der").to_vec();
    let tls = rustls::Server::builder()
        .with_certificate(vec![certificate], key)?
        .with_application_protocols(PROTOCOL.iter())?
        .build()?;
    let server = Server::builder()
        .with_tls(tls)?
        .with_io(provider)?
        .with_connection_id(random.clone())?
        .with_stateless_reset_token(random::Provider(random.clone()))?
        .with_random(random::Provider(random))?
        .with_limits(limits)?
        .with_congestion_controller(control)?
        .with_event(observed.clone())?
        .start()
        .map_err(problem)?;
    Ok(Box::pin(application::run_server(server, observed.clone(), settings)))
}

fn problem(error: StartError) -> String {
    error.to_string()
}

impl End for Side {
    fn due(&mut self) -> u64 {
        if self.connects && !self.started {
            return self.start_ps;
        }
        self.driver.due().min(self.observed.with(|observed| observed.timer_ps))
    }

    fn wake(&mut self, now: u64, outbox: &mut dyn Outbox) -> Result<(), String> {
        if self.connects && now < self.start_ps {
            return Ok(());
        }
        self.started = true;
        let is_due = self.observed.with(|observed| {
            observed.now_ps = now;
            observed.timer_ps <= now
        });
        self.woken.0.fetch_or(is_due, Ordering::Relaxed);
        let waker = Waker::from(self.woken.clone());
        let mut more = true;
        while more {
            more = self.driver.work(now, &mut self.received, &mut self.sent);
            if self.woken.0.swap(false, Ordering::Relaxed) {
                more = true;
                self.observed.with(|observed| observed.timer_ps = NEVER);
                // The application ends only with the run.
                let _ = self.work.as_mut().poll(&mut Context::from_waker(&waker));
            }
        }
        for datagram in self.sent.drain(..) {
            outbox.send(&datagram.payload, datagram.ecn);
            self.datagrams += 1;
            self.sent_bytes += datagram.payload.len() as u64;
        }
        Ok(())
    }

    fn receive(&mut self, _now: u64, payload: &[u8], ecn: Ecn) -> Result<(), String> {
        self.received.push(Datagram {
            payload: payload.to_vec(),
            ecn,
        });
        Ok(())
    }

    fn state(&mut self) -> State {
        self.observed.with(|observed| observed.state())
    }

    fn packets(&mut self, events: &mut Vec<PacketEvent>) {
        self.observed.with(|observed| events.append(&mut observed.packets));
    }

    fn report(&mut self) -> Report {
        let mut report = self.observed.with(|observed| observed.report());
        report.sent_bytes = self.sent_bytes;
        report.values.push(("datagrams".to_owned(), self.datagrams as f64));
        report
    }
}

/// Returns a time of the run [ps] for a duration, or [`NEVER`].
fn picoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).map_or(NEVER, |ns| ns.saturating_mul(1000))
}
