//! A packet and what it carries, in as few bytes as a long pipe full of them asks for.

use super::circuit::Circuit;
use super::contents::{Contents, Datagram, DATAGRAM_HEADER_BYTES};
use super::in_transit::REQUEST;
use super::payload::Payload;
use longpipe_events::{MaybeTime, Time};
use longpipe_tcp::segment::{header_bytes, ByteCounts, Ecn, Opening, SackBlock, MAX_SACK_BLOCKS};
use longpipe_tcp::{AckSegment, DataSegment};

/// A packet on its way, in three words that registers hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// First byte of the payload, or next byte expected.
    sequence: u64,
    /// InTransit, and above it the number within the circuit.
    place: u64,
    /// The step of its circuit that comes next; above it the length with headers [byte] and some bits.
    rest: u64,
}

const OPTIONS: u64 = 1 << 48;
const RETRANSMISSION: u64 = 1 << 49;
/// ECT(0) and CE of the IP header, CWR and ECE of TCP's (RFC 3168 sections 5 and 6.1).
pub(super) const CAPABLE: u64 = 1 << 50;
pub(super) const MARKED: u64 = 1 << 51;
pub(super) const REDUCED: u64 = 1 << 52;
pub(super) const ECHOES_MARK: u64 = 1 << 53;
/// It is no segment of TCP.
pub(super) const DATAGRAM: u64 = 1 << 54;
/// Of a program outside the run.
const FOREIGN: u64 = 1 << 55;
/// Of a handshake: four bytes of options that a SYN alone has, up to seven times, and the ACK that ends it.
const SYN_SHIFT: u32 = 56;
const SYN: u64 = 7 << SYN_SHIFT;
const ENDS_HANDSHAKE: u64 = 1 << 59;
const OPENING: u64 = SYN | ENDS_HANDSHAKE;
/// AE of TCP's header (RFC 9768).
const ACCURATE: u64 = 1 << 60;
/// What end points have to look at one by one.
const NOTABLE: u64 = OPTIONS | CAPABLE | MARKED | REDUCED | ECHOES_MARK | DATAGRAM | FOREIGN | OPENING | ACCURATE;

/// What a packet says of a handshake.
#[inline(always)]
pub(super) fn opening_bits(opening: Opening) -> u64 {
    match opening {
        Opening::Over => 0,
        Opening::Syn(bytes) => u64::from(bytes / 4) << SYN_SHIFT,
        Opening::Ack => ENDS_HANDSHAKE,
    }
}

/// The bits of an ACK whose flags AE, CWR and ECE are this number.
#[inline(always)]
pub(super) fn ace_bits(ace: u8) -> u64 {
    let ace = u64::from(ace);
    (ace & 1) << 53 | (ace & 2) << 51 | (ace & 4) << 58
}

/// The reverse.
#[inline(always)]
fn ace(bits: u64) -> u8 {
    (bits >> 53 & 1 | bits >> 51 & 2 | bits >> 58 & 4) as u8
}

/// What the packet of a program outside says of congestion, and that it is one.
pub(crate) fn foreign_bits(capable: bool, marked: bool) -> u64 {
    let bit = |set: bool, bit: u64| if set { bit } else { 0 };
    FOREIGN | bit(capable, CAPABLE) | bit(marked, MARKED)
}

/// The TCP options of a packet that has any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Timestamp, or its echo.
    pub(super) stamp: MaybeTime,
    /// Of an ACK, its receiver's clock where that is asked for.
    pub(super) clock: MaybeTime,
    /// Of an ACK.
    pub(super) blocks: [SackBlock; MAX_SACK_BLOCKS],
    pub(super) counts: ByteCounts,
}

impl Options {
    /// Of a packet that has none.
    pub const NONE: Options = Options {
        stamp: MaybeTime::NONE,
        clock: MaybeTime::NONE,
        blocks: [SackBlock::NONE; MAX_SACK_BLOCKS],
        counts: ByteCounts::NONE,
    };

    /// Whether there is a timestamp, or its echo, and nothing else.
    #[inline(always)]
    pub fn is_stamp_alone(&self) -> bool {
        !self.blocks[0].is_some() & !self.counts.is_some() & (self.clock == MaybeTime::NONE)
    }

    /// The timestamp, or its echo.
    #[inline(always)]
    pub fn stamp(&self) -> MaybeTime {
        self.stamp
    }
}

