//! What a kind of traffic declares: its facts, its bounds, and how the state of its application is created.

use super::client::Client;
use super::media::Encoder;
use super::schedule::Schedule;
use longpipe_events::{Span, Stream};
use longpipe_tcp::config::TcpConfig;
use longpipe_tcp::Problem;
use serde::Serialize;

/// How the data of a flow are transported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Over TCP of the simulator.
    Tcp,
    /// As datagrams, without any response to congestion.
    Datagrams,
    /// Over a connection of a real protocol stack.
    Stack,
    /// Over a further path of such a connection, which is counted at the flow of the connection.
    FurtherPath,
}

/// Facts about a kind of traffic, whatever its parameters.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Facts {
    /// How the data are transported.
    pub transport: Transport,
    /// Whether all data are available from the start.
    pub at_once: bool,
    /// Whether the flow sends throughout its lifetime.
    pub is_bulk: bool,
    /// Whether the data consist of many short transfers.
    pub short_transfers: bool,
    /// Whether each transfer has a connection of its own.
    pub many_connections: bool,
    /// Whether the receiver requests the data, so that it opens the connection.
    pub has_requests: bool,
    /// Whether the lengths of datagrams vary up to a maximum.
    pub varies_length: bool,
    /// Whether the traffic always depends on random numbers.
    pub draws: bool,
    /// Whether the connection stands for a transport over UDP, which split-TCP proxies do not split.
    pub stands_for_udp: bool,
}

impl Facts {
    /// Returns the facts of traffic without random numbers, of which the data become available over time.
    pub const fn new(transport: Transport) -> Facts {
        Facts {
            transport,
            at_once: false,
            is_bulk: false,
            short_transfers: false,
            many_connections: false,
            has_requests: false,
            varies_length: false,
            draws: false,
            stands_for_udp: false,
        }
    }
}

/// A flow for which an application is created.
#[derive(Clone, Copy, Debug)]
pub struct NewFlow<'a> {
    /// Parameters of its end points.
    pub tcp: &'a TcpConfig,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the flow, which selects its random streams.
    pub flow: u64,
}

impl NewFlow<'_> {
    /// Returns the flow's random stream for a purpose.
    pub fn stream(&self, purpose: &str) -> Stream {
        Stream::new(self.seed, purpose, self.flow)
    }
}

/// The application of a new flow, by the way in which its host executes it.
#[derive(Debug)]
pub enum NewApplication {
    /// Writes this amount [byte] of data at the start; `GREEDY` is an endless amount.
    Bulk(u64),
    /// Writes data into its TCP socket over time.
    Stream(Schedule),
    /// Writes frames into its TCP socket, at the bitrate that the congestion control permits.
    Media(Box<Encoder>),
    /// Sends datagrams over time.
    Datagrams(Schedule),
    /// Requests files from the flow's sender.
    Client(Box<dyn Client>),
    /// Starts further flows, each with a connection of its own (`hosts/arriving`).
    Arrivals,
    /// A program outside the simulation.
    External,
}

/// Parameters of a kind of traffic.
pub trait Parameters {
    /// Facts about the kind.
    const FACTS: Facts;

    /// Returns the first invalid parameter, if any, for a flow with valid end points.
    fn problem(&self, _tcp: &TcpConfig) -> Option<Problem> {
        None
    }

    /// Creates the application of a flow.
    fn application(&self, flow: &NewFlow<'_>) -> NewApplication;

    /// Returns the payloads [byte] of the shortest and of the longest datagram; None for other traffic.
    fn payloads(&self) -> Option<[u32; 2]> {
        None
    }

    /// Returns the minimum payload [byte] of a TCP segment, if only the end of the data causes segments shorter than
    /// the MSS [byte].
    fn min_segment(&self, _mss: u64) -> u64 {
        1
    }

    /// Returns the parameter that sets the time between events that occur even if no packet is sent, and the time; None
    /// if there are no such events.
    fn interval(&self, _tcp: &TcpConfig) -> Option<(&'static str, Span)> {
        None
    }

    /// Returns whether the receiver opens the connection.
    fn receiver_connects(&self) -> bool {
        Self::FACTS.has_requests
    }
}
