//! The segments that a sender and a receiver exchange.

use longpipe_events::{MaybeTime, Span, Time};

/// Bytes of a TCP header without options.
pub const TCP_HEADER_BYTES: u32 = 20;
/// Bytes of an IPv4 header without options.
pub const IP_HEADER_BYTES: u32 = 20;
/// Maximum length of the TCP options [byte].
const MAX_OPTION_BYTES: u32 = 40;
/// Lengths of an AccECN option with three counters and with two, including padding [byte] (RFC 9768 section 3.2.3).
const COUNTS_OPTION_BYTES: u32 = 12;
const SHORT_COUNTS_OPTION_BYTES: u32 = 8;
/// Length of a timestamp option, including padding [byte] (RFC 7323 appendix A).
pub const TIMESTAMP_OPTION_BYTES: u32 = 12;
/// Unit of Linux's timestamps (TCP_TS_HZ).
pub const TIMESTAMP_TICK: Span = Span::millis(1);

/// A segment with payload. Sequence numbers are 64-bit byte offsets and never wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSegment {
    /// First byte of the payload.
    pub sequence: u64,
    /// Payload [byte].
    pub length: u32,
    /// Whether the segment is a retransmission.
    pub retransmission: bool,
    /// The sender's clock (TSval), if timestamps are enabled.
    pub timestamp: MaybeTime,
    /// ECN bits (RFC 3168).
    pub ecn: Ecn,
    /// Role in the handshake.
    pub opening: Opening,
    /// PSH: the segment ends a write of the application (RFC 9293 section 3.9.1.2). Set only if the receiver
    /// acknowledges as Linux does.
    pub push: bool,
}

/// Role of a packet in the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// The connection is established.
    #[default]
    Over,
    /// A SYN or SYN-ACK, with the number of option bytes that only these packets carry.
    Syn(u8),
    /// The ACK of the SYN-ACK, without data.
    Ack,
}

impl Opening {
    /// Returns the number of option bytes that only a SYN or SYN-ACK carries.
    #[inline(always)]
    pub fn bytes(self) -> u32 {
        match self {
            Opening::Syn(bytes) => u32::from(bytes),
            Opening::Over | Opening::Ack => 0,
        }
    }

    /// Returns true for a SYN or a SYN-ACK.
    pub fn is_syn(self) -> bool {
        matches!(self, Opening::Syn(_))
    }
}

/// ECN bits of a data segment: two bits of its IP header and the CWR flag of its TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn {
    /// ECT(0): the sender supports ECN.
    pub capable: bool,
    /// CE: a queue marked the packet.
    pub marked: bool,
    /// CWR: the sender has reduced its window.
    pub reduced: bool,
}

/// A pure acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckSegment {
    /// Next byte expected.
    pub acknowledgement: u64,
    /// Echoed timestamp (TSecr), if timestamps are enabled.
    pub echo: MaybeTime,
    /// SACK blocks, most recent first; unused blocks at the end are empty.
    pub blocks: [SackBlock; MAX_SACK_BLOCKS],
    /// The flags AE, CWR and ECE as one number. The value 1 means that only ECE is set: marked data arrived (RFC 3168
    /// section 6.1.3). With Accurate ECN, the value is the counter of marked packets modulo 8 (RFC 9768).
    pub ace: u8,
    /// The receiver's clock (TSval) when the ACK was sent, if the sender measures one-way delays.
    pub clock: MaybeTime,
    /// Role in the handshake.
    pub opening: Opening,
    /// Byte counters of the AccECN option, if both ends use this option.
    pub counts: ByteCounts,
    /// Window that the receiver advertises [byte]; 0 if every ACK advertises the same one
    /// (`TcpConfig::advertised_window`).
    pub window: u32,
}

/// Two counters of an AccECN option (RFC 9768 section 3.2.3): payload bytes that arrived marked, and ECN-capable
/// payload bytes that arrived unmarked. A sender uses one codepoint, ECT(0) or ECT(1), so the third counter keeps its
/// initial value. Both counters are packed in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteCounts(u64);

impl ByteCounts {
    /// The ACK carries no AccECN option.
    pub const NONE: ByteCounts = ByteCounts(0);
    const BITS: u32 = 24;
    const MASK: u64 = (1 << ByteCounts::BITS) - 1;

    /// Returns the fields for the two counters, which are given in bytes and include their initial values. Each field
    /// holds its counter modulo 2^24.
    pub fn new(unmarked: u64, marked: u64) -> ByteCounts {
        let field = |bytes: u64| bytes & ByteCounts::MASK;
        ByteCounts(1 << 63 | field(marked) << ByteCounts::BITS | field(unmarked))
    }

    /// Returns true if the ACK carries the option.
    #[inline(always)]
    pub fn is_some(self) -> bool {
        self.0 != 0
    }

    /// Returns the field of unmarked bytes: EE0B or EE1B.
    pub fn unmarked(self) -> u32 {
        (self.0 & ByteCounts::MASK) as u32
    }

    /// Returns the field of marked bytes: ECEB.
    pub fn marked(self) -> u32 {
        (self.0 >> ByteCounts::BITS & ByteCounts::MASK) as u32
    }
}

/// Maximum number of SACK blocks that fit into a header with a timestamp option (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// A SACK block, stored relative to the acknowledgement number: offsets of 32 bits suffice for every window and keep
/// ACKs small. Both offsets share one word, because the processor stalls if it loads one word from two halves that were
/// stored separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock(u64);

impl SackBlock {
    /// The empty block, which follows the last block of an ACK.
    pub const NONE: SackBlock = SackBlock(0);

