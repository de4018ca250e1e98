//! Durations and data rates of 802.11 frames (IEEE 802.11-2016 clauses 17, 19 and 21; 802.11ax-2021 clause 27).

use longpipe_json::FromJson;
use longpipe_tcp::described::Described;
use serde::Serialize;

const US: u64 = 1_000_000;
/// Duration [ps] of a slot with short slot time.
pub(super) const SLOT_PS: u64 = 9 * US;
/// Preamble and SIGNAL field [ps] of a frame that legacy stations can decode, such as an acknowledgement.
const LEGACY_PREAMBLE_PS: u64 = 20 * US;
const LEGACY_SYMBOL_PS: u64 = 4 * US;
/// Service field (16 bit) and tail (6 bit) of a PPDU.
const SERVICE_AND_TAIL_BITS: u64 = 22;
const ACK_BYTES: u64 = 14;
/// Data bits of a symbol at the mandatory rates of 6, 12 and 24 Mbit/s, at which stations respond.
const RESPONSE_BITS: [u64; 3] = [24, 48, 96];
/// Data bits of a symbol at 6, 9, 12, 18, 24, 36, 48 and 54 Mbit/s.
const LEGACY_BITS: [u64; 8] = [24, 36, 48, 72, 96, 144, 192, 216];
/// Bits per subcarrier, and numerator and denominator of the code rate, by MCS.
const MCS: [(u64, u64, u64); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

/// Amendments of IEEE 802.11 whose frames and rules a cell has.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
#[serde(rename_all = "kebab-case")]
pub enum Standard {
    /// 802.11a (5 GHz).
    A,
    /// 802.11g (2.4 GHz) without stations of 802.11b.
    G,
    /// 802.11n (5 GHz), Wi-Fi 4.
    N,
    /// 802.11ac, Wi-Fi 5.
    Ac,
    /// 802.11ax (5 GHz), Wi-Fi 6.
    Ax,
}

/// Widths of a channel.
#[derive(Clone, Copy, Debug, FromJson, Serialize, PartialEq, Eq, Described)]
pub enum Width {
    /// 20 MHz.
    #[serde(rename = "20 MHz")]
    Mhz20,
    /// 40 MHz.
    #[serde(rename = "40 MHz")]
    Mhz40,
    /// 80 MHz.
    #[serde(rename = "80 MHz")]
    Mhz80,
    /// 160 MHz.
    #[serde(rename = "160 MHz")]
    Mhz160,
}

impl Width {
    fn index(self) -> usize {
        self as usize
    }

    /// Returns the width as users write it.
    pub fn name(self) -> &'static str {
        ["20 MHz", "40 MHz", "80 MHz", "160 MHz"][self.index()]
    }
}

