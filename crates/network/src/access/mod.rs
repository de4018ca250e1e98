//! Medium access of links that react to traffic: when a port may transmit depends on its queue, on the requests that
//! its station has sent, and on the other stations of its cell.
//!
//! An access decides when stations transmit, and takes packets from their queues by their lengths alone, so that any
//! queue discipline stands in front of it. `ip/port/cell.rs` connects it to queues and counters.

mod cell_events;
pub mod cellreplay;
pub mod cellular;
pub mod docsis;
pub mod dvb_rcs2;
pub mod dvb_s2;
mod fragments;
#[cfg(test)]
mod test_queues;
pub mod wifi;

use cellreplay::CellReplayConfig;
use cellular::CellularConfig;
use docsis::DocsisConfig;
use dvb_rcs2::DvbRcs2Config;
use dvb_s2::DvbS2Config;
use longpipe_events::{Span, Time};
use longpipe_json::FromJson;
use longpipe_tcp::described::{part, Described, Type};
use longpipe_tcp::Problem;
use serde::Serialize;
use strum::VariantNames;
use wifi::WifiConfig;

/// Counters of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessReport {
    /// Requests for capacity that the station has sent.
    pub requests: u64,
    /// Requests among them that did not reach the controller of the cell.
    pub requests_lost: u64,
    /// Transmissions that the controller has granted, and whose times have come.
    pub granted: u64,
    /// Granted transmissions that carried data.
    pub used: u64,
    /// Bytes that transmissions with data could have carried in addition, and headers of the access.
    pub overhead_bytes: u64,
    /// Transmissions without a grant, which may collide.
    pub attempts: u64,
    /// Transmissions without a grant that were lost in collisions.
    pub collisions: u64,
    /// Time in which data waited for a transmission.
    pub waiting: Span,
    /// Frames that the station has retransmitted.
    pub retransmissions: u64,
    /// Duration of the transmissions, with the time of their responses.
    pub airtime: Span,
    /// Time in which data waited for a medium without grants.
    pub waiting_for_medium: Span,
}

/// What happens at a station. The names of the variants stand in traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[repr(u8)]
pub enum StationAction {
    /// The station sends a request.
    Request,
    /// The station sends a request that does not reach the controller of the cell.
    LostRequest,
    /// The grant of transmissions reaches the station.
    Grant,
    /// A granted transmission begins.
    Transmission,
    /// A transmission without a grant begins.
    Attempt,
    /// A transmission without a grant begins, and is lost in a collision.
    Collision,
    /// A granted transmission repeats an earlier one that failed.
    Retransmission,
}

/// An event of a station, for its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationEvent {
    /// What happens.
    pub action: StationAction,
    /// Bytes that are requested, granted or sent.
    pub bytes: u64,
    /// Requested rate [bit/s]; 0 if none is requested.
    pub rate_bps: u64,
    /// Time for which data have waited when a transmission begins; 0 for other events.
    pub waited: Span,
}

impl StationEvent {
    /// Creates the event of an action with this number of bytes.
    pub(crate) fn new(action: StationAction, bytes: u64) -> StationEvent {
        StationEvent {
            action,
            bytes,
            rate_bps: 0,
            waited: Span(0),
        }
    }
}

impl AccessReport {
    /// Returns the counters for the hash of the final state; those of attempts only if there are any.
    pub(crate) fn words(self) -> impl Iterator<Item = u64> {
        let AccessReport {
            requests,
            requests_lost,
            granted,
            used,
            overhead_bytes,
            attempts,
            collisions,
            waiting,
            retransmissions,
            airtime,
            waiting_for_medium,
        } = self;
        let words = [requests, requests_lost, granted, used, overhead_bytes, waiting.0];
        let of_attempts = (attempts > 0).then_some([attempts, collisions]);
        let contends = waiting_for_medium.0 > 0 || airtime.0 > 0;
        let of_contention = contends.then_some([retransmissions, airtime.0, waiting_for_medium.0]);
        let further = of_attempts.into_iter().flatten();
        words
            .into_iter()
            .chain(further)
            .chain(of_contention.into_iter().flatten())
    }
}

