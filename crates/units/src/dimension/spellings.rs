//! Names of units that are accepted but not written.

use super::Dimension;

/// A unit that is a multiple of a unit of its dimension: name, factor, decimals and unit; it is `factor` / 10^`decimals`
/// units. 1 MB/s is 8 Mbit/s.
pub(crate) type Multiple = (&'static str, u64, u32, &'static str);

/// Other spellings: names, separated by spaces, and the unit or multiple that they denote. In a rule with prefixes, each
/// prefix replaces "*".
type Rule = (&'static str, &'static str, &'static str);

const TIMES: &[Multiple] = &[("d", 24, 0, "h"), ("day", 24, 0, "h"), ("days", 24, 0, "h")];
const RATES: &[Multiple] = &[
    ("B/s", 8, 0, "bit/s"),
    ("kB/s", 8, 0, "kbit/s"),
    ("MB/s", 8, 0, "Mbit/s"),
    ("GB/s", 8, 0, "Gbit/s"),
    ("TB/s", 8, 0, "Tbit/s"),
    ("Kibit/s", 1 << 10, 3, "kbit/s"),
    ("Mibit/s", 1 << 20, 6, "Mbit/s"),
    ("Gibit/s", 1 << 30, 9, "Gbit/s"),
    ("Tibit/s", 1 << 40, 12, "Tbit/s"),
    ("KiB/s", 1 << 13, 3, "kbit/s"),
    ("MiB/s", 1 << 23, 6, "Mbit/s"),
    ("GiB/s", 1 << 33, 9, "Gbit/s"),
    ("TiB/s", 1 << 43, 12, "Tbit/s"),
];
const SIZES: &[Multiple] = &[
    ("bit", 125, 3, "B"),
    ("kbit", 125, 3, "KB"),
    ("Mbit", 125, 3, "MB"),
    ("Gbit", 125, 3, "GB"),
];

// Micro sign and Greek letter mu.
const OF_TIMES: &[Rule] = &[
    ("", "\u{b5}s \u{3bc}s", "us"),
    (" m u", "*sec *secs", "*s"),
    ("", "second seconds", "s"),
    ("", "minute minutes", "min"),
    ("", "hour hours", "h"),
];
// Lower case as in tc(8), except its "mbps" (megabytes per second); ns-3's DataRate; a bare prefix and "/sec" as in iperf.
const OF_RATES: &[Rule] = &[
    (" k M G T", "*bps *b/s *bit *bits/s *bit/sec *bits/sec", "*bit/s"),
    ("k M G T", "*", "*bit/s"),
    ("", "Kbps Kb/s Kbit Kbits/s Kbit/sec Kbits/sec Kbit/s K", "kbit/s"),
    ("", "mbit", "Mbit/s"),
    ("", "gbit", "Gbit/s"),
    ("", "tbit", "Tbit/s"),
    ("Ki Mi Gi Ti", "*b/s *bit", "*bit/s"),
    ("", "kibit", "Kibit/s"),
    ("", "mibit", "Mibit/s"),
    ("", "gibit", "Gibit/s"),
    ("", "tibit", "Tibit/s"),
    (
        " k M G T Ki Mi Gi Ti",
        "*Bps *byte/s *Byte/s *bytes/s *Bytes/s *byte/sec *Byte/sec *bytes/sec *Bytes/sec",
        "*B/s",
    ),
    (
        "",
        "KBps KB/s Kbyte/s KByte/s Kbytes/s KBytes/s KB/sec Kbyte/sec KByte/sec Kbytes/sec KBytes/sec",
        "kB/s",
    ),
];
const OF_SYMBOLS: &[Rule] = &[("", "Bd sym/s", "baud"), ("k M G", "*Bd *sym/s *S/s", "*baud")];
const OF_SIZES: &[Rule] = &[
    ("", "byte bytes", "B"),
    ("", "kB", "KB"),
    ("", "mbit", "Mbit"),
    ("", "gbit", "Gbit"),
];

/// Returns the multiples of units of a dimension.
pub(crate) fn multiples(dimension: &Dimension) -> &'static [Multiple] {
    match dimension.key {
        "time" => TIMES,
        "rate" => RATES,
        "size" | "buffer" => SIZES,
        _ => &[],
    }
}

/// Returns other spellings of units and of multiples of a dimension, each with the unit or multiple.
pub(crate) fn aliases(dimension: &Dimension) -> Vec<(String, String)> {
    let rules = match dimension.key {
        "time" => [OF_TIMES, &[]],
        "rate" => [OF_RATES, &[]],
        "symbols" => [OF_SYMBOLS, &[]],
        "size" => [OF_SIZES, &[]],
        "buffer" => [OF_SIZES, OF_TIMES],
        _ => [&[][..], &[]],
    };
    let mut aliases = vec![];
    for (prefixes, names, unit) in rules.into_iter().flatten() {
        for prefix in prefixes.split(' ') {
            for name in names.split(' ') {
                aliases.push((name.replace('*', prefix), unit.replace('*', prefix)));
            }
        }
    }
    aliases
}

/// Returns the explanation of a unit that may be one of two; a lower-case b may be bits or bytes.
pub(crate) fn ambiguous(dimension: &Dimension, unit: &str) -> Option<String> {
    let is_size = ["size", "buffer"].contains(&dimension.key);
    let (prefix, binary) = match unit.strip_suffix('b').filter(|_| is_size)? {
        "" => ("", ""),
        "K" | "k" => ("K", ""),
        "M" | "m" => ("M", ""),
        "G" | "g" => ("G", ""),
        "Ki" | "ki" => ("K", "i"),
        "Mi" | "mi" => ("M", "i"),
        "Gi" | "gi" => ("G", "i"),
        _ => return None,
    };
    let bits = if prefix == "K" { "k" } else { prefix };
    Some(format!(", it may be '{prefix}{binary}B' or '{bits}bit'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BUFFER, RATE, SIZE, SYMBOLS, TIME};

    #[test]
    fn names_of_units_have_one_reading() {
        for dimension in [TIME, RATE, SYMBOLS, SIZE, BUFFER] {
            let units = dimension.units.iter().map(|(name, _)| *name);
            let known: Vec<&str> = units
                .chain(multiples(dimension).iter().map(|multiple| multiple.0))
                .collect();
            for (place, name) in known.iter().enumerate() {
                assert!(!known[..place].contains(name), "{name}");
            }
            for (alias, unit) in aliases(dimension) {
                assert!(known.contains(&unit.as_str()), "{unit}");
                assert!(alias == unit || !known.contains(&alias.as_str()), "{alias}");
            }
        }
    }
}
