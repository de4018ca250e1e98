//! Records of lost packets, with the cause of each loss.

use crate::packets::external::{Fate, Outcome};
use crate::packets::{Flow, Link, Packet};
use longpipe_events::Time;
use strum::VariantNames;

/// Cause of a packet loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, VariantNames)]
#[strum(serialize_all = "snake_case")]
#[repr(u8)]
pub enum DropCause {
    /// The buffer was full.
    Overflow = 1,
    /// The buffer policy or active queue management dropped the packet, on arrival or from the queue.
    Aqm = 2,
    /// The link's loss model removed the packet.
    InjectedLoss = 3,
    /// The packet was dropped on arrival, dropped from the queue, or lost on the wire because of an outage of the link.
    Outage = 4,
    /// A bit error corrupted the packet on the wire.
    BitError = 5,
    /// The packet's frame was incomplete, or was merged with a frame whose last cell was lost.
    PartialFrame = 6,
    /// The ACK filter removed the packet, because a later ACK supersedes it.
    AckFilter = 7,
    /// The flow's current route does not continue from the router that the packet reached.
    NoRoute = 8,
    /// A policer dropped the packet, because it exceeded the rate.
    Policer = 9,
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
