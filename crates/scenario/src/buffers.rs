//! Sizes of buffers: cells at an ATM switch, packets or bytes at an IP router.

use crate::packets::Packet;
use crate::units::{self, Decimal, SIZE, TIME};
use crate::Problems;
use longpipe_units::{MAX_CELLS, U256, UNLIMITED};
use serde::Serialize;

/// Length of an ATM cell [bit].
pub(crate) const CELL_BITS: u64 = 8 * CELL_BYTES;
/// Length of an ATM cell [byte].
const CELL_BYTES: u64 = 53;
const PS_PER_S: u64 = 1_000_000_000_000;

/// A limited buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Buffer {
    /// Unit of the limit.
    pub unit: Unit,
    /// Maximum occupancy.
    pub limit: u64,
}

/// Units of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// ATM cells.
    Cells,
    /// IP packets of any length.
    Packets,
    /// Bytes of IP packets.
    Bytes,
}

impl Buffer {
    /// Returns the size [byte] of the buffer if it is filled with packets of this length [byte].
    pub(crate) fn bytes(self, packet_bytes: u64) -> u128 {
        let each = match self.unit {
            Unit::Cells => CELL_BYTES,
            Unit::Packets => packet_bytes,
            Unit::Bytes => 1,
        };
        u128::from(self.limit) * u128::from(each)
    }
}

/// Rate of a port, and RTT of a BDP; they convert a buffer in BDP or in time into a size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    pub(crate) rate_bps: u64,
    pub(crate) round_trip_ps: u64,
}

impl Pipe {
    /// Returns the number of packets or cells of a length [bit] in a buffer in BDP, or in a unit of time, rounded down.
    fn holds(self, number: Decimal, unit: &str, bits: u64) -> U256 {
        let unit_ps = units::scale(TIME, unit).unwrap_or(self.round_trip_ps);
        let factor = U256::from(self.rate_bps) * U256::from(unit_ps);
        number.times(factor, U256::from(PS_PER_S) * U256::from(bits)).0
    }
}

/// Returns a buffer; None if it is unlimited. A BDP or a time becomes cells, or packets of full size.
///
/// # Errors
/// Returns a problem if the buffer is smaller than the largest packet, or its unit does not fit the links.
pub(crate) fn buffer(
    field: &str,
    text: &str,
    cells: bool,
    pipe: Pipe,
    largest: &Packet,
) -> Result<Option<Buffer>, Problems> {
    if text == UNLIMITED {
        return Ok(None);
    }
    let limit = if cells {
        limit_in_cells(text, pipe, largest)
    } else {
        limit_in_packets(text, pipe, largest)
    };
    match limit {
        Ok(buffer) => Ok(Some(buffer)),
        Err(problem) => Err(format!("{field}: {problem}").into()),
    }
}

fn limit_in_packets(text: &str, pipe: Pipe, largest: &Packet) -> Result<Buffer, String> {
    let (number, unit) = units::split(text).ok_or_else(|| not_canonical(text))?;
    if unit == "cells" {
        let needs = "needs packets, bytes, BDP or a time, as in '1 BDP'";
        return Err(format!("{text}; IP routers do not queue cells, {needs}"));
    }
    if let Some(scale) = units::scale(SIZE, unit) {
        let limit = number.times(U256::from(scale), U256::ONE).0;
        if limit < U256::from(largest.bytes) {
            let minimum = format!("({} B {})", largest.bytes, largest.payload);
            return Err(format!("{text}; needs at least one full packet {minimum}"));
        }
        return Ok(limited(Unit::Bytes, limit));
    }
    let packets = match unit {
        "packets" => number.times(U256::ONE, U256::ONE).0,
        _ => pipe.holds(number, unit, 8 * largest.bytes),
    };
    if packets < 1 {
        return Err(format!("{text} ({packets} packets); needs at least one packet"));
    }
    Ok(limited(Unit::Packets, packets))
}

fn limit_in_cells(text: &str, pipe: Pipe, largest: &Packet) -> Result<Buffer, String> {
    let (number, unit) = units::split(text).ok_or_else(|| not_canonical(text))?;
    if units::scale(SIZE, unit).is_some() {
        return Err(format!(
            "{text}; ATM switches count cells, needs cells, packets, BDP or a time"
        ));
    }
    let cells = match unit {
        "cells" => number.times(U256::ONE, U256::ONE).0,
        "packets" => number.times(U256::from(largest.cells), U256::ONE).0,
        _ => pipe.holds(number, unit, CELL_BITS),
    };
    if cells < U256::from(largest.cells) {
        let shown = match unit {
            "cells" => text.to_owned(),
            _ => format!("{text} ({cells} cells)"),
        };
        let minimum = format!("({} cells {})", largest.cells, largest.payload);
        return Err(format!("{shown}; needs at least one full packet {minimum}"));
    }
    if cells > U256::from(MAX_CELLS) {
        return Err(format!(
            "{text} ({cells} cells); needs at most {MAX_CELLS} cells, or 'unlimited'"
        ));
    }
    Ok(limited(Unit::Cells, cells))
}

fn not_canonical(text: &str) -> String {
    format!("{text}; needs a number, a space and a unit")
}

/// Returns a limited buffer, of which the limit fits into 64 bits: longer queues do not fit into memory.
fn limited(unit: Unit, limit: U256) -> Buffer {
    Buffer {
        unit,
        limit: u64::try_from(limit).unwrap_or(u64::MAX),
    }
}
