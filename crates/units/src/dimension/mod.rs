//! Kinds of quantities and their units.

mod quantity;
mod spellings;

pub use quantity::Quantity;

/// Text of a quantity without a limit.
pub const UNLIMITED: &str = "unlimited";

/// Units, each with its number of base units.
pub type Units = &'static [(&'static str, u64)];

/// A kind of quantities.
#[derive(Clone, Copy, Debug)]
pub struct Dimension {
    /// Suffix of the names of fields in the core, which is the base unit.
    pub suffix: &'static str,
    /// Name in descriptions.
    pub key: &'static str,
    /// Name in messages.
    pub name: &'static str,
    /// Base unit, as users write it.
    pub base: &'static str,
    /// Units that users may write, and in which longpipe writes quantities.
    pub units: Units,
    /// Units whose name differs after the number 1: plural and singular.
    pub singular: &'static [(&'static str, &'static str)],
    /// An example for messages.
    pub example: &'static str,
    /// Whether messages offer 'unlimited'.
    pub unlimited: bool,
}

const fn dimension(
    [suffix, key, name, base, example]: [&'static str; 5],
    units: Units,
    singular: &'static [(&'static str, &'static str)],
) -> Dimension {
    Dimension {
        suffix,
        key,
        name,
        base,
        units,
        singular,
        example,
        unlimited: false,
    }
}

/// Times [ps].
pub const TIME: &Dimension = &dimension(
    ["ps", "time", "time", "ps", "5 ms"],
    &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
        ("min", 60_000_000_000_000),
        ("h", 3_600_000_000_000_000),
    ],
    &[],
);

/// Bit rates [bit/s].
pub const RATE: &Dimension = &dimension(
    ["bps", "rate", "bit rate", "bit/s", "155.52 Mbit/s"],
    &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Tbit/s", 1_000_000_000_000),
    ],
    &[],
);

/// Symbol rates [baud].
pub const SYMBOLS: &Dimension = &dimension(
    ["baud", "symbols", "symbol rate", "baud", "30 Mbaud"],
    &[
        ("baud", 1),
        ("kbaud", 1_000),
        ("Mbaud", 1_000_000),
        ("Gbaud", 1_000_000_000),
    ],
    &[],
);

/// Sizes [byte].
pub const SIZE: &Dimension = &dimension(
    ["bytes", "size", "number of bytes", "B", "64 KiB"],
    &[
        ("B", 1),
        ("KB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ],
    &[],
);

/// Shares [parts per billion]: users write fractions, without a unit.
pub const SHARE: &Dimension = &dimension(["ppb", "share", "share", "", "0.5"], &[("", 1_000_000_000)], &[]);

/// Numbers of segments.
pub const SEGMENTS: &Dimension = &dimension(
    ["segments", "segments", "number of segments", "segments", "1 segment"],
    &[("segments", 1)],
    &[("segments", "segment")],
);

/// Numbers of ticks.
pub const TICKS: &Dimension = &dimension(
    ["ticks", "ticks", "number of ticks", "ticks", "2 ticks"],
    &[("ticks", 1)],
    &[("ticks", "tick")],
);

/// Sizes of buffers. A buffer in packets, BDP or time has a size that depends on the rest of the scenario.
pub const BUFFER: &Dimension = &Dimension {
    unlimited: true,
    ..dimension(
        ["", "buffer", "buffer size", "cells", "1000 cells"],
        &[
            ("cells", 1),
            ("packets", 1),
            ("BDP", 1),
            ("B", 1),
            ("KB", 1_000),
            ("KiB", 1 << 10),
            ("MB", 1_000_000),
            ("MiB", 1 << 20),
            ("GB", 1_000_000_000),
            ("GiB", 1 << 30),
            ("ps", 1),
            ("ns", 1_000),
            ("us", 1_000_000),
            ("ms", 1_000_000_000),
            ("s", 1_000_000_000_000),
            ("min", 60_000_000_000_000),
            ("h", 3_600_000_000_000_000),
        ],
        &[("cells", "cell"), ("packets", "packet")],
    )
};

/// Dimensions of the parameters of the core.
pub const DIMENSIONS: [&Dimension; 6] = [TIME, RATE, SIZE, SHARE, SEGMENTS, TICKS];

impl Dimension {
    /// Returns the dimension with this name in descriptions.
    pub fn named(name: &str) -> Option<&'static Dimension> {
        let mut dimensions = DIMENSIONS.into_iter().chain([SYMBOLS, BUFFER]);
        dimensions.find(|dimension| dimension.key == name)
    }

    /// Returns the name of a unit for messages and canonical texts, which is its plural.
    pub(crate) fn plural(&self, unit: &str) -> Option<&'static str> {
        let singular = self.singular.iter().find(|(_, singular)| *singular == unit);
        singular.map(|(plural, _)| *plural)
    }
}

/// Returns the number of base units of a unit; None if the dimension does not have the unit.
pub fn scale(dimension: &Dimension, unit: &str) -> Option<u64> {
    let unit = dimension.plural(unit).unwrap_or(unit);
    let units = dimension.units.iter();
    units
        .into_iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, scale)| *scale)
}