/// A station of a cell when the run starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewStation<'a> {
    /// Parameters of the station's access.
    pub config: &'a AccessConfig,
    /// Index of its link.
    pub link: usize,
    /// Node whose port it is.
    pub node: usize,
    /// Node at the end of its link.
    pub to: usize,
    /// Rate [bit/s] of its link.
    pub rate_bps: u64,
    /// Propagation delay of its link.
    pub delay: Span,
}

/// The queues of a cell's stations.
pub(crate) trait Stations {
    /// Returns the number of bytes that wait in the queue of a station.
    fn waiting_bytes(&self, station: usize) -> u64;

    /// Takes the next packet from the queue of a station, whose transmission begins. Returns the length [byte] of the
    /// packet, or None if the queue is empty or the queue discipline holds its packets back.
    fn take(&mut self, station: usize, now: Time) -> Option<u64>;

    /// Passes the earliest packet that was taken from the queue of a station to the wire: its transmission has ended.
    fn leave(&mut self, station: usize, now: Time);

    /// Loses the earliest packet that was taken from the queue of a station: its transmissions have failed.
    fn discard(&mut self, station: usize, now: Time) {
        self.discard_at(station, 0, now);
    }

    /// Loses the packet at a place among those that were taken from the queue of a station, the earliest of which has
    /// place 0.
    fn discard_at(&mut self, station: usize, place: usize, now: Time);

    /// Records an event of a station at a time, which may differ from the present, if the run has a trace of grants.
    fn record(&mut self, station: usize, at: Time, event: StationEvent);
}

/// Medium access of a cell.
pub(crate) trait MediumAccess {
    /// Processes the arrival of `bytes` bytes in the queue of a station, after all events before `now`.
    fn arrived(&mut self, now: Time, station: usize, bytes: u64, stations: &mut impl Stations);

    /// Returns the time of the next event; None while the cell is idle.
    fn next_event(&self) -> Option<Time>;

    /// Processes the events at `now`.
    fn wake(&mut self, now: Time, stations: &mut impl Stations);

    /// Returns the counters of a station at `now`, the end of the run.
    fn report(&self, station: usize, now: Time) -> AccessReport;

    /// Returns whether all requests and grants are accounted for at `now`, the end of the run.
    fn conserves(&self, now: Time) -> bool;
}

/// Parameters of an access.
pub(crate) trait Parameters: Described {
    /// State of the cell.
    type Cell: MediumAccess;

    /// Whether stations contend for a medium; others wait for grants.
    const CONTENDS: bool;

    /// Whether stations repeat transmissions that fail, below IP.
    const RETRANSMITS: bool;

    /// Maximum length [byte] of packets.
    const MAX_PACKET_BYTES: u64 = u64::MAX;

    /// Whether no port sends faster than the rate of its link; otherwise, this rate is only nominal.
    const KEEPS_RATE: bool = true;

    /// Returns the name of the cell that the station shares; None for a cell of its own.
    fn cell(&self) -> Option<&str>;