/// A packet on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnWire {
    /// When its last bit arrives downstream.
    pub arrival: Time,
    /// The packet.
    pub packet: Packet,
}

impl Packet {
    /// Packet number `frame` of circuit `vc`, before a step of it; `options` are written if it has any.
    #[inline(always)]
    pub fn new(vc: Circuit, frame: u32, step: u32, payload: &impl Payload, options: &mut Options) -> Packet {
        let (sequence, retransmission) = payload.sequence();
        let mut rest = u64::from(step) | u64::from(payload.packet_bytes()) << 32 | payload.congestion();
        if retransmission {
            rest |= RETRANSMISSION;
        }
        if let Some(own) = payload.options() {
            rest |= OPTIONS;
            *options = own;
        }
        Packet {
            sequence,
            place: u64::from(vc.0) | u64::from(frame) << 32,
            rest,
        }
    }

    /// A packet of a circuit that carries an ACK without options, of all below this byte, where nobody watches.
    #[inline(always)]
    pub fn plain_ack(vc: Circuit, step: u32, acknowledgement: u64) -> Packet {
        Packet {
            sequence: acknowledgement,
            place: u64::from(vc.0),
            rest: u64::from(step) | u64::from(header_bytes(None)) << 32,
        }
    }

    /// Likewise one that carries so many bytes of data from `sequence` on.
    #[inline(always)]
    pub fn plain_data(vc: Circuit, step: u32, (sequence, retransmission): (u64, bool), length: u32) -> Packet {
        let bytes = u64::from(length + header_bytes(None));
        Packet {
            sequence,
            place: u64::from(vc.0),
            rest: u64::from(step) | bytes << 32 | if retransmission { RETRANSMISSION } else { 0 },
        }
    }

    /// First byte of the payload, or next byte expected.
    #[inline(always)]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Bytes of payload, if it has no options.
    #[inline(always)]
    pub fn segment_bytes(&self) -> u32 {
        u32::from(self.bytes()) - header_bytes(None)
    }

    /// Whether it carries data of a flow's application without options and without a word of congestion.
    #[inline(always)]
    pub fn is_plain_data(&self) -> bool {
        (self.place & (u64::from(REQUEST) << 32 | 1)) | (self.rest & NOTABLE) == 0
    }

    /// Whether it is an ACK of such data, without any of these.
    #[inline(always)]
    pub fn is_plain_ack(&self) -> bool {
        ((self.place ^ 1) & (u64::from(REQUEST) << 32 | 1)) | (self.rest & NOTABLE) == 0
    }

    /// Whether it is a segment of a flow's TCP that has no more to say than options tell.
    #[inline(always)]
    pub fn is_simple(&self) -> bool {
        (self.place & u64::from(REQUEST) << 32) | (self.rest & (NOTABLE & !OPTIONS)) == 0
    }

    /// Bytes of payload, if that is its only option.
    #[inline(always)]
    pub fn payload_bytes(&self, stamp: MaybeTime) -> u32 {
        u32::from(self.bytes()) - header_bytes(stamp.get())
    }

    /// InTransit: of a flow's data or of its ACKs.
    #[inline(always)]
    pub fn vc(&self) -> Circuit {
        Circuit(self.place as u32)
    }

    /// Its number within the circuit.
    #[inline(always)]
    pub fn frame(&self) -> u32 {
        (self.place >> 32) as u32
    }

    /// The step of its circuit that comes next.
    #[inline(always)]
    pub fn step(&self) -> u32 {
        self.rest as u32
    }

    /// The same packet a step further.
    #[inline(always)]
    pub fn further(self) -> Packet {
        Packet {
            rest: self.rest + 1,
            ..self
        }
    }

    /// The same packet before another step.
    #[inline(always)]
    pub fn at_step(self, step: u32) -> Packet {
        Packet {
            rest: (self.rest >> 32) << 32 | u64::from(step),
            ..self
        }
    }

    /// Length, headers included [byte].
    #[inline(always)]
    pub fn bytes(&self) -> u16 {
        (self.rest >> 32) as u16
    }

    /// Whether it has TCP options.
    #[inline(always)]
    pub fn has_options(&self) -> bool {
        self.rest & OPTIONS != 0
    }

    /// Whether it has options, or says something of congestion.
    #[inline(always)]
    pub fn is_notable(&self) -> bool {
        self.rest & NOTABLE != 0
    }

