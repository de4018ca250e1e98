//! What the two end points send each other.

use longpipe_events::{MaybeTime, Span, Time};

/// Bytes of a TCP header without options.
pub const TCP_HEADER_BYTES: u32 = 20;
/// Bytes of an IPv4 header without options.
pub const IP_HEADER_BYTES: u32 = 20;
/// Most bytes of options.
const MOST_OPTION_BYTES: u32 = 40;
/// Bytes that an AccECN option of three counters adds, padding included, and one of two (RFC 9768 section 3.2.3).
const COUNTS_OPTION_BYTES: u32 = 12;
const SHORT_COUNTS_OPTION_BYTES: u32 = 8;
/// Bytes that a timestamp option adds, padding included (RFC 7323 appendix A).
pub const TIMESTAMP_OPTION_BYTES: u32 = 12;

/// A segment with payload. Sequence numbers are 64-bit byte offsets and never wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSegment {
    /// First byte of the payload.
    pub sequence: u64,
    /// Bytes of payload.
    pub length: u32,
    /// Whether these bytes had been sent before.
    pub retransmission: bool,
    /// Sender's clock, where timestamps are on.
    pub timestamp: MaybeTime,
    /// What it says of congestion (RFC 3168).
    pub ecn: Ecn,
    /// Its part in a handshake.
    pub opening: Opening,
}

/// What a packet does to open a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opening {
    /// Nothing: the connection is open.
    #[default]
    Over,
    /// SYN, or its answer, with so many bytes of options that no other packet has.
    Syn(u8),
    /// The ACK of the answer, without data.
    Ack,
}

impl Opening {
    /// Bytes of options that no other packet has.
    #[inline(always)]
    pub fn bytes(self) -> u32 {
        match self {
            Opening::Syn(bytes) => u32::from(bytes),
            Opening::Over | Opening::Ack => 0,
        }
    }

    /// Whether it is a SYN, or its answer.
    pub fn is_syn(self) -> bool {
        matches!(self, Opening::Syn(_))
    }
}

/// What a segment with payload says of congestion: bits of its IP header, and a flag of TCP's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn {
    /// ECT(0): who sent it understands marks.
    pub capable: bool,
    /// CE: it met congestion.
    pub marked: bool,
    /// CWR: the window has been reduced.
    pub reduced: bool,
}

/// A pure acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSegment {
    /// Next byte expected.
    pub acknowledgement: u64,
    /// Timestamp sent back, where timestamps are on.
    pub echo: MaybeTime,
    /// Data received beyond a hole, the most recent block first; empty blocks at the end.
    pub blocks: [SackBlock; MAX_SACK_BLOCKS],
    /// AE, CWR and ECE as a number: ECE alone, 1, where data arrived marked (RFC 3168 section 6.1.3), or a count (RFC 9768).
    pub ace: u8,
    /// Receiver's clock when it left (TSval), where its sender measures one-way delays.
    pub clock: MaybeTime,
    /// Its part in a handshake.
    pub opening: Opening,
    /// What an AccECN option says, where both ends use it.
    pub counts: ByteCounts,
}

/// Two of the counters of an AccECN option (RFC 9768 section 3.2.3): bytes of payload that arrived marked, and unmarked of those
/// that could be. All that can be marked says the same, ECT(0) or ECT(1), so that the third stays at its first value. One word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteCounts(u64);

impl ByteCounts {
    /// No option.
    pub const NONE: ByteCounts = ByteCounts(0);
    const BITS: u32 = 24;
    const MASK: u64 = (1 << ByteCounts::BITS) - 1;

    /// Of so many bytes, initial values included; each field holds the remainder by 2^24.
    pub fn new(unmarked: u64, marked: u64) -> ByteCounts {
        let field = |bytes: u64| bytes & ByteCounts::MASK;
        ByteCounts(1 << 63 | field(marked) << ByteCounts::BITS | field(unmarked))
    }

    /// Whether there is an option.
    #[inline(always)]
    pub fn is_some(self) -> bool {
        self.0 != 0
    }

    /// The field of unmarked bytes: EE0B, or EE1B.
    pub fn unmarked(self) -> u32 {
        (self.0 & ByteCounts::MASK) as u32
    }

    /// The field of marked bytes: ECEB.
    pub fn marked(self) -> u32 {
        (self.0 >> ByteCounts::BITS & ByteCounts::MASK) as u32
    }
}

