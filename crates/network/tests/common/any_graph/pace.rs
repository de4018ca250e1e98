//! Scales of times and rates: delays, timers and starts are multiples of packet times on most links.

use crate::common::SECOND;
use longpipe_network::aal5::{frame_cells, CELL_BITS};
use longpipe_network::scenario::Framing;
use proptest::prelude::*;

/// Time scale of a scenario, from which times and rates are derived.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Transmission time [ps], on most links, of a cell or of a packet of the usual length.
    pub unit_ps: u64,
    /// Transmission time of all cells of a packet [ps].
    packet_ps: u64,
}

/// A time in packet times: a whole number and a fraction.
pub type Packets = (u64, u16);

/// Strategy: a time of up to `max` packet times, usually a whole number.
pub fn any_packets(max: u64) -> impl Strategy<Value = Packets> {
    prop_oneof![
        2 => (1..max, Just(0)),
        1 => (0..max, any::<u16>()),
    ]
}

impl Pace {
    /// Creates the scale for cells, or for packets of the given length, at the given rate.
    pub fn new(framing: Framing, packet_bytes: u32, rate_bps: u64) -> Pace {
        let (bits, cells) = match framing {
            Framing::Aal5 => (CELL_BITS, u64::from(frame_cells(packet_bytes))),
            Framing::Ip => (8 * u64::from(packet_bytes), 1),
        };
        let unit_ps = (bits * SECOND / rate_bps).max(1);
        Pace {
            unit_ps,
            packet_ps: cells * unit_ps,
        }
    }

    /// Returns `count` units [ps].
    pub fn units(self, count: u64) -> u64 {
        self.unit_ps.saturating_mul(count)
    }

    /// Returns a fraction of `of` units; at least one picosecond.
    pub fn share(self, share: u16, of: u64) -> u64 {
        part(self.units(of), share).max(1)
    }

    /// Returns a given number of packet times [ps].
    pub fn packets(self, (count, share): Packets) -> u64 {
        self.packet_ps.saturating_mul(count) + part(self.packet_ps, share)
    }
}

/// Returns a fraction of the whole, which is given in units of 1/65 536.
pub fn part(whole: u64, share: u16) -> u64 {
    ((u128::from(whole) * u128::from(share)) >> 16) as u64
}

/// Rate of a link, either absolute or relative to the rate of most links.
#[derive(Clone, Debug)]
pub enum RateDraft {
    Own(u64),
    Times(u64),
    Over(u64),
}

/// Strategy: a rate from a pool; most links use the first rate of the pool.
pub fn any_rate() -> impl Strategy<Value = RateDraft> + Clone {
    let usual = prop::sample::select(vec![10_000_000, 155_520_000, 1_000_000_000, 64_000, 149_760_000]);
    let far = prop::sample::select(vec![1_000, 2_500_000, 10_000_000_000, 10_000_000_000_000]);
    prop_oneof![
        6 => usual.prop_map(RateDraft::Own),
        2 => (2u64..11).prop_map(RateDraft::Times),
        2 => (2u64..11).prop_map(RateDraft::Over),
        1 => far.prop_map(RateDraft::Own),
        1 => (10_000u64..10_000_000_000).prop_map(RateDraft::Own),
    ]
}

/// Returns the rate [bit/s] for a draft, relative to `base`.
pub fn rate_bps(draft: &RateDraft, base: u64) -> u64 {
    let rate = match *draft {
        RateDraft::Own(rate) => rate,
        RateDraft::Times(factor) => base * factor,
        RateDraft::Over(divisor) => base / divisor,
    };
    match rate {
        0 => 10_000_000,
        rate => rate.clamp(1_000, 10_000_000_000_000),
    }
}

/// Delay of a link.
#[derive(Clone, Debug)]
pub enum DelayDraft {
    /// The delay is a multiple of the unit, so that packets that leave simultaneously on two routes arrive
    /// simultaneously.
    Units(u64),
    /// A fraction of 64 units.
    Share(u16),
    /// A time in picoseconds that does not depend on the rate.
    Own(u64),
}

/// Strategy: a delay from a pool; most links use the first delay of the pool.
pub fn any_delay() -> impl Strategy<Value = DelayDraft> + Clone {
    prop_oneof![
        8 => Just(DelayDraft::Units(0)),
        4 => (1u64..20).prop_map(DelayDraft::Units),
        3 => any::<u16>().prop_map(DelayDraft::Share),
        2 => prop::sample::select(vec![1, 5_000_000, 1_000_000_000]).prop_map(DelayDraft::Own),
        1 => (100u64..3000).prop_map(DelayDraft::Units),
    ]
}

/// Returns the delay that a draft describes [ps].
pub fn delay_ps(draft: &DelayDraft, pace: Pace) -> u64 {
    let delay = match *draft {
        DelayDraft::Units(count) => pace.units(count),
        DelayDraft::Share(share) => pace.share(share, 64),
        DelayDraft::Own(delay) => delay,
    };
    delay.min(1_000 * SECOND)
}