    /// Returns the half-open block `start..end`; both bounds are relative to the acknowledgement number.
    #[inline(always)]
    pub fn new(start: u32, end: u32) -> SackBlock {
        SackBlock(u64::from(end) << 32 | u64::from(start))
    }

    /// Returns the first byte of the block, relative to the acknowledgement number.
    #[inline(always)]
    pub fn start(self) -> u32 {
        self.0 as u32
    }

    /// Returns the first byte after the block, relative to the acknowledgement number.
    #[inline(always)]
    pub fn end(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns false for the empty block.
    #[inline(always)]
    pub fn is_some(self) -> bool {
        self.0 != 0
    }
}

impl DataSegment {
    /// Returns the first byte after the payload.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.length)
    }

    /// Returns the length of the IP packet [byte].
    #[inline(always)]
    pub fn packet_bytes(&self) -> u32 {
        self.length + header_bytes(self.timestamp.get()) + self.opening.bytes()
    }
}

impl Default for AckSegment {
    /// Returns an ACK that acknowledges no data. It is not derived, because the derived implementation calls a function
    /// to initialize the array of blocks.
    #[inline(always)]
    fn default() -> AckSegment {
        AckSegment {
            acknowledgement: 0,
            echo: MaybeTime::NONE,
            blocks: [SackBlock::NONE; MAX_SACK_BLOCKS],
            ace: 0,
            clock: MaybeTime::NONE,
            opening: Opening::Over,
            counts: ByteCounts::NONE,
            window: 0,
        }
    }
}

impl AckSegment {
    /// Returns true if the ECE flag reports marked data (RFC 3168). The result is not meaningful with Accurate ECN.
    #[inline(always)]
    pub fn echoes_mark(&self) -> bool {
        self.ace != 0
    }

    /// Returns the one-way delay of the segment whose timestamp the ACK echoes, including the receiver's delay of the
    /// ACK. None if the delay is not measured.
    #[inline]
    pub fn one_way_delay(&self) -> Option<Span> {
        Some(self.clock.get()?.since(self.echo.get()?))
    }

    /// Returns the length of the IP packet [byte]. A SACK option with n blocks is 2 + 8n bytes long and is followed by
    /// 2 bytes of padding.
    #[inline(always)]
    pub fn packet_bytes(&self) -> u32 {
        let header = header_bytes(self.echo.get());
        if self.counts.is_some() {
            return header + self.sack_option_bytes() + self.counts_option_bytes();
        }
        if !self.blocks[0].is_some() {
            return header + self.opening.bytes();
        }
        header + self.sack_option_bytes()
    }

    #[inline(always)]
    fn sack_option_bytes(&self) -> u32 {
        let blocks: u32 = self.blocks.iter().map(|block| u32::from(block.is_some())).sum();
        if blocks == 0 {
            0
        } else {
            4 + 8 * blocks
        }
    }

    /// Returns the length of the AccECN option, including its padding [byte]; the option has three counters, or two if
    /// three do not fit.
    #[cold]
    pub fn counts_option_bytes(&self) -> u32 {
        let other_options = header_bytes(self.echo.get()) - header_bytes(None) + self.sack_option_bytes();
        match self.counts.is_some() {
            false => 0,
            true if other_options + COUNTS_OPTION_BYTES <= MAX_OPTION_BYTES => COUNTS_OPTION_BYTES,
            true => SHORT_COUNTS_OPTION_BYTES,
        }
    }

    /// Returns the SACK blocks as ranges of sequence numbers, most recent first. The first block may be a DSACK block
    /// (see `duplicate`).
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        // A DSACK block may lie up to 2^31 bytes before the acknowledgement number.
        let sequence = |offset: u32| self.acknowledgement.wrapping_add_signed(i64::from(offset as i32));
        self.blocks
            .iter()
            .take_while(|block| block.is_some())
            .map(move |block| (sequence(block.start()), sequence(block.end())))
    }

    /// Returns the SACK blocks of data beyond the acknowledgement number, without a DSACK block.
    pub fn blocks_beyond(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut blocks = self.sack_blocks();
        // A filter would be compiled to a function that is not inlined.
        std::iter::from_fn(move || loop {
            let block = blocks.next()?;
            if block.0 >= self.acknowledgement {
                return Some(block);
            }
        })
    }

    /// Returns the DSACK block: the first block if it lies below the acknowledgement number or within the second block
    /// (RFC 2883 section 4).
    pub fn duplicate(&self) -> Option<(u64, u64)> {
        let mut blocks = self.sack_blocks();
        let (start, end) = blocks.next()?;
        let within = |(first, last)| first <= start && end <= last;
        (end <= self.acknowledgement || blocks.next().is_some_and(within)).then_some((start, end))
    }
}

/// Returns the length of the IP and TCP headers [byte], not counting SACK blocks.
#[inline(always)]
pub fn header_bytes(timestamp: Option<Time>) -> u32 {
    TCP_HEADER_BYTES + IP_HEADER_BYTES + if timestamp.is_some() { TIMESTAMP_OPTION_BYTES } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_enlarge_an_ack_up_to_two_cells() {
        let mut ack = AckSegment::default();
        let mut bytes = vec![ack.packet_bytes()];
        for block in 0..MAX_SACK_BLOCKS {
            ack.blocks[block] = SackBlock::new(1, 2);
            bytes.push(ack.packet_bytes());
        }
        ack.echo = Time(0).into();
        bytes.push(ack.packet_bytes());
        assert_eq!(bytes, [40, 52, 60, 68, 80]);
        // With 8 bytes of LLC/SNAP header and 8 bytes of AAL5 trailer, the packet fills exactly two cells.
        assert_eq!(bytes[4] + 16, 2 * 48);
    }
}
