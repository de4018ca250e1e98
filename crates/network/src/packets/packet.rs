//! Compact representation of packets in transit. It saves memory, because many packets are in transit on a path with a
//! large BDP.

use super::circuit::Circuit;
use super::contents::{Contents, Datagram, External, DATAGRAM_HEADER_BYTES};
use super::in_transit::REQUEST;
use super::payload::Payload;
use longpipe_events::{MaybeTime, Time};
use longpipe_tcp::segment::{header_bytes, ByteCounts, Ecn, Opening, SackBlock, MAX_SACK_BLOCKS};
use longpipe_tcp::{AckSegment, DataSegment};

/// A packet in transit, in three words, so that it fits in registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// First byte of the payload, or acknowledgement number.
    sequence: u64,
    /// Circuit in the low bits, and the frame number within the circuit in the bits above them.
    place: u64,
    /// Index of the circuit's next step in the low bits; in the bits above them, the length [byte] including headers,
    /// and flags.
    rest: u64,
}

const OPTIONS: u64 = 1 << 48;
const RETRANSMISSION: u64 = 1 << 49;
/// ECT(0) and CE in the IP header, and CWR and ECE in the TCP header (RFC 3168 sections 5 and 6.1).
pub(super) const CAPABLE: u64 = 1 << 50;
pub(super) const MARKED: u64 = 1 << 51;
pub(super) const REDUCED: u64 = 1 << 52;
pub(super) const ECHOES_MARK: u64 = 1 << 53;
/// The packet is a datagram, not a TCP segment.
pub(super) const DATAGRAM: u64 = 1 << 54;
/// The packet comes from an external program.
const EXTERNAL: u64 = 1 << 55;
/// Position of the handshake bits: the number of 4-byte words of options that only a SYN carries (0 to 7), and a bit
/// for the ACK that completes the handshake.
const SYN_SHIFT: u32 = 56;
const SYN: u64 = 7 << SYN_SHIFT;
const ENDS_HANDSHAKE: u64 = 1 << 59;
const OPENING: u64 = SYN | ENDS_HANDSHAKE;
/// AE in the TCP header (RFC 9768).
const ACCURATE: u64 = 1 << 60;
/// The only TCP option is a timestamp or its echo.
const STAMP_ALONE: u64 = 1 << 61;
/// The packet of an external program carries ECT(1) instead of ECT(0) (RFC 9331).
const SCALABLE: u64 = 1 << 62;
/// PSH in the TCP header.
pub(super) const PUSH: u64 = 1 << 63;
/// Flags that require end points to process the packet individually.
const EXTRAS: u64 =
    OPTIONS | CAPABLE | MARKED | REDUCED | ECHOES_MARK | DATAGRAM | EXTERNAL | OPENING | ACCURATE | PUSH;

/// Returns the handshake bits.
#[inline(always)]
pub(super) fn opening_bits(opening: Opening) -> u64 {
    match opening {
        Opening::Over => 0,
        Opening::Syn(bytes) => u64::from(bytes / 4) << SYN_SHIFT,
        Opening::Ack => ENDS_HANDSHAKE,
    }
}

/// Returns the bits of an ACK whose flags AE, CWR and ECE encode `ace`.
#[inline(always)]
pub(super) fn ace_bits(ace: u8) -> u64 {
    let ace = u64::from(ace);
    (ace & 1) << 53 | (ace & 2) << 51 | (ace & 4) << 58
}

/// Returns the number that the flags AE, CWR and ECE encode.
#[inline(always)]
fn ace(bits: u64) -> u8 {
    (bits >> 53 & 1 | bits >> 51 & 2 | bits >> 58 & 4) as u8
}

/// Returns the flags of a packet from an external program.
pub(crate) fn external_bits(capable: bool, scalable: bool, marked: bool) -> u64 {
    let bit = |set: bool, bit: u64| if set { bit } else { 0 };
    EXTERNAL | bit(capable, CAPABLE) | bit(scalable, SCALABLE) | bit(marked, MARKED)
}

/// The options of a packet that is being forwarded: all options, or only a timestamp.
pub(crate) trait Carried: Copy {
    /// Returns the timestamp or its echo, if the packet has one.
    fn stamp(self) -> MaybeTime;

    /// Calls `take` with the options. A timestamp becomes a full set of options only here.
    fn with<R>(self, take: impl FnOnce(&Options) -> R) -> R;
}

impl Carried for &Options {
    #[inline(always)]
    fn stamp(self) -> MaybeTime {
        self.stamp
    }

    #[inline(always)]
    fn with<R>(self, take: impl FnOnce(&Options) -> R) -> R {
        take(self)
    }
}

impl Carried for MaybeTime {
    #[inline(always)]
    fn stamp(self) -> MaybeTime {
        self
    }

