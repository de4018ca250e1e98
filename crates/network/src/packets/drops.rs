//! Records of lost packets, with the cause of each loss.

use crate::packets::external::{Fate, Outcome};
use crate::packets::{Flow, Link, Packet};
use longpipe_events::Time;
use longpipe_tcp::journal::losses::{LossCause, CAUSES};
use strum::{EnumCount, EnumMessage, EnumProperty, VariantArray, VariantNames};

/// Cause of a packet loss. The documentation of a variant is the sentence that users read. `counters` are the endings of
/// the counters of ports that contain the losses, and `limit` is the limit of a flow that the losses indicate.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumCount, EnumMessage, EnumProperty, VariantArray, VariantNames,
)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum DropCause {
    /// The buffer was full; with cells, the first lost cell of the frame found it full.
    #[strum(props(counters = "overflow discarded", limit = "buffer"))]
    Overflow = 1,
    /// The buffer policy or active queue management dropped the packet, on arrival or from the queue.
    #[strum(props(counters = "aqm", limit = "AQM"))]
    Aqm = 2,
    /// The link's loss model removed the packet.
    #[strum(props(counters = "injected", limit = "random loss"))]
    InjectedLoss = 3,
    /// An outage of the link dropped the packet on arrival or from the queue, or lost it on the wire.
    #[strum(props(counters = "outage on_wire", limit = "outage"))]
    Outage = 4,
    /// A bit error corrupted the packet on the wire.
    #[strum(props(counters = "errors", limit = "random loss"))]
    BitError = 5,
    /// The packet's cells arrived, but its frame was incomplete, or was merged with one whose last cell was lost.
    #[strum(props(counters = "", limit = "buffer"))]
    PartialFrame = 6,
    /// The ACK filter removed the packet, because a later ACK supersedes it.
    #[strum(props(counters = "aqm", limit = "AQM"))]
    AckFilter = 7,
    /// The flow's current route does not continue from the router that the packet reached.
    #[strum(props(counters = "rerouting", limit = "outage"))]
    NoRoute = 8,
    /// A policer dropped the packet, because it exceeded the rate.
    #[strum(props(counters = "policer", limit = "policer"))]
    Policer = 9,
    /// The queue of the packet's flow was full, although the buffer was not (`flow_limit` of `fq`).
    #[strum(props(counters = "overflow", limit = "buffer"))]
    FlowLimit = 10,
    /// Transmissions of medium access failed: a collision, a frame above the present Es/N0, or a block that RLC gave up.
    #[strum(props(counters = "access", limit = "random loss"))]
    Access = 11,
}

/// Facts about a cause of losses.
#[derive(Clone, Debug, PartialEq)]
pub struct CauseFacts {
    /// Name in traces, captures and reports.
    pub name: &'static str,
    /// Endings of the counters of ports that contain the losses; none if the losses are counted at no port.
    pub counters: Vec<&'static str>,
    /// Limit of a flow that the losses indicate.
    pub limit: &'static str,
    /// Meaning, as a sentence.
    pub about: &'static str,
}

impl DropCause {
    /// Returns the cause whose counter at a port contains the losses.
    pub const fn counted_as(self) -> DropCause {
        match self {
            DropCause::AckFilter => DropCause::Aqm,
            DropCause::FlowLimit => DropCause::Overflow,
            own => own,
        }
    }

    /// Returns the index of the cause among all causes.
    pub const fn index(self) -> usize {
        self as usize - 1
    }

    /// Returns the name of the cause.
    pub fn name(self) -> &'static str {
        <DropCause as VariantNames>::VARIANTS[self.index()]
    }
}

impl From<DropCause> for LossCause {
    /// Returns the cause as senders number it.
    fn from(cause: DropCause) -> LossCause {
        const { assert!(LossCause::FIRST.0 as usize + DropCause::COUNT <= CAUSES) };
        LossCause(LossCause::FIRST.0 + cause.index() as u8)
    }
}

/// Returns the facts about all causes, in order.
pub fn causes() -> Vec<CauseFacts> {
    let facts = |cause: &DropCause| CauseFacts {
        name: cause.name(),
        counters: cause
            .get_str("counters")
            .unwrap_or_default()
            .split_whitespace()
            .collect(),
        limit: cause.get_str("limit").unwrap_or_default(),
        about: cause.get_documentation().unwrap_or_default(),
    };
    <DropCause as VariantArray>::VARIANTS.iter().map(facts).collect()
}

/// TCP data of a flow's sender in a lost packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostData {
    /// Sequence number of the first byte.
    pub sequence: u64,
    /// Number of bytes.
    pub length: u32,
}

/// A lost packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Time of the loss. It may lie in the future, because outages are known in advance.
    pub time: Time,
    /// Link at whose port or on whose wire the packet was lost.
    pub link: Link,
    /// Flow of the packet.
    pub flow: Flow,
    /// The packet's TCP data; `None` for ACKs, requests and datagrams.
    pub data: Option<LostData>,
    /// Cause of the loss.
    pub cause: DropCause,
}

impl Dropped {
    /// Creates the record of a packet that was lost at a link.
    pub(crate) fn new(time: Time, link: Link, packet: &Packet, cause: DropCause) -> Dropped {
        Dropped {
            time,
            link,
            flow: packet.vc().flow(),
            data: packet
                .own_data()
                .map(|(sequence, length)| LostData { sequence, length }),
            cause,
        }
    }
}

/// Packets that were lost at a port and that the engine has not collected yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drops(Vec<(Time, Packet, DropCause)>);

impl Drops {
    /// Adds a packet that is lost at `time`.
    pub fn note(&mut self, time: Time, packet: &Packet, cause: DropCause) {
        self.0.push((time, *packet, cause));
    }

    /// Removes and returns all packets, in the order in which they were recorded.
    pub fn take(&mut self) -> Vec<(Time, Packet, DropCause)> {
        std::mem::take(&mut self.0)
    }

    /// Returns whether no packet has been recorded.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reports external packets among those lost at a link. Returns their number.
pub(crate) fn report_external(
    lost: &[(Time, Packet, DropCause)],
    now: Time,
    link: Link,
    outcomes: &mut Vec<Outcome>,
) -> usize {
    let before = outcomes.len();
    let external = lost.iter().filter(|(_, packet, _)| packet.is_external());
    outcomes.extend(external.map(|&(_, ref packet, cause)| Outcome {
        time: now,
        id: packet.sequence(),
        fate: Fate::Lost {
            link: Some(link),
            cause,
        },
    }));
    outcomes.len() - before
}
