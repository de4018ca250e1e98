//! The wire behind a port whose cells have an event when they arrive at its other end.

use crate::packets::aal5::Cell;
use crate::packets::Circuit;
use longpipe_events::{Ring, Time};

/// Cells that have not arrived at the other end of the wire, in order, each with its arrival time.
#[derive(Clone, Debug, Default)]
pub struct CellWire(Ring<(Time, Cell)>);

impl CellWire {
    /// Puts a cell on the wire, to arrive at `arrival`. Returns whether it is the next cell to arrive.
    #[inline(always)]
    pub fn send(&mut self, arrival: Time, cell: Cell) -> bool {
        self.0.push((arrival, cell));
        self.0.len() == 1
    }

    /// Returns the arrival time and VC of the next cell to arrive.
    #[inline(always)]
    pub fn first(&self) -> Option<(Time, Circuit)> {
        self.0.first().map(|(arrival, cell)| (*arrival, cell.vc))
    }

    /// Removes and returns the next cell to arrive.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Cell> {
        self.0.pop().map(|(_, cell)| cell)
    }

    /// Returns the number of cells removed so far.
    #[inline(always)]
    pub fn arrived(&self) -> u64 {
        self.0.head()
    }
}