    /// Whether a port may mark it: its sender understands marks.
    pub fn is_capable(&self) -> bool {
        self.rest & CAPABLE != 0
    }

    /// Whether it is an ACK that says all that an earlier one of the same connection does (RFC 3449 section 5.2.1): not a
    /// duplicate of it, nor one without its SACK blocks or its word of marks.
    pub fn replaces(&self, earlier: &Packet, options: &Options) -> bool {
        let one = |packet: &Packet| {
            (
                packet.vc(),
                packet.is_of_request(),
                packet.rest & (REDUCED | ECHOES_MARK | ACCURATE | DATAGRAM | FOREIGN | OPENING),
            )
        };
        let sacks = earlier.has_options() && options.blocks[0].is_some();
        !self.is_data()
            && !self.is_datagram()
            && !self.is_foreign()
            && one(self) == one(earlier)
            && earlier.sequence < self.sequence
            && !sacks
    }

    /// Whether it is a segment of a flow's TCP: data of its sender, or an ACK of them.
    #[inline(always)]
    pub fn is_of_sender(&self) -> bool {
        (self.place & u64::from(REQUEST) << 32) | (self.rest & (FOREIGN | DATAGRAM)) == 0
    }

    /// Whether it is of a program outside the run.
    pub fn is_foreign(&self) -> bool {
        self.rest & FOREIGN != 0
    }

    /// Its part in a handshake.
    #[inline(always)]
    fn opening(&self) -> Opening {
        match self.rest & OPENING {
            0 => Opening::Over,
            ENDS_HANDSHAKE => Opening::Ack,
            syn => Opening::Syn(4 * (syn >> SYN_SHIFT) as u8),
        }
    }

    /// Whether it has met congestion.
    pub fn is_marked(&self) -> bool {
        self.rest & MARKED != 0
    }

    /// The same packet, marked as having met congestion.
    pub fn marked(self) -> Packet {
        Packet {
            rest: self.rest | MARKED,
            ..self
        }
    }

    /// Whether it is of a request, or the ACK of one.
    #[inline(always)]
    pub fn is_of_request(&self) -> bool {
        self.frame() & REQUEST != 0
    }

    /// Whether it carries data rather than an ACK alone: requests go the other way.
    #[inline(always)]
    pub fn is_data(&self) -> bool {
        self.vc().is_back() == self.is_of_request()
    }

    /// What it carries, with the options that it has, if any.
    #[inline(always)]
    pub fn segment(&self, options: &Options) -> DataSegment {
        let timestamp = if self.has_options() {
            options.stamp
        } else {
            MaybeTime::NONE
        };
        let opening = self.opening();
        DataSegment {
            sequence: self.sequence,
            length: u32::from(self.bytes()) - header_bytes(timestamp.get()) - opening.bytes(),
            retransmission: self.rest & RETRANSMISSION != 0,
            timestamp,
            ecn: Ecn {
                capable: self.is_capable(),
                marked: self.is_marked(),
                reduced: self.rest & REDUCED != 0,
            },
            opening,
        }
    }

    /// Likewise, of an ACK.
    #[inline(always)]
    pub fn ack(&self, options: &Options) -> AckSegment {
        let Options {
            stamp,
            clock,
            blocks,
            counts,
        } = if self.has_options() {
            *options
        } else {
            Options::default()
        };
        // Mostly it says nothing of marks, nor of a handshake.
        let (ace, opening) = match self.rest & (ECHOES_MARK | REDUCED | ACCURATE | OPENING) {
            0 => (0, Opening::Over),
            bits => (ace(bits), self.opening()),
        };
        AckSegment {
            acknowledgement: self.sequence,
            echo: stamp,
            blocks,
            ace,
            clock,
            opening,
            counts,
        }
    }

    /// Whether it is a datagram of UDP.
    pub fn is_datagram(&self) -> bool {
        self.rest & DATAGRAM != 0
    }

    /// Likewise, of a datagram.
    pub fn datagram(&self) -> Datagram {
        Datagram {
            sent: Time(self.sequence),
            length: u32::from(self.bytes()) - DATAGRAM_HEADER_BYTES,
        }
    }

    /// Any of these.
    pub fn contents(&self, options: &Options) -> Contents {
        if self.is_datagram() {
            Contents::Datagram(self.datagram())
        } else if self.is_data() {
            Contents::Data(self.segment(options))
        } else {
            Contents::Ack(self.ack(options))
        }
    }
}

#[cfg(test)]
mod tests;