    #[inline(always)]
    fn with<R>(self, take: impl FnOnce(&Options) -> R) -> R {
        take(&Options::of_stamp(self))
    }
}

/// TCP options of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Timestamp (data) or echoed timestamp (ACK).
    pub(super) stamp: MaybeTime,
    /// The receiver's clock (ACKs only), if requested.
    pub(super) clock: MaybeTime,
    /// SACK blocks (ACK only).
    pub(super) blocks: [SackBlock; MAX_SACK_BLOCKS],
    pub(super) counts: ByteCounts,
    /// Advertised window [byte] (ACKs only), if it varies.
    pub(super) window: u32,
}

impl Default for Options {
    #[inline(always)]
    fn default() -> Options {
        Options::NONE
    }
}

impl Options {
    /// No options.
    pub const NONE: Options = Options {
        stamp: MaybeTime::NONE,
        clock: MaybeTime::NONE,
        blocks: [SackBlock::NONE; MAX_SACK_BLOCKS],
        counts: ByteCounts::NONE,
        window: 0,
    };

    /// Returns the options of a packet whose only option is a timestamp or its echo.
    #[inline(always)]
    pub fn of_stamp(stamp: MaybeTime) -> Options {
        Options { stamp, ..Options::NONE }
    }

    /// Returns whether a timestamp or its echo is the only option.
    #[inline(always)]
    pub fn is_stamp_alone(&self) -> bool {
        !self.blocks[0].is_some() & !self.counts.is_some() & (self.clock == MaybeTime::NONE) & (self.window == 0)
    }

    /// Returns the timestamp or its echo.
    #[inline(always)]
    pub fn stamp(&self) -> MaybeTime {
        self.stamp
    }
}

/// A packet on a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnWire {
    /// Arrival time of the packet's last bit at the far end.
    pub arrival: Time,
    /// The packet.
    pub packet: Packet,
}

impl Packet {
    /// Returns packet number `frame` of circuit `vc`, whose next step is `step`; writes the packet's options, if any,
    /// to `options`.
    #[inline(always)]
    pub fn new(vc: Circuit, frame: u32, step: u32, payload: &impl Payload, options: &mut Options) -> Packet {
        if let Some(own) = payload.options() {
            *options = own;
        }
        Packet::of(vc, frame, step, payload)
    }

    /// Returns packet number `frame` of circuit `vc`, whose next step is `step`, without its options.
    #[inline(always)]
    pub fn of(vc: Circuit, frame: u32, step: u32, payload: &impl Payload) -> Packet {
        let (sequence, retransmission) = payload.sequence();
        let mut rest = u64::from(step) | u64::from(payload.packet_bytes()) << 32 | payload.congestion();
        if retransmission {
            rest |= RETRANSMISSION;
        }
        if let Some(own) = payload.options() {
            rest |= OPTIONS;
            if own.is_stamp_alone() {
                rest |= STAMP_ALONE;
            }
        }
        Packet {
            sequence,
            place: u64::from(vc.0) | u64::from(frame) << 32,
            rest,
        }
    }

    /// Returns an ACK without options. Used only in untraced runs, because the packet has no frame number.
    #[inline(always)]
    pub fn ack_without_options(vc: Circuit, step: u32, acknowledgement: u64) -> Packet {
        Packet {
            sequence: acknowledgement,
            place: u64::from(vc.0),
            rest: u64::from(step) | u64::from(header_bytes(None)) << 32,
        }
    }

    /// Returns packet number `frame` of circuit `vc`: data with `length` bytes of payload and without options. `segment`
    /// has its first byte, whether it is a retransmission, and whether it carries ECT. Over IP, untraced runs set the
    /// number to 0, because nothing reads it.
    #[inline(always)]
    pub fn data_without_options(
        vc: Circuit,
        frame: u32,
        step: u32,
        (sequence, retransmission, capable): (u64, bool, bool),
        length: u32,
    ) -> Packet {
        let bytes = u64::from(length + header_bytes(None));
        let bit = |set: bool, bit: u64| if set { bit } else { 0 };
        let flags = bit(retransmission, RETRANSMISSION) | bit(capable, CAPABLE);
        Packet {
            sequence,
            place: u64::from(vc.0) | u64::from(frame) << 32,
            rest: u64::from(step) | bytes << 32 | flags,
        }
    }

