//! More accurate feedback of marks: every ACK counts marked packets, in three bits of its header, and bytes, in an option (RFC 9768).

use crate::flight::Flight;
use crate::segment::{AckSegment, ByteCounts, Ecn};

/// Where both ends begin to count packets, and bytes that were not marked (section 3.2.1); marked ones count from 0.
const FIRST: u64 = 5;
const FIRST_UNMARKED: u64 = 1;
/// The field holds the remainder by this.
const CYCLE: u64 = 8;
/// An ACK leaves at once with so many marks of which none has told (section 3.2.2.5.1).
const UNTOLD: u32 = 2;
/// Weight of an ACK in the mean of the packets that each tells of, and the mean up to which the counter may have gone round unseen
/// (Linux's tcp_accecn_process; appendix A.2.1 asks for such a mean, "well below 8").
const WEIGHT: f64 = 1.0 / 64.0;
const THINNED: f64 = 4.0;
/// Bits of a counter of bytes.
const BYTES_BITS: u32 = 24;
/// Marked packets are taken to be this much smaller than full segments at the most (SAFETY_FACTOR of appendix A.2.2).
const LEAST_SHARE: u64 = 2;

/// What a receiver counts.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// r.cep: marked packets.
    packets: u64,
    /// r.ceb, and r.e0b or r.e1b: bytes of payload.
    marked: u64,
    unmarked: u64,
    /// Those of which no ACK has told.
    untold: u32,
    /// Whether the latest packet was marked.
    latest: bool,
    /// Whether an ACK is to leave at once.
    is_due: bool,
    /// Whether ACKs tell of bytes.
    tells_bytes: bool,
}

impl Counter {
    /// Of a connection on which nothing has arrived.
    pub fn new(tells_bytes: bool) -> Counter {
        Counter {
            packets: FIRST,
            marked: 0,
            unmarked: FIRST_UNMARKED,
            untold: 0,
            latest: false,
            is_due: false,
            tells_bytes,
        }
    }

    /// A packet with so many bytes of data arrived.
    pub fn take(&mut self, ecn: Ecn, bytes: u32) {
        let Ecn { marked, capable, .. } = ecn;
        if marked {
            self.marked += u64::from(bytes);
        } else if capable {
            self.unmarked += u64::from(bytes);
        }
        // Another counter of bytes moves (section 3.2.3.3).
        let ends = self.tells_bytes && capable && !marked && self.latest;
        let begins = marked && !self.latest;
        self.latest = marked;
        self.packets += u64::from(marked);
        self.untold += u32::from(marked);
        self.is_due |= begins || ends || self.untold >= UNTOLD;
    }

    /// Whether an ACK is to leave at once: marks begin, or there are enough of which none has told.
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// What the option of an ACK says.
    pub fn counts(&self) -> ByteCounts {
        ByteCounts::new(self.unmarked, self.marked)
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
    /// s.ceb.
    marked: u64,
    /// Bytes that ACKs told of.
    told: u64,
    /// Packets of which an ACK tells, in the mean; none has come before the first.
    each: Option<f64>,
}

impl Default for Feedback {
    fn default() -> Feedback {
        Feedback {
            packets: FIRST,
            marked: 0,
            told: 0,
            each: None,
        }
    }
}

impl Feedback {
    /// An ACK came that is not older than SND.UNA, which does not show it yet; how many bytes arrived marked, full segments where
    /// packets alone are counted.
    pub fn take(&mut self, ack: &AckSegment, flight: &Flight) -> u64 {
        let mss = u64::from(flight.mss);
        let bytes = if ack.counts.is_some() {
            // One that was overtaken tells of fewer than are known.
            let Ok(bytes) = u64::try_from(newly_marked(ack.counts, self.marked)) else {
                return 0;
            };
            self.marked += bytes;
            Some(bytes)
        } else {
            None
        };
        let least = (u64::from(ack.ace) + CYCLE - self.packets % CYCLE) % CYCLE;
        let newly = self.newly_told(ack, flight);
        let thinned = self.each.is_some_and(|each| each > THINNED);
        let each = self.each.get_or_insert(newly as f64);
        *each += WEIGHT * (newly as f64 - *each);
        let safest = safest(newly, least);
        let marked = match bytes {
            Some(bytes) => likely(bytes, mss, least, safest),
            None if thinned => least,
            None => safest,
        };
        self.packets += marked;
        bytes.unwrap_or(marked * mss)
    }

    /// Marked packets of which ACKs have told.
    #[cfg(test)]
    pub fn counted(&self) -> u64 {
        self.packets - FIRST
    }

    /// Marked bytes of which options have told.
    #[cfg(test)]
    pub fn counted_bytes(&self) -> u64 {
        self.marked
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

/// Bytes marked since s.ceb, fewer than none where the option is older (appendix A.1).
fn newly_marked(counts: ByteCounts, before: u64) -> i64 {
    let shift = i64::BITS - BYTES_BITS;
    let apart = i64::from(counts.marked()) - before as i64;
    // The remainder by 2^24 that is nearest to zero.
    apart << shift >> shift
}

/// Which of two numbers of marked packets their bytes speak for (appendix A.2.2).
fn likely(bytes: u64, mss: u64, least: u64, safest: u64) -> u64 {
    let fits = bytes <= mss * least && LEAST_SHARE * bytes < mss * safest;
    if fits {
        least
    } else {
        safest
    }
}

#[cfg(test)]
mod tests;
