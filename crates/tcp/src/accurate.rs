//! More accurate feedback of marks: every ACK counts marked packets, in three bits of its header (RFC 9768).

use crate::flight::Flight;
use crate::segment::AckSegment;

/// Where both ends begin to count (section 3.2.1).
const FIRST: u64 = 5;
/// The field holds the remainder by this.
const CYCLE: u64 = 8;
/// An ACK leaves at once with so many marks of which none has told (section 3.2.2.5.1).
const UNTOLD: u32 = 2;
/// Weight of an ACK in the mean of the packets that each tells of, and the mean up to which the counter may have gone round unseen
/// (Linux's tcp_accecn_process; appendix A.2.1 asks for such a mean, "well below 8").
const WEIGHT: f64 = 1.0 / 64.0;
const THINNED: f64 = 4.0;

/// What a receiver counts.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// r.cep: marked packets.
    packets: u64,
    /// Those of which no ACK has told.
    untold: u32,
    /// Whether the latest packet was marked.
    latest: bool,
    /// Whether an ACK is to leave at once.
    is_due: bool,
}

impl Default for Counter {
    fn default() -> Counter {
        Counter {
            packets: FIRST,
            untold: 0,
            latest: false,
            is_due: false,
        }
    }
}

impl Counter {
    /// A packet of data arrived.
    pub fn take(&mut self, marked: bool) {
        let begins = marked && !self.latest;
        self.latest = marked;
        self.packets += u64::from(marked);
        self.untold += u32::from(marked);
        self.is_due |= begins || self.untold >= UNTOLD;
    }

    /// Whether an ACK is to leave at once: marks begin, or there are enough of which none has told.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// An ACK leaves; its field.
    pub fn tell(&mut self) -> u8 {
        (self.untold, self.is_due) = (0, false);
        (self.packets % CYCLE) as u8
    }
}

/// What a sender makes of it.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// s.cep.
    packets: u64,
    /// Bytes that ACKs told of.
    told: u64,
    /// Packets of which an ACK tells, in the mean; none has come before the first.
    each: Option<f64>,
}

impl Default for Feedback {
    fn default() -> Feedback {
        Feedback {
            packets: FIRST,
            told: 0,
            each: None,
        }
    }
}

impl Feedback {
    /// An ACK came that is not older than SND.UNA, which does not show it yet; how many packets arrived marked.
    pub fn take(&mut self, ack: &AckSegment, flight: &Flight) -> u64 {
        let least = (u64::from(ack.ace) + CYCLE - self.packets % CYCLE) % CYCLE;
        let newly = self.newly_told(ack, flight);
        let thinned = self.each.is_some_and(|each| each > THINNED);
        let each = self.each.get_or_insert(newly as f64);
        *each += WEIGHT * (newly as f64 - *each);
        let marked = if thinned { least } else { safest(newly, least) };
        self.packets += marked;
        marked
    }

    /// Marked packets of which ACKs have told.
    #[cfg(test)]
    pub fn counted(&self) -> u64 {
        self.packets - FIRST
    }

    /// Packets that arrived since the ACK before, if all were of full size.
    fn newly_told(&mut self, ack: &AckSegment, flight: &Flight) -> u64 {
        let mss = u64::from(flight.mss);
        let beyond: u64 = ack.sack_blocks().map(|(start, end)| end - start).sum();
        let before = self.told;
        self.told = before.max(ack.acknowledgement + beyond);
        if ack.acknowledgement == flight.una {
            // A duplicate tells of a packet, wherever that is.
            self.told = self.told.max(before + mss).min(flight.max);
        }
        (self.told - before).div_ceil(mss)
    }
}

/// The largest number of marked packets that fits the field, of so many (dSafer.cep of appendix A.2.1).
fn safest(newly: u64, least: u64) -> u64 {
    match newly.checked_sub(least) {
        Some(more) => newly - more % CYCLE,
        None => least,
    }
}

#[cfg(test)]
mod tests;