    /// Returns a packet whose only option, if any, is a timestamp or its echo: data with `length` bytes of payload that
    /// carry ECT if they are `capable`, or an ACK if `length` is 0. Used only in untraced runs, because the packet has
    /// no frame number.
    #[inline(always)]
    pub fn stamped(vc: Circuit, step: u32, (sequence, length, capable): (u64, u32, bool), stamp: MaybeTime) -> Packet {
        let bytes = u64::from(length + header_bytes(stamp.get()));
        let options = match stamp == MaybeTime::NONE {
            true => 0,
            false => OPTIONS | STAMP_ALONE,
        };
        let ecn = if capable { CAPABLE } else { 0 };
        Packet {
            sequence,
            place: u64::from(vc.0),
            rest: u64::from(step) | bytes << 32 | options | ecn,
        }
    }

    /// Returns the first byte of the payload, or the acknowledgement number.
    #[inline(always)]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the packet with its sequence or acknowledgement number relative to `base`, the first number of its
    /// connection; None if the packet belongs to an earlier connection.
    #[inline]
    pub fn since(self, base: u64) -> Option<Packet> {
        let sequence = self.sequence.checked_sub(base)?;
        Some(Packet { sequence, ..self })
    }

    /// Returns the payload [byte] of a packet without options.
    #[inline(always)]
    pub fn segment_bytes(&self) -> u32 {
        u32::from(self.bytes()) - header_bytes(None)
    }

    /// Returns whether the packet is data from a flow's sender, without options or ECN flags.
    #[inline(always)]
    pub fn is_data_without_options(&self) -> bool {
        (self.place & (u64::from(REQUEST) << 32 | 1)) | (self.rest & EXTRAS) == 0
    }

    /// Returns whether the packet is data from a flow's sender, without options, and without ECN flags other than ECT.
    #[inline(always)]
    pub fn is_data_with_ect_at_most(&self) -> bool {
        (self.place & (u64::from(REQUEST) << 32 | 1)) | (self.rest & (EXTRAS & !CAPABLE)) == 0
    }

    /// Returns whether the packet is an ACK of a flow's data, without options or ECN flags.
    #[inline(always)]
    pub fn is_ack_without_options(&self) -> bool {
        ((self.place ^ 1) & (u64::from(REQUEST) << 32 | 1)) | (self.rest & EXTRAS) == 0
    }

    /// Returns whether the packet is a flow's TCP segment without flags other than ECT, and without options other than a
    /// timestamp.
    #[inline(always)]
    pub fn has_at_most_stamp(&self) -> bool {
        // These bits are equal only for packets whose sole option is a timestamp.
        let other_options = (self.rest ^ (self.rest >> (STAMP_ALONE / OPTIONS).trailing_zeros())) & OPTIONS;
        (self.place & u64::from(REQUEST) << 32) | (self.rest & (EXTRAS & !(OPTIONS | CAPABLE))) | other_options == 0
    }

    /// Returns whether the packet is data from a flow's sender with a timestamp, without other options, and without ECN
    /// flags other than ECT.
    #[inline(always)]
    pub fn is_stamped_data(&self) -> bool {
        let extras = (self.rest & (EXTRAS & !CAPABLE | STAMP_ALONE)) ^ (OPTIONS | STAMP_ALONE);
        (self.place & (u64::from(REQUEST) << 32 | 1)) | extras == 0
    }

    /// Returns the payload [byte] of a packet whose only option is the timestamp `stamp`.
    #[inline(always)]
    pub fn payload_bytes(&self, stamp: MaybeTime) -> u32 {
        u32::from(self.bytes()) - header_bytes(stamp.get())
    }

    /// Returns the packet's circuit. A flow's data use one circuit, and its ACKs use another.
    #[inline(always)]
    pub fn vc(&self) -> Circuit {
        Circuit(self.place as u32)
    }

    /// Returns the frame number within the circuit.
    #[inline(always)]
    pub fn frame(&self) -> u32 {
        (self.place >> 32) as u32
    }

    /// Returns the index of the circuit's next step: the link that the packet takes next.
    #[inline(always)]
    pub fn step(&self) -> u32 {
        self.rest as u32
    }

    /// Returns the packet advanced by one step.
    #[inline(always)]
    pub fn further(self) -> Packet {
        Packet {
            rest: self.rest + 1,
            ..self
        }
    }

    /// Returns the packet with the given next step.
    #[inline(always)]
    pub fn at_step(self, step: u32) -> Packet {
        Packet {
            rest: (self.rest >> 32) << 32 | u64::from(step),
            ..self
        }
    }

    /// Returns the length [byte], including headers.
    #[inline(always)]
    pub fn bytes(&self) -> u16 {
        (self.rest >> 32) as u16
    }

    /// Returns whether the packet has TCP options.
    #[inline(always)]
    pub fn has_options(&self) -> bool {
        self.rest & OPTIONS != 0
    }

    /// Returns whether a timestamp or its echo is the packet's only TCP option.
    #[inline(always)]
    pub fn has_stamp_alone(&self) -> bool {
        self.rest & STAMP_ALONE != 0
    }

