//! Paths of a connection: the multipath extension of QUIC (draft-ietf-quic-multipath-21), as noq implements it.

use super::controls;
use super::end::address;
use super::proto::congestion::{Controller, ControllerFactory};
use super::proto::{Connection, Event, FourTuple, PathEvent, PathId, PathStats, PathStatus, TransportConfig};
use crate::settings::Settings;
use crate::stats::{measured, picoseconds, Reductions, Stats};
use longpipe_end::{path_prefix, Setup, NEVER};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of paths of a connection.
const MAX_PATHS: u8 = 8;
/// Number of PINGs per idle timeout.
const PINGS: u64 = 3;

/// A path of a connection. Its number determines its addresses; the connection assigns an identifier when the path is
/// opened.
#[derive(Debug, Default)]
struct Path {
    status: PathStatus,
    id: Option<PathId>,
    /// Time at which the path was validated [ps].
    established_ps: Option<u64>,
    /// Time at which the path was abandoned [ps].
    abandoned_ps: Option<u64>,
    /// Final counters of a path whose state the connection has discarded.
    discarded: Option<PathStats>,
    reductions: Reductions,
}

/// Creates the controllers of a connection's paths.
///
/// BBRv3 seeds its random numbers from the thread's generator. The first path's controller is created while that
/// generator is derived from the seed of the run. The others are created later, when it is not, so each has a seed of
/// its own.
struct Controllers {
    factory: Arc<dyn ControllerFactory + Send + Sync>,
    seed: u64,
    created: AtomicU64,
}

impl ControllerFactory for Controllers {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let factory = Arc::clone(&self.factory);
        match self.created.fetch_add(1, Ordering::Relaxed) {
            0 => factory.build(now, mtu),
            earlier => getrandom::seeded(self.seed ^ (1 + earlier), || factory.build(now, mtu)),
        }
    }
}

/// All paths of a connection.
///
/// With an idle timeout, each end also sends a PING on each path three times per timeout. Otherwise a path with data in
/// one direction would time out, because noq sends all ACKs on the path with the lowest number, and its own keep-alive
/// timer is reset by each packet that arrives.
#[derive(Debug)]
pub struct Paths {
    /// Paths by number.
    all: Vec<Path>,
    /// Time between two PINGs on a path, and time of the next PING [ps]; `NEVER` without an idle timeout.
    interval_ps: u64,
    ping_ps: u64,
}

impl Paths {
    /// Returns the paths of a connection that has not been opened.
    ///
    /// # Errors
    /// Returns an error that names the setting if a setting is invalid.
    pub fn new(settings: &Settings<'_>, setup: &Setup<'_>) -> Result<Paths, String> {
        if setup.paths > MAX_PATHS {
            return Err(format!("paths: {}; needs at most {MAX_PATHS}", setup.paths));
        }
        let path = |number: u8| {
            let prefix = path_prefix(usize::from(number));
            let status = match setup.setting(&format!("{prefix}status")) {
                None | Some("available") => PathStatus::Available,
                Some("backup") => PathStatus::Backup,
                Some(other) => return Err(format!("status: {other}; needs available or backup")),
            };
            let id = (number == 0).then_some(PathId::ZERO);
            Ok(Path {
                status,
                id,
                ..Path::default()
            })
        };
        Ok(Paths {
            all: (0..setup.paths).map(path).collect::<Result<_, String>>()?,
            interval_ps: match settings.path_idle_timeout_ps {
                0 => NEVER,
                timeout_ps => timeout_ps / PINGS,
            },
            ping_ps: NEVER,
        })
    }

    /// Enables the extension if there are several paths. `seed` determines the random numbers of their controllers.
    pub fn configure(&self, transport: &mut TransportConfig, settings: &Settings<'_>, seed: u64) {
        if self.all.len() < 2 {
            return;
        }
        transport.max_concurrent_multipath_paths(self.all.len() as u32);
        transport.congestion_controller_factory(Arc::new(Controllers {
            factory: controls::factory(settings.congestion),
            seed,
            created: AtomicU64::new(0),
        }));
        if settings.path_idle_timeout_ps > 0 {
            let timeout = Duration::from_nanos(settings.path_idle_timeout_ps / 1_000);
            transport.default_path_max_idle_timeout(Some(timeout));
        }
    }

    /// Returns the time [ps] at which `act` must be called, or `NEVER`.
    pub fn due(&self) -> u64 {
        self.ping_ps
    }

    /// Opens the paths that the peer permits, and sends the PINGs that are due at `now` [ps]. Returns whether there may
    /// be something to send afterwards.
    pub fn act(&mut self, connection: &mut Connection, at: Instant, now: u64) -> bool {
        if connection.is_closed() {
            self.ping_ps = NEVER;
            return false;
        }
        if !connection.is_multipath_negotiated() {
            return false;
        }
        let opens = connection.side().is_client() && self.open(connection, at);
        let pings = self.ping(connection, now);
        opens || pings
    }