    /// Returns the field and the accepted values if the stations of a cell do not fit each other or their links.
    /// `stations` are those of the cell; the returned number is that of the station with the problem.
    fn problem_of_cell(stations: &[NewStation<'_>]) -> Option<(usize, Problem)>;

    /// Creates the idle cell of these stations.
    fn cell_of(stations: &[NewStation<'_>], seed: u64) -> Self::Cell;
}

/// Declares the kinds of access, one per line, each with its name and the type of its parameters.
macro_rules! accesses {
    ($($name:ident($config:ty);)+) => {
        /// Parameters of a station's medium access.
        #[derive(Clone, Debug, FromJson, Serialize, PartialEq, VariantNames)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        #[strum(serialize_all = "kebab-case")]
        pub enum AccessConfig {
            $(
                #[doc = stringify!($config)]
                $name($config),
            )+
        }

        impl Described for AccessConfig {
            fn described() -> Type {
                let parts = [$(part::<$config>,)+].into_iter().map(|part| part());
                Type::Kinds { kinds: AccessConfig::VARIANTS.iter().copied().zip(parts).collect() }
            }

            fn invalid(&self) -> Option<Problem> {
                match self {
                    $(AccessConfig::$name(config) => config.invalid(),)+
                }
            }
        }

        impl AccessConfig {
            /// Returns the name of the cell that the station shares; None for a cell of its own.
            pub fn cell(&self) -> Option<&str> {
                match self {
                    $(AccessConfig::$name(config) => config.cell(),)+
                }
            }

            /// Returns the maximum length [byte] of packets.
            pub(crate) fn max_packet_bytes(&self) -> u64 {
                match self {
                    $(AccessConfig::$name(_) => <$config as Parameters>::MAX_PACKET_BYTES,)+
                }
            }

            /// Returns whether no port sends faster than the rate of its link.
            pub fn keeps_rate(&self) -> bool {
                match self {
                    $(AccessConfig::$name(_) => <$config as Parameters>::KEEPS_RATE,)+
                }
            }

            /// Returns whether stations repeat transmissions that fail, below IP.
            pub(crate) fn retransmits(&self) -> bool {
                match self {
                    $(AccessConfig::$name(_) => <$config as Parameters>::RETRANSMITS,)+
                }
            }

            /// Returns whether stations contend for a medium; others wait for grants.
            pub(crate) fn contends(&self) -> bool {
                match self {
                    $(AccessConfig::$name(_) => <$config as Parameters>::CONTENDS,)+
                }
            }
        }

        /// A cell with access of any kind.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyAccess {
            $($name(<$config as Parameters>::Cell),)+
        }

        impl AnyAccess {
            /// Creates the idle cell of stations with access of one kind.
            pub fn new(stations: &[NewStation<'_>], seed: u64) -> AnyAccess {
                match stations[0].config {
                    $(AccessConfig::$name(_) => AnyAccess::$name(<$config>::cell_of(stations, seed)),)+
                }
            }
        }

        impl MediumAccess for AnyAccess {
            fn arrived(&mut self, now: Time, station: usize, bytes: u64, stations: &mut impl Stations) {
                match self {
                    $(AnyAccess::$name(cell) => cell.arrived(now, station, bytes, stations),)+
                }
            }

            fn next_event(&self) -> Option<Time> {
                match self {
                    $(AnyAccess::$name(cell) => cell.next_event(),)+
                }
            }

            fn wake(&mut self, now: Time, stations: &mut impl Stations) {
                match self {
                    $(AnyAccess::$name(cell) => cell.wake(now, stations),)+
                }
            }

            fn report(&self, station: usize, now: Time) -> AccessReport {
                match self {
                    $(AnyAccess::$name(cell) => cell.report(station, now),)+
                }
            }

            fn conserves(&self, now: Time) -> bool {
                match self {
                    $(AnyAccess::$name(cell) => cell.conserves(now),)+
                }
            }
        }

        /// Returns the problem of the stations of a cell, with the number of the station, if there is one.
        pub(crate) fn problem_of_cell(stations: &[NewStation<'_>]) -> Option<(usize, Problem)> {
            let kind = |station: &NewStation<'_>| std::mem::discriminant(station.config);
            let other = stations.iter().position(|station| kind(station) != kind(&stations[0]));
            if let Some(other) = other {
                return Some((other, Problem::new("kind", "of another access", "needs one kind in each cell")));
            }
            match stations[0].config {
                $(AccessConfig::$name(_) => <$config>::problem_of_cell(stations),)+
            }
        }
    };
}

accesses! {
    DvbRcs2(DvbRcs2Config);
    DvbS2(DvbS2Config);
    Wifi(WifiConfig);
    Cellular(CellularConfig);
    Cellreplay(CellReplayConfig);
    Docsis(DocsisConfig);
}
