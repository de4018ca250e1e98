//! Packets that bursts or frames carry in fragments: which of them are lost with a burst, and when the others leave.

use super::Stations;
use longpipe_events::Time;
use std::collections::VecDeque;

/// What a burst or frame carries of one station's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Filled {
    /// Packets whose last byte it carries.
    pub completed: u64,
    /// Bytes of packets.
    pub bytes: u64,
    /// Whether the next one carries a part of its last packet.
    pub continues: bool,
}

/// Packets of a station whose transmissions have begun.
#[derive(Clone, Debug, Default)]
pub(super) struct InTransit {
    /// Ends of the transmissions of packets, in order, and whether the packet is lost.
    ending: VecDeque<(Time, bool)>,
    /// Whether a fragment of the packet of which a part has been sent is lost.
    is_broken: bool,
}

impl InTransit {
    /// Records the ends of the packets that a burst completes. If the burst is lost, the packets of which it carries a
    /// part are lost.
    pub fn complete(&mut self, filled: &Filled, end: Time, is_lost: bool) {
        self.is_broken |= is_lost;
        for _ in 0..filled.completed {
            self.ending.push_back((end, self.is_broken));
            self.is_broken = is_lost;
        }
        self.is_broken &= filled.continues;
    }

    /// Passes the packets whose transmissions have ended by `now` to the wire, or discards them.
    pub fn end(&mut self, station: usize, now: Time, stations: &mut impl Stations) {
        while let Some(&(_, is_lost)) = self.ending.front().filter(|(end, _)| *end <= now) {
            self.ending.pop_front();
            match is_lost {
                true => stations.discard(station, now),
                false => stations.leave(station, now),
            }
        }
    }
}