/// Most SACK blocks that fit beside a timestamp option (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// A block of a SACK option, relative to its ACK: no window is wider than 32 bits, and ACKs stay small. One word, for a processor
/// waits when it reads two halves at once that were written one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock(u64);

impl SackBlock {
    /// None: what follows the last block of an ACK.
    pub const NONE: SackBlock = SackBlock(0);

    /// From this byte up to that one, which is not in it, both counted from the acknowledgement.
    #[inline(always)]
    pub fn new(start: u32, end: u32) -> SackBlock {
        SackBlock(u64::from(end) << 32 | u64::from(start))
    }

    /// First byte, counted from the acknowledgement.
    #[inline(always)]
    pub fn start(self) -> u32 {
        self.0 as u32
    }

    /// First byte after it, likewise.
    #[inline(always)]
    pub fn end(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether there is a block.
    #[inline(always)]
    pub fn is_some(self) -> bool {
        self.0 != 0
    }
}

impl DataSegment {
    /// First byte after the payload.
    #[inline(always)]
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.length)
    }

    /// Length of the IP packet [byte].
    #[inline(always)]
    pub fn packet_bytes(&self) -> u32 {
        self.length + header_bytes(self.timestamp.get()) + self.opening.bytes()
    }
}

impl AckSegment {
    /// Whether it says that data arrived marked, where it does not count (RFC 3168).
    #[inline(always)]
    pub fn echoes_mark(&self) -> bool {
        self.ace != 0
    }

    /// One-way delay of the segment whose timestamp it echoes, the wait for the ACK with it; none where nobody measures it.
    #[inline]
    pub fn one_way_delay(&self) -> Option<Span> {
        Some(self.clock.get()?.since(self.echo.get()?))
    }

    /// Length of the IP packet [byte]. A SACK option of n blocks takes 2 + 8n bytes and 2 of padding.
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
        match self.sack_blocks().count() as u32 {
            0 => 0,
            blocks => 4 + 8 * blocks,
        }
    }

    /// Bytes of an AccECN option with its padding: of two counters where there is no room for three.
    #[cold]
    pub fn counts_option_bytes(&self) -> u32 {
        let others = header_bytes(self.echo.get()) - header_bytes(None) + self.sack_option_bytes();
        match self.counts.is_some() {
            false => 0,
            true if others + COUNTS_OPTION_BYTES <= MOST_OPTION_BYTES => COUNTS_OPTION_BYTES,
            true => SHORT_COUNTS_OPTION_BYTES,
        }
    }

    /// The SACK blocks as ranges of sequence numbers, the most recent first; before it may stand one of what came twice.
    pub fn sack_blocks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        // What came twice may lie before the acknowledgement, as far as half of what 32 bits count.
        let sequence = |offset: u32| self.acknowledgement.wrapping_add_signed(i64::from(offset as i32));
        self.blocks
            .iter()
            .take_while(|block| block.is_some())
            .map(move |block| (sequence(block.start()), sequence(block.end())))
    }

    /// Those of data beyond a hole.
    pub fn blocks_beyond(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.sack_blocks().filter(|&(start, _)| start >= self.acknowledgement)
    }

    /// What came twice: the first block, if it is of what is acknowledged, or part of the second one (RFC 2883 section 4).
    pub fn duplicate(&self) -> Option<(u64, u64)> {
        let mut blocks = self.sack_blocks();
        let (start, end) = blocks.next()?;
        let within = |(first, last)| first <= start && end <= last;
        (end <= self.acknowledgement || blocks.next().is_some_and(within)).then_some((start, end))
    }
}

/// Bytes of a packet before its payload, SACK blocks aside.
#[inline(always)]
pub fn header_bytes(timestamp: Option<Time>) -> u32 {
    TCP_HEADER_BYTES + IP_HEADER_BYTES + if timestamp.is_some() { TIMESTAMP_OPTION_BYTES } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_grows_by_its_options_and_stays_within_two_cells() {
        let mut ack = AckSegment::default();
        let mut bytes = vec![ack.packet_bytes()];
        for block in 0..MAX_SACK_BLOCKS {
            ack.blocks[block] = SackBlock::new(1, 2);
            bytes.push(ack.packet_bytes());
        }
        ack.echo = Time(0).into();
        bytes.push(ack.packet_bytes());
        assert_eq!(bytes, [40, 52, 60, 68, 80]);
        // 8 bytes of LLC/SNAP and 8 of AAL5 trailer fill two cells to the last byte.
        assert_eq!(bytes[4] + 16, 2 * 48);
    }
}