    fn ping(&mut self, connection: &mut Connection, now: u64) -> bool {
        let pings = self.interval_ps < NEVER && (self.ping_ps == NEVER || self.ping_ps <= now);
        if pings {
            self.ping_ps = now + self.interval_ps;
            let open = self.all.iter().filter(|path| path.abandoned_ps.is_none());
            for id in open.filter_map(|path| path.id) {
                // A path that is closed already needs no PING.
                let _ = connection.ping_path(id);
            }
        }
        pings
    }

    fn open(&mut self, connection: &mut Connection, at: Instant) -> bool {
        let mut opens = false;
        for (number, path) in self.all.iter_mut().enumerate().filter(|(_, path)| path.id.is_none()) {
            let addresses = FourTuple::new(address(false, number as u8), Some(address(true, number as u8).ip()));
            // An error means that the peer has not yet issued connection identifiers for the path; it does so later.
            path.id = connection.open_path(addresses, path.status, at).ok();
            opens |= path.id.is_some();
        }
        opens
    }

    /// Processes an event of the connection at `now` [ps].
    pub fn on_event(&mut self, event: &Event, connection: &mut Connection, now: u64) {
        let event = match event {
            Event::Path(event) => event,
            Event::Connected => {
                self.all[0].established_ps = Some(now);
                return;
            }
            _ => return,
        };
        match event {
            PathEvent::Established { id, .. } => {
                let client = connection.side().is_client();
                let Ok(addresses) = connection.network_path(*id) else {
                    return;
                };
                let is_same = |number: usize| address(!client, number as u8) == addresses.remote();
                if let Some(number) = (0..self.all.len()).find(|&number| is_same(number)) {
                    self.all[number].id = Some(*id);
                    self.all[number].established_ps = Some(now);
                }
            }
            PathEvent::Abandoned { id, .. } => {
                if let Some(path) = self.with_id(*id) {
                    path.abandoned_ps.get_or_insert(now);
                }
            }
            PathEvent::Discarded { id, path_stats, .. } => {
                if let Some(path) = self.with_id(*id) {
                    path.discarded = Some(**path_stats);
                }
            }
            // The server copies the client's choice of backup paths. Errors are ignored: a closed path needs no status.
            PathEvent::RemoteStatus { id, status, .. } if connection.side().is_server() => {
                let _ = connection.set_path_status(*id, *status);
            }
            _ => {}
        }
    }

    fn with_id(&mut self, id: PathId) -> Option<&mut Path> {
        self.all.iter_mut().find(|path| path.id == Some(id))
    }

    /// Observes the congestion windows.
    pub fn observe(&mut self, connection: &mut Connection) {
        for path in &mut self.all {
            if let Some(stats) = path.id.and_then(|id| connection.path_stats(id)) {
                path.reductions.observe(stats.cwnd, stats.congestion_events);
            }
        }
    }

    /// Returns the values of all paths if there are several.
    pub fn report(&self, connection: &mut Connection) -> Vec<(String, f64)> {
        let mut values = Vec::new();
        if self.all.len() < 2 {
            return values;
        }
        let seconds = |ps: Option<u64>| ps.map_or(f64::NAN, |ps| ps as f64 / 1e12);
        for (number, path) in self.all.iter().enumerate() {
            let prefix = path_prefix(number);
            let mut put = |name: &str, value: f64| values.push((format!("{prefix}{name}"), value));
            put("established_s", seconds(path.established_ps));
            put("abandoned_s", seconds(path.abandoned_ps));
            if number > 0 {
                let stats = path.stats(connection);
                put("sent_packets", stats.sent_packets as f64);
                put("sent_bytes", stats.sent_bytes as f64);
                put("lost_packets", stats.lost_packets as f64);
                put("lost_bytes", stats.lost_bytes as f64);
                put("congestion_events", stats.reductions as f64);
                put("cwnd_bytes", stats.cwnd as f64);
                put("srtt_s", seconds(stats.rtt.map(picoseconds)));
                put("mtu_bytes", f64::from(stats.mtu));
                put("datagrams", stats.datagrams as f64);
            }
        }
        values
    }

    /// Returns the counters of path 0.
    pub fn stats(&self, connection: &mut Connection) -> Stats {
        self.all[0].stats(connection)
    }
}

impl Path {
    fn stats(&self, connection: &mut Connection) -> Stats {
        let current = self.id.and_then(|id| connection.path_stats(id));
        let stats = current.or(self.discarded).unwrap_or_default();
        Stats {
            cwnd: stats.cwnd,
            rtt: measured(stats.rtt),
            min_rtt: None,
            sent_packets: stats.sent_packets,
            lost_packets: stats.lost_packets,
            lost_bytes: stats.lost_bytes,
            reductions: self.reductions.count,
            datagrams: stats.udp_tx.datagrams,
            sent_bytes: stats.udp_tx.bytes,
            mtu: stats.current_mtu,
        }
    }
}