    /// Returns whether the packet has TCP options other than a timestamp or its echo.
    #[inline(always)]
    pub fn has_other_options(&self) -> bool {
        self.rest & (OPTIONS | STAMP_ALONE) == OPTIONS
    }

    /// Returns whether the packet has options or flags that require end points to process it individually.
    #[inline(always)]
    pub fn has_extras(&self) -> bool {
        self.rest & EXTRAS != 0
    }

    /// Returns whether a port may mark the packet with CE.
    pub fn is_capable(&self) -> bool {
        self.rest & CAPABLE != 0
    }

    /// Returns whether the packet of an external program carries ECT(1).
    pub fn is_scalable(&self) -> bool {
        self.rest & SCALABLE != 0
    }

    /// Returns whether this ACK makes an `earlier` ACK of the same connection redundant (RFC 3449 section 5.2.1): it is
    /// not a duplicate, and contains all SACK blocks and ECN flags of the earlier ACK.
    pub fn replaces(&self, earlier: &Packet, options: &Options) -> bool {
        let fields = |packet: &Packet| {
            (
                packet.vc(),
                packet.is_of_request(),
                packet.rest & (REDUCED | ECHOES_MARK | ACCURATE | DATAGRAM | EXTERNAL | OPENING),
            )
        };
        let sacks = earlier.has_options() && options.blocks[0].is_some();
        !self.is_data()
            && !self.is_datagram()
            && !self.is_external()
            && fields(self) == fields(earlier)
            && earlier.sequence < self.sequence
            && !sacks
    }

    /// Returns whether the packet contains data from a flow's sender, or an ACK of such data.
    #[inline(always)]
    pub fn is_of_sender(&self) -> bool {
        (self.place & u64::from(REQUEST) << 32) | (self.rest & (EXTERNAL | DATAGRAM)) == 0
    }

    /// Returns whether the packet comes from an external program.
    pub fn is_external(&self) -> bool {
        self.rest & EXTERNAL != 0
    }

    /// Returns the packet's role in the handshake.
    #[inline(always)]
    fn opening(&self) -> Opening {
        match self.rest & OPENING {
            0 => Opening::Over,
            ENDS_HANDSHAKE => Opening::Ack,
            syn => Opening::Syn(4 * (syn >> SYN_SHIFT) as u8),
        }
    }

    /// Returns whether the packet is ECN-marked (CE).
    pub fn is_marked(&self) -> bool {
        self.rest & MARKED != 0
    }

    /// Returns the packet with an ECN mark (CE).
    pub fn marked(self) -> Packet {
        Packet {
            rest: self.rest | MARKED,
            ..self
        }
    }

    /// Returns whether the packet is a request or the ACK of a request.
    #[inline(always)]
    pub fn is_of_request(&self) -> bool {
        self.frame() & REQUEST != 0
    }

    /// Returns whether the packet carries data. Requests are data on the circuit of the ACKs.
    #[inline(always)]
    pub fn is_data(&self) -> bool {
        self.vc().is_back() == self.is_of_request()
    }

    /// Returns the sequence number of the first byte and the number of bytes of the data of the flow's TCP sender, if
    /// the packet carries such data.
    pub fn own_data(&self) -> Option<(u64, u32)> {
        let carries_data = self.is_of_sender() && !self.vc().is_back() && self.opening() == Opening::Over;
        // The only option of data is a timestamp, whose value does not affect the length.
        let timestamp = self.has_options().then_some(Time::ZERO);
        carries_data.then(|| (self.sequence, u32::from(self.bytes()) - header_bytes(timestamp)))
    }

    /// Returns the data segment; `options` are used if the packet has any.
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
            push: self.rest & PUSH != 0,
        }
    }

    /// Returns the ACK; `options` are used if the packet has any.
    #[inline(always)]
    pub fn ack(&self, options: &Options) -> AckSegment {
        let Options {
            stamp,
            clock,
            blocks,
            counts,
            window,
        } = if self.has_options() { *options } else { Options::NONE };
        // Most ACKs have neither ECN flags nor handshake flags.
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
            window,
        }
    }

    /// Returns whether the packet is a UDP datagram.
    pub fn is_datagram(&self) -> bool {
        self.rest & DATAGRAM != 0
    }

    /// Returns the datagram.
    pub fn datagram(&self) -> Datagram {
        Datagram {
            sent: Time(self.sequence),
            length: u32::from(self.bytes()) - DATAGRAM_HEADER_BYTES,
        }
    }

    /// Returns the contents of the packet, whatever their kind.
    pub fn contents(&self, options: &Options) -> Contents {
        if self.is_external() {
            Contents::External(External {
                id: self.sequence,
                bytes: u32::from(self.bytes()),
                marked: self.is_marked(),
            })
        } else if self.is_datagram() {
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
