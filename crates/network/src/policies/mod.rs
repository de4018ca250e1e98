//! Enqueue policies: buffer policies, which depend only on the occupancy; the treatment of damaged frames; and active
//! queue management, which keeps state.

pub mod aqm;
pub mod avq;
pub mod blue;
pub mod dfba;
pub mod epd;
pub mod fba;
pub mod parameters;
pub mod partial_packet_discard;
pub mod pi;
pub mod pie;
pub mod red;
pub mod selective_drop;
pub mod step_marking;
pub mod tail_drop;
mod verdict;

pub use verdict::{Arrival, Verdict};

/// Occupancy of a port when the first cell of a frame, or a packet, arrives; in cells, packets or bytes (`QueueUnit`).
#[derive(Clone, Copy, Debug)]
pub struct Occupancy {
    /// X: amount held, including the cell or packet in transmission.
    pub held: u64,
    /// X_i: amount held of the arriving frame's VC or flow.
    pub vc_held: u64,
    /// N_a: number of VCs or flows that have cells or packets in the buffer.
    pub active_vcs: u64,
}

/// Treatment of the remaining cells of a frame that lost a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterLoss {
    /// Later cells are admitted if there is room.
    Admit,
    /// Later cells are discarded, except for the last one if `keep_last`.
    Discard {
        /// Whether the last cell is admitted, because it delimits the frame.
        keep_last: bool,
    },
}

/// Buffer policy of a port.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Rule for new frames.
    rule: Rule,
    /// Treatment of the rest of a frame after one of its cells found the buffer full.
    pub after_loss: AfterLoss,
}

/// Rule that drops new frames before the buffer is full.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Drops none.
    Nothing,
    /// Early Packet Discard.
    Epd(epd::Epd),
    /// Selective Drop.
    SelectiveDrop(selective_drop::SelectiveDrop),
    /// Fair Buffer Allocation.
    Fba(fba::Fba),
}

impl Policy {
    /// Tail drop; later cells of a damaged frame are admitted.
    pub const TAIL_DROP: Policy = Policy {
        rule: Rule::Nothing,
        after_loss: AfterLoss::Admit,
    };

    /// Returns a policy that discards the rest of a damaged frame.
    pub fn discarding(rule: Rule, keep_last: bool) -> Policy {
        Policy {
            rule,
            after_loss: AfterLoss::Discard { keep_last },
        }
    }

    /// Returns whether the policy only drops at a full buffer, and treats each cell alone.
    pub fn is_tail_drop(&self) -> bool {
        matches!((&self.rule, self.after_loss), (Rule::Nothing, AfterLoss::Admit))
    }

    /// Returns whether a new frame is dropped.
    #[inline]
    pub fn refuses(&self, occupancy: Occupancy) -> bool {
        match &self.rule {
            Rule::Nothing => false,
            Rule::Epd(epd) => epd.refuses(occupancy),
            Rule::SelectiveDrop(selective_drop) => selective_drop.refuses(occupancy),
            Rule::Fba(fba) => fba.refuses(occupancy),
        }
    }

    /// Returns whether a new frame is dropped, or None if the answer is not the same for all queue lengths from `min`
    /// to `max`.
    #[inline]
    pub fn decides(&self, min: u64, max: u64) -> Option<bool> {
        match &self.rule {
            Rule::Nothing => Some(false),
            Rule::Epd(epd) => epd.decides(min, max),
            Rule::SelectiveDrop(selective_drop) => selective_drop.decides(max),
            Rule::Fba(fba) => fba.decides(max),
        }
    }

    /// Returns the largest X, at most the capacity, up to which no frame is dropped.
    pub fn no_refusal_up_to(&self, capacity: u64) -> u64 {
        let (mut accepted, mut too_much) = (0, capacity.saturating_add(1));
        while too_much - accepted > 1 {
            let middle = accepted + (too_much - accepted) / 2;
            if self.decides(0, middle) == Some(false) {
                accepted = middle;
            } else {
                too_much = middle;
            }
        }
        accepted
    }

    /// Returns whether the policy depends on X_i and N_a.
    pub fn needs_vc_occupancies(&self) -> bool {
        matches!(self.rule, Rule::SelectiveDrop(_) | Rule::Fba(_))
    }
}

#[cfg(test)]
mod tests {
    use super::epd::EpdConfig;
    use super::fba::FbaConfig;
    use super::parameters::Parameters;
    use super::selective_drop::SelectiveDropConfig;
    use super::*;

    fn occupancy(held: u64, vc_held: u64, active_vcs: u64) -> Occupancy {
        Occupancy {
            held,
            vc_held,
            active_vcs,
        }
    }

    #[test]
    fn epd_drops_frames_only_above_its_threshold() {
        let policy = EpdConfig {
            threshold: 0.8,
            keep_last: true,
        }
        .buffer_policy(1000.0);
        assert!(!policy.refuses(occupancy(800, 0, 1)));
        assert!(policy.refuses(occupancy(801, 0, 1)));
    }

    #[test]
    fn selective_drop_drops_frames_of_vcs_above_their_share() {
        let policy = SelectiveDropConfig {
            threshold: 0.9,
            z: 0.8,
            keep_last: true,
        }
        .buffer_policy(1000.0);
        assert!(!policy.refuses(occupancy(900, 900, 5)));
        assert!(!policy.refuses(occupancy(950, 152, 5)));
        assert!(policy.refuses(occupancy(950, 153, 5)));
    }

    #[test]
    fn fba_allows_smaller_shares_in_a_fuller_buffer() {
        let policy = FbaConfig {
            threshold: 0.9,
            z: 0.8,
            keep_last: true,
        }
        .buffer_policy(1000.0);
        // With X = 950, the allowed ratio is 0.8 · 100/50 = 1.6, so with 5 VCs X_i may be up to 304 of 950.
        assert!(!policy.refuses(occupancy(950, 304, 5)));
        assert!(policy.refuses(occupancy(950, 305, 5)));
        // With X = 1000 the allowed ratio is 0.8.
        assert!(!policy.refuses(occupancy(1000, 160, 5)));
        assert!(policy.refuses(occupancy(1000, 161, 5)));
        assert!(!policy.refuses(occupancy(900, 900, 5)));
    }
}
