//! Payloads from which packets are created.

use super::contents::Datagram;
use super::packet::{ace_bits, opening_bits, Options, CAPABLE, DATAGRAM, MARKED, PUSH, REDUCED};
use longpipe_events::MaybeTime;
use longpipe_tcp::segment::{header_bytes, ByteCounts, Ecn, Opening};
use longpipe_tcp::{AckSegment, DataSegment};

/// Payload of a packet.
pub trait Payload: Copy {
    /// Returns the length [byte] of the IP packet.
    fn packet_bytes(&self) -> u32;
    /// Returns the first byte of the payload (data) or the next expected byte (ACK), and whether the packet is a
    /// retransmission.
    fn sequence(&self) -> (u64, bool);
    /// Returns the TCP options, if any.
    fn options(&self) -> Option<Options>;
    /// Returns the timestamp, or that there is none, if such payloads never have other options.
    #[inline(always)]
    fn stamp_alone(&self) -> Option<MaybeTime> {
        None
    }
    /// Returns additional bits of the packet, such as the ECN bits.
    fn congestion(&self) -> u64 {
        0
    }
}

impl Payload for Datagram {
    fn packet_bytes(&self) -> u32 {
        Datagram::packet_bytes(self)
    }

    fn sequence(&self) -> (u64, bool) {
        (self.sent.0, false)
    }

    fn options(&self) -> Option<Options> {
        None
    }

    fn congestion(&self) -> u64 {
        DATAGRAM
    }
}

impl Payload for DataSegment {
    #[inline(always)]
    fn packet_bytes(&self) -> u32 {
        DataSegment::packet_bytes(self)
    }

    #[inline(always)]
    fn sequence(&self) -> (u64, bool) {
        (self.sequence, self.retransmission)
    }

    #[inline(always)]
    fn options(&self) -> Option<Options> {
        let options = Options {
            stamp: self.timestamp,
            ..Options::NONE
        };
        (self.timestamp != MaybeTime::NONE).then_some(options)
    }

    #[inline(always)]
    fn stamp_alone(&self) -> Option<MaybeTime> {
        Some(self.timestamp)
    }

    #[inline(always)]
    fn congestion(&self) -> u64 {
        let Ecn {
            capable,
            marked,
            reduced,
        } = self.ecn;
        let bit = |set: bool, bit: u64| if set { bit } else { 0 };
        let flags = bit(capable, CAPABLE) | bit(marked, MARKED) | bit(reduced, REDUCED) | bit(self.push, PUSH);
        flags | opening_bits(self.opening)
    }
}

impl Payload for AckSegment {
    #[inline(always)]
    fn packet_bytes(&self) -> u32 {
        AckSegment::packet_bytes(self)
    }

    #[inline(always)]
    fn sequence(&self) -> (u64, bool) {
        (self.acknowledgement, false)
    }

    #[inline(always)]
    fn options(&self) -> Option<Options> {
        let options = Options {
            stamp: self.echo,
            clock: self.clock,
            blocks: self.blocks,
            counts: self.counts,
            window: self.window,
        };
        // Most ACKs with options carry a timestamp echo, so the other fields are rarely tested.
        let has_options = self.echo != MaybeTime::NONE || !options.is_stamp_alone();
        has_options.then_some(options)
    }

    #[inline(always)]
    fn congestion(&self) -> u64 {
        if self.ace == 0 && self.opening == Opening::Over {
            return 0;
        }
        ace_bits(self.ace) | opening_bits(self.opening)
    }
}

/// An ACK without ECN information and without timestamps other than the echo.
#[derive(Clone, Copy, Debug)]
pub struct SparseAck(pub AckSegment);

impl Payload for SparseAck {
    #[inline(always)]
    fn packet_bytes(&self) -> u32 {
        AckSegment {
            counts: ByteCounts::NONE,
            opening: Opening::Over,
            ..self.0
        }
        .packet_bytes()
    }

    #[inline(always)]
    fn sequence(&self) -> (u64, bool) {
        (self.0.acknowledgement, false)
    }

    #[inline(always)]
    fn options(&self) -> Option<Options> {
        let options = Options {
            stamp: self.0.echo,
            blocks: self.0.blocks,
            ..Options::NONE
        };
        (self.0.echo != MaybeTime::NONE || self.0.blocks[0].is_some()).then_some(options)
    }
}

/// An ACK, without options, of all bytes before this sequence number.
#[derive(Clone, Copy, Debug)]
pub struct AckWithoutOptions(pub u64);

impl Payload for AckWithoutOptions {
    #[inline(always)]
    fn packet_bytes(&self) -> u32 {
        header_bytes(None)
    }

    #[inline(always)]
    fn sequence(&self) -> (u64, bool) {
        (self.0, false)
    }

    #[inline(always)]
    fn options(&self) -> Option<Options> {
        None
    }

    #[inline(always)]
    fn stamp_alone(&self) -> Option<MaybeTime> {
        Some(MaybeTime::NONE)
    }
}
