//! Units of the quantities of a scenario, each with its length in base units. Descriptions of fields (`crates/describe`)
//! and the resolver (`crates/scenario`) read them.

/// Units of a dimension, each with its number of base units.
pub type Units = &'static [(&'static str, u64)];

/// Units of times [ps].
pub const TIME: Units = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
];

/// Units of bit rates [bit/s].
pub const RATE: Units = &[
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
];

/// Units of sizes [byte].
pub const SIZE: Units = &[
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
];

/// Units of shares [parts per billion]: users write fractions, without a unit.
pub const SHARE: Units = &[("", 1_000_000_000)];

/// Units of numbers of segments.
pub const SEGMENTS: Units = &[("segment", 1), ("segments", 1)];

/// Units of numbers of ticks.
pub const TICKS: Units = &[("tick", 1), ("ticks", 1)];

/// A kind of quantities.
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    /// Suffix of the names of fields in the core, which is the base unit.
    pub suffix: &'static str,
    /// Name in descriptions.
    pub name: &'static str,
    /// Units that users may write.
    pub units: Units,
}

/// All dimensions.
pub const DIMENSIONS: [Dimension; 6] = [
    dimension("ps", "time", TIME),
    dimension("bps", "rate", RATE),
    dimension("bytes", "size", SIZE),
    dimension("ppb", "share", SHARE),
    dimension("segments", "segments", SEGMENTS),
    dimension("ticks", "ticks", TICKS),
];

const fn dimension(suffix: &'static str, name: &'static str, units: Units) -> Dimension {
    Dimension { suffix, name, units }
}

/// Returns the number of base units of a unit; None if the dimension does not have the unit.
pub fn scale(units: Units, unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}