impl Standard {
    /// Returns the name as users write it.
    pub fn name(self) -> &'static str {
        ["a", "g", "n", "ac", "ax"][self as usize]
    }

    /// Returns the short interframe space [ps].
    pub fn sifs_ps(self) -> u64 {
        if self == Standard::G {
            10 * US
        } else {
            16 * US
        }
    }

    /// Returns whether frames of the standard may be aggregated (A-MPDU).
    pub fn aggregates(self) -> bool {
        !matches!(self, Standard::A | Standard::G)
    }

    /// Returns the AIFSN of best effort, or the one that gives DIFS.
    pub fn aifsn(self) -> u32 {
        if self.aggregates() {
            3
        } else {
            2
        }
    }

    /// Returns the maximum number of MPDUs in an A-MPDU, which is the window of block acknowledgement.
    pub fn max_frames(self) -> u32 {
        match self {
            Standard::A | Standard::G => 1,
            Standard::N | Standard::Ac => 64,
            Standard::Ax => 256,
        }
    }

    /// Returns the maximum length [byte] of an A-MPDU.
    fn max_bytes(self) -> u64 {
        match self {
            Standard::A | Standard::G | Standard::N => 65_535,
            Standard::Ac => 1_048_575,
            Standard::Ax => 6_500_631,
        }
    }

    /// Returns the widest channel.
    pub fn widest(self) -> Width {
        match self {
            Standard::A | Standard::G => Width::Mhz20,
            Standard::N => Width::Mhz40,
            Standard::Ac | Standard::Ax => Width::Mhz160,
        }
    }

    /// Returns the length [byte] of MAC header, FCS and LLC/SNAP header; from 802.11n on with the field of QoS.
    pub fn header_bytes(self) -> u64 {
        if self.aggregates() {
            38
        } else {
            36
        }
    }

    /// Returns the preamble [ps], of which a part depends on the number of spatial streams by training fields.
    fn preamble_ps(self, streams: u64) -> u64 {
        let training = [1, 2, 4, 4][streams as usize - 1];
        match self {
            Standard::A | Standard::G => LEGACY_PREAMBLE_PS,
            Standard::N => LEGACY_PREAMBLE_PS + (12 + 4 * training) * US,
            Standard::Ac => LEGACY_PREAMBLE_PS + (16 + 4 * training) * US,
            Standard::Ax => LEGACY_PREAMBLE_PS + (16 + 8 * training) * US,
        }
    }

    /// Returns the duration [ps] of a symbol with the shortest guard interval.
    fn symbol_ps(self) -> u64 {
        match self {
            Standard::A | Standard::G => LEGACY_SYMBOL_PS,
            Standard::N | Standard::Ac => 3_600_000,
            Standard::Ax => 13_600_000,
        }
    }

    /// Returns the silence [ps] after each frame of 802.11g, in which receivers of 802.11a would still decode.
    fn extension_ps(self) -> u64 {
        if self == Standard::G {
            6 * US
        } else {
            0
        }
    }

    /// Returns the number of data bits in a symbol by MCS; None for an MCS that the standard excludes.
    fn bits_per_symbol(self, width: Width, streams: u64) -> Vec<Option<u64>> {
        let (subcarriers, count): ([u64; 4], usize) = match self {
            Standard::A | Standard::G => return LEGACY_BITS.map(Some).to_vec(),
            Standard::N => ([52, 108, 234, 468], 8),
            Standard::Ac => ([52, 108, 234, 468], 10),
            Standard::Ax => ([234, 468, 980, 1960], 12),
        };
        let excluded = |mcs: usize| {
            self == Standard::Ac
                && match (width, mcs) {
                    (Width::Mhz20, 9) => streams != 3,
                    (Width::Mhz80, 6) | (Width::Mhz160, 9) => streams == 3,
                    _ => false,
                }
        };
        let bits = |(mcs, (bits, numerator, denominator)): (usize, &(u64, u64, u64))| {
            let bits = subcarriers[width.index()] * streams * bits * numerator / denominator;
            (!excluded(mcs)).then_some(bits)
        };
        MCS[..count].iter().enumerate().map(bits).collect()
    }

    /// Returns the data rates [bit/s] with the durations of frames at each of them.
    pub fn rates(self, width: Width, streams: u64, window: u32) -> Vec<(u64, Phy)> {
        let symbol_ps = self.symbol_ps();
        let phy = |(mcs, bits): (usize, Option<u64>)| {
            let bits_per_symbol = bits?;
            let response = match (self.aggregates(), mcs) {
                (true, 0) => 0,
                (true, 1 | 2) => 1,
                (true, _) => 2,
                (false, _) => RESPONSE_BITS.partition_point(|&response| response <= bits_per_symbol) - 1,
            };
            let legacy_ps = |bytes: u64| {
                let symbols = (SERVICE_AND_TAIL_BITS + 8 * bytes).div_ceil(RESPONSE_BITS[response]);
                LEGACY_PREAMBLE_PS + symbols * LEGACY_SYMBOL_PS + self.extension_ps()
            };
            // The bitmap of a block acknowledgement has 8 bytes, or 32 for more than 64 frames.
            let block_ack_bytes = if window > 64 { 56 } else { 32 };
            let phy = Phy {
                preamble_ps: self.preamble_ps(streams) + self.extension_ps(),
                symbol_ps,
                bits_per_symbol,
                ack_ps: legacy_ps(ACK_BYTES),
                block_ack_ps: legacy_ps(block_ack_bytes),
                max_bytes: self.max_bytes(),
            };
            Some((bits_per_symbol * 1_000_000_000_000 / symbol_ps, phy))
        };
        let by_mcs = self.bits_per_symbol(width, streams).into_iter().enumerate();
        by_mcs.filter_map(phy).collect()
    }
}

/// Durations of frames at a data rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phy {
    /// Preamble [ps], with the signal extension.
    preamble_ps: u64,
    symbol_ps: u64,
    bits_per_symbol: u64,
    /// Duration [ps] of the acknowledgement of a single frame.
    pub ack_ps: u64,
    /// Duration [ps] of the acknowledgement of an A-MPDU.
    pub block_ack_ps: u64,
    /// Maximum length [byte] of an A-MPDU.
    max_bytes: u64,
}

impl Phy {
    /// Returns the duration [ps] of a PPDU with `bytes` bytes.
    pub fn duration_ps(&self, bytes: u64) -> u64 {
        let symbols = (SERVICE_AND_TAIL_BITS + 8 * bytes).div_ceil(self.bits_per_symbol);
        let mut data_ps = symbols * self.symbol_ps;
        if self.symbol_ps < LEGACY_SYMBOL_PS {
            // With the short guard interval, the duration is a multiple of 4 us (equations 19-91 and 21-108).
            data_ps = data_ps.next_multiple_of(LEGACY_SYMBOL_PS);
        }
        self.preamble_ps + data_ps
    }

    /// Returns the maximum length [byte] of an A-MPDU in a PPDU that lasts at most `max_ps`.
    pub fn max_bytes(&self, max_ps: u64) -> u64 {
        let mut data_ps = max_ps.saturating_sub(self.preamble_ps);
        if self.symbol_ps < LEGACY_SYMBOL_PS {
            data_ps -= data_ps % LEGACY_SYMBOL_PS;
        }
        let bits = data_ps / self.symbol_ps * self.bits_per_symbol;
        (bits.saturating_sub(SERVICE_AND_TAIL_BITS) / 8).min(self.max_bytes)
    }
}

/// Returns the length [byte] of an MPDU in an A-MPDU: with its delimiter, and padded to a multiple of 4 bytes.
pub(super) fn subframe_bytes(mpdu_bytes: u64) -> u64 {
    (4 + mpdu_bytes).next_multiple_of(4)
}
