//! Circuits: each way of a flow is one, along which its packets go.

use super::Flow;

/// A circuit, by number: those of a flow's data and of its ACKs, flow by flow, then those of VBR sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Circuit(pub u32);

impl Circuit {
    /// The one from a flow's sender to its receiver.
    #[inline(always)]
    pub fn of_data(flow: Flow) -> Circuit {
        Circuit(2 * flow.0)
    }

    /// The one back, which its ACKs take.
    #[inline(always)]
    pub fn of_acks(flow: Flow) -> Circuit {
        Circuit(2 * flow.0 + 1)
    }

    /// Circuits of so many flows.
    pub fn of_flows(flows: usize) -> usize {
        2 * flows
    }

    /// The flow, unless it is a VBR source's.
    #[inline(always)]
    pub fn flow(self) -> Flow {
        Flow(self.0 / 2)
    }

    /// Whether it leads back from a flow's receiver.
    #[inline(always)]
    pub fn is_back(self) -> bool {
        self.way() == 1
    }

    /// 0 from sender to receiver, 1 back.
    #[inline(always)]
    pub fn way(self) -> usize {
        (self.0 % 2) as usize
    }

    /// The other way of the same flow.
    #[inline(always)]
    pub fn reverse(self) -> Circuit {
        Circuit(self.0 ^ 1)
    }

    /// Its place in a list of all circuits.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
