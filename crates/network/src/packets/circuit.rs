//! Circuits: a circuit is one direction of a flow, with the route of its packets.

use super::Flow;

/// Index of a circuit. The circuits of data and ACKs precede the circuits of VBR sources, and are ordered by flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Circuit(pub u32);

impl Circuit {
    /// Returns the circuit from a flow's sender to its receiver.
    #[inline(always)]
    pub fn of_data(flow: Flow) -> Circuit {
        Circuit(2 * flow.0)
    }

    /// Returns the circuit of a flow's ACKs.
    #[inline(always)]
    pub fn of_acks(flow: Flow) -> Circuit {
        Circuit(2 * flow.0 + 1)
    }

    /// Returns the number of circuits of `flows` flows.
    pub fn of_flows(flows: usize) -> usize {
        2 * flows
    }

    /// Returns the flow. Must not be called for circuits of VBR sources.
    #[inline(always)]
    pub fn flow(self) -> Flow {
        Flow(self.0 / 2)
    }

    /// Returns whether the circuit carries ACKs.
    #[inline(always)]
    pub fn is_back(self) -> bool {
        self.way() == 1
    }

    /// Returns 0 for a circuit of data and 1 for a circuit of ACKs.
    #[inline(always)]
    pub fn way(self) -> usize {
        (self.0 % 2) as usize
    }

    /// Returns the circuit in the other direction of the same flow.
    #[inline(always)]
    pub fn reverse(self) -> Circuit {
        Circuit(self.0 ^ 1)
    }

    /// Returns the index in a list of all circuits.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
