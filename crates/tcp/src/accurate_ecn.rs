//! Accurate ECN (RFC 9768): every ACK carries the three-bit ACE field, which counts CE-marked packets, and optionally
//! byte counters.

use crate::congestion::flight::Flight;
use crate::segment::{AckSegment, ByteCounts, Ecn};

/// Initial value of the packet counter and of the counter of unmarked bytes (section 3.2.1). The counter of marked
/// bytes starts at 0.
const INITIAL_CEP: u64 = 5;
const INITIAL_UNMARKED: u64 = 1;
/// The three-bit ACE field holds the packet counter modulo this value.
const DIVACE: u64 = 8;
/// The receiver sends an ACK immediately when this number of CE-marked packets has arrived since its last ACK (section
/// 3.2.2.5.1).
const MARKS_PER_ACK: u32 = 2;
/// Weight of an ACK in the moving average of packets per ACK, and the value of this average above which the ACE field
/// may have wrapped (Linux's tcp_accecn_process; appendix A.2.1 suggests such an average, "well below 8").
const AVERAGE_WEIGHT: f64 = 1.0 / 64.0;
const MAX_PACKETS_PER_ACK: f64 = 4.0;
/// Width of a byte counter [bit].
const BYTES_BITS: u32 = 24;
/// Marked packets are assumed to carry on average at least 1/SAFETY_FACTOR of an MSS (appendix A.2.2).
const SAFETY_FACTOR: u64 = 2;

/// The receiver's counters.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// r.cep: CE-marked packets received.
    packets: u64,
    /// r.ceb, and r.e0b or r.e1b: payload bytes received in marked and in unmarked packets.
    marked: u64,
    unmarked: u64,
    /// Marked packets received since the last ACK was sent.
    unreported: u32,
    /// Whether the latest packet was marked.
    latest: bool,
    /// Whether the next ACK must be sent without delay.
    is_due: bool,
}

impl Default for Counter {
    fn default() -> Counter {
        Counter {
            packets: INITIAL_CEP,
            marked: 0,
            unmarked: INITIAL_UNMARKED,
            unreported: 0,
            latest: false,
            is_due: false,
        }
    }
}

impl Counter {
    /// Counts an arriving packet with `bytes` of payload.
    pub fn take(&mut self, ecn: Ecn, bytes: u32) {
        let Ecn { marked, capable, .. } = ecn;
        if marked {
            self.marked += u64::from(bytes);
        } else if capable {
            self.unmarked += u64::from(bytes);
        }
        let begins = marked && !self.latest;
        self.latest = marked;
        self.packets += u64::from(marked);
        self.unreported += u32::from(marked);
        self.is_due |= begins || self.unreported >= MARKS_PER_ACK;
    }

    /// Returns whether an ACK must be sent immediately: a marked packet followed an unmarked one, or MARKS_PER_ACK
    /// marked packets are unreported. The end of marks is reported by the next regular ACK (section 3.2.3.3).
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Returns the byte counters for the AccECN option of an ACK.
    pub fn counts(&self) -> ByteCounts {
        ByteCounts::new(self.unmarked, self.marked)
    }

    /// Records that an ACK is sent, and returns its ACE field.
    pub fn next_ace(&mut self) -> u8 {
        (self.unreported, self.is_due) = (0, false);
        (self.packets % DIVACE) as u8
    }
}

/// The sender's view of the receiver's counters.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// s.cep: marked packets known to the sender.
    packets: u64,
    /// s.ceb: marked bytes known to the sender.
    marked: u64,
    /// First byte that ACKs have not covered so far.
    covered: u64,
    /// Moving average of packets per ACK; None before the first ACK.
    each: Option<f64>,
}

impl Default for Feedback {
    fn default() -> Feedback {
        Feedback {
            packets: INITIAL_CEP,
            marked: 0,
            covered: 0,
            each: None,
        }
    }
}

impl Feedback {
    /// Processes an ACK that is not older than SND.UNA, before `flight` advances. Returns the number of bytes newly
    /// reported as marked; if there are no byte counters, each marked packet counts as a full segment.
    pub fn take(&mut self, ack: &AckSegment, flight: &Flight) -> u64 {
        let mss = u64::from(flight.mss);
        let bytes = if ack.counts.is_some() {
            // The counter of a reordered ACK is older than the sender's.
            let Ok(bytes) = u64::try_from(newly_marked(ack.counts, self.marked)) else {
                return 0;
            };
            self.marked += bytes;
            Some(bytes)
        } else {
            None
        };
        let least = (u64::from(ack.ace) + DIVACE - self.packets % DIVACE) % DIVACE;
        let newly = self.newly_covered(ack, flight);
        let may_have_wrapped = self.each.is_some_and(|each| each > MAX_PACKETS_PER_ACK);
        let each = self.each.get_or_insert(newly as f64);
        *each += AVERAGE_WEIGHT * (newly as f64 - *each);
        let safest = safest(newly, least);
        let marked = match bytes {
            Some(bytes) => likely(bytes, mss, least, safest),
            None if may_have_wrapped => least,
            None => safest,
        };
        self.packets += marked;
        bytes.unwrap_or(marked * mss)
    }

    /// Returns the number of marked packets that ACKs have reported.
    #[cfg(test)]
    pub fn marked_packets(&self) -> u64 {
        self.packets - INITIAL_CEP
    }

    /// Returns the number of marked bytes that AccECN options have reported.
    #[cfg(test)]
    pub fn marked_bytes(&self) -> u64 {
        self.marked
    }

    /// Returns the number of packets that this ACK newly covers, assuming full-sized segments.
    fn newly_covered(&mut self, ack: &AckSegment, flight: &Flight) -> u64 {
        let mss = u64::from(flight.mss);
        let beyond: u64 = ack.sack_blocks().map(|(start, end)| end - start).sum();
        let before = self.covered;
        self.covered = before.max(ack.acknowledgement + beyond);
        if ack.acknowledgement == flight.una {
            // A duplicate ACK reports one more packet, whose position is unknown.
            self.covered = self.covered.max(before + mss).min(flight.max);
        }
        (self.covered - before).div_ceil(mss)
    }
}

/// Returns the largest number of marked packets, out of `newly` packets, that is consistent with the ACE field
/// (dSafer.cep of appendix A.2.1).
fn safest(newly: u64, least: u64) -> u64 {
    match newly.checked_sub(least) {
        Some(more) => newly - more % DIVACE,
        None => least,
    }
}

/// Returns the increase in the marked-byte counter since s.ceb (appendix A.1); negative if the option is older than
/// s.ceb.
fn newly_marked(counts: ByteCounts, before: u64) -> i64 {
    let shift = i64::BITS - BYTES_BITS;
    let difference = i64::from(counts.marked()) - before as i64;
    // Sign extension of 24 bits selects the difference of smallest magnitude modulo 2^24.
    difference << shift >> shift
}

/// Uses the number of marked bytes to choose between the two possible numbers of marked packets (appendix A.2.2).
fn likely(bytes: u64, mss: u64, least: u64, safest: u64) -> u64 {
    let fits = bytes <= mss * least && SAFETY_FACTOR * bytes < mss * safest;
    if fits {
        least
    } else {
        safest
    }
}

#[cfg(test)]
mod tests;
