//! MODCODs of DVB-S2 (EN 302 307-1 table 13) and DVB-S2X (EN 302 307-2), with the lengths of their frames.

/// Coded bits of a normal and of a short FECFRAME.
const NORMAL_BITS: u64 = 64_800;
const SHORT_BITS: u64 = 16_200;
/// Bits of the header of a BBFRAME.
const HEADER_BITS: u64 = 80;
/// Symbols of a slot, and of the pilots after each 16 slots.
const SLOT_SYMBOLS: u64 = 90;
const PILOT_SYMBOLS: u64 = 36;
const PILOT_SLOTS: u64 = 16;
/// Additional Es/N0 [dB] that short frames need (SNS3 EsNoOffsetForShortFrame).
const SHORT_OFFSET_DB: f64 = 0.4;

/// A combination of modulation and code rate.
#[derive(Clone, Copy, Debug)]
struct Entry {
    name: &'static str,
    bits_per_symbol: u64,
    /// Code rate with normal frames.
    rate: (u64, u64),
    /// Errors that the BCH code of normal frames corrects.
    corrected: u64,
    /// Code rate with short frames, if there are any.
    short: Option<(u64, u64)>,
    /// Es/N0 [dB] for quasi error-free reception in white noise.
    es_n0_db: f64,
    /// Whether only DVB-S2X has it.
    is_extension: bool,
}

const fn s2(
    name: &'static str,
    bits_per_symbol: u64,
    rate: (u64, u64),
    corrected: u64,
    short: Option<(u64, u64)>,
    es_n0_db: f64,
) -> Entry {
    Entry {
        name,
        bits_per_symbol,
        rate,
        corrected,
        short,
        es_n0_db,
        is_extension: false,
    }
}

const fn s2x(name: &'static str, bits_per_symbol: u64, rate: (u64, u64), es_n0_db: f64) -> Entry {
    Entry {
        is_extension: true,
        ..s2(name, bits_per_symbol, rate, 12, None, es_n0_db)
    }
}

/// The 28 MODCODs of DVB-S2, and those of DVB-S2X for channels that are not linear, as in EN 302 307-2.
#[rustfmt::skip]
const ENTRIES: [Entry; 53] = [
    s2("QPSK 1/4", 2, (1, 4), 12, Some((1, 5)), -2.35),
    s2("QPSK 1/3", 2, (1, 3), 12, Some((1, 3)), -1.24),
    s2("QPSK 2/5", 2, (2, 5), 12, Some((2, 5)), -0.30),
    s2("QPSK 1/2", 2, (1, 2), 12, Some((4, 9)), 1.00),
    s2("QPSK 3/5", 2, (3, 5), 12, Some((3, 5)), 2.23),
    s2("QPSK 2/3", 2, (2, 3), 10, Some((2, 3)), 3.10),
    s2("QPSK 3/4", 2, (3, 4), 12, Some((11, 15)), 4.03),
    s2("QPSK 4/5", 2, (4, 5), 12, Some((7, 9)), 4.68),
    s2("QPSK 5/6", 2, (5, 6), 10, Some((37, 45)), 5.18),
    s2("QPSK 8/9", 2, (8, 9), 8, Some((8, 9)), 6.20),
    s2("QPSK 9/10", 2, (9, 10), 8, None, 6.42),
    s2("8PSK 3/5", 3, (3, 5), 12, Some((3, 5)), 5.50),
    s2("8PSK 2/3", 3, (2, 3), 10, Some((2, 3)), 6.62),
    s2("8PSK 3/4", 3, (3, 4), 12, Some((11, 15)), 7.91),
    s2("8PSK 5/6", 3, (5, 6), 10, Some((37, 45)), 9.35),
    s2("8PSK 8/9", 3, (8, 9), 8, Some((8, 9)), 10.69),
    s2("8PSK 9/10", 3, (9, 10), 8, None, 10.98),
    s2("16APSK 2/3", 4, (2, 3), 10, Some((2, 3)), 8.97),
    s2("16APSK 3/4", 4, (3, 4), 12, Some((11, 15)), 10.21),
    s2("16APSK 4/5", 4, (4, 5), 12, Some((7, 9)), 11.03),
    s2("16APSK 5/6", 4, (5, 6), 10, Some((37, 45)), 11.61),
    s2("16APSK 8/9", 4, (8, 9), 8, Some((8, 9)), 12.89),
    s2("16APSK 9/10", 4, (9, 10), 8, None, 13.13),
    s2("32APSK 3/4", 5, (3, 4), 12, Some((11, 15)), 12.73),
    s2("32APSK 4/5", 5, (4, 5), 12, Some((7, 9)), 13.64),
    s2("32APSK 5/6", 5, (5, 6), 10, Some((37, 45)), 14.28),
    s2("32APSK 8/9", 5, (8, 9), 8, Some((8, 9)), 15.69),
    s2("32APSK 9/10", 5, (9, 10), 8, None, 16.05),
    s2x("QPSK 2/9", 2, (2, 9), -2.85),
    s2x("QPSK 13/45", 2, (13, 45), -2.03),
    s2x("QPSK 9/20", 2, (9, 20), 0.22),
    s2x("QPSK 11/20", 2, (11, 20), 1.45),
    s2x("8PSK 23/36", 3, (23, 36), 6.12),
    s2x("8PSK 25/36", 3, (25, 36), 7.02),
    s2x("8PSK 13/18", 3, (13, 18), 7.49),
    s2x("16APSK 26/45", 4, (26, 45), 7.51),
    s2x("16APSK 3/5", 4, (3, 5), 7.80),
    s2x("16APSK 28/45", 4, (28, 45), 8.10),
    s2x("16APSK 23/36", 4, (23, 36), 8.38),
    s2x("16APSK 25/36", 4, (25, 36), 9.27),
    s2x("16APSK 13/18", 4, (13, 18), 9.71),
    s2x("16APSK 7/9", 4, (7, 9), 10.65),
    s2x("16APSK 77/90", 4, (77, 90), 11.99),
    s2x("32APSK 32/45", 5, (32, 45), 11.75),
    s2x("32APSK 11/15", 5, (11, 15), 12.17),
    s2x("32APSK 7/9", 5, (7, 9), 13.05),
    s2x("64APSK 11/15", 6, (11, 15), 14.81),
    s2x("64APSK 7/9", 6, (7, 9), 15.47),
    s2x("64APSK 4/5", 6, (4, 5), 15.87),
    s2x("64APSK 5/6", 6, (5, 6), 16.55),
    s2x("128APSK 3/4", 7, (3, 4), 17.73),
    s2x("256APSK 32/45", 8, (32, 45), 18.59),
    s2x("256APSK 3/4", 8, (3, 4), 19.57),
];

/// A MODCOD with the frames of a carrier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Modcod {
    pub name: &'static str,
    /// Bytes for data in a BBFRAME.
    pub data_bytes: u64,
    /// Symbols of a frame with its header.
    pub symbols: u64,
    /// Es/N0 [dB] below which frames are lost.
    pub es_n0_db: f64,
}

/// Which frames a carrier has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frames {
    pub are_short: bool,
    pub have_pilots: bool,
    /// Whether the carrier also uses MODCODs of DVB-S2X.
    pub are_extended: bool,
}

impl Entry {
    /// Returns the MODCOD with frames of a kind, if there are any.
    fn with(&self, frames: Frames) -> Option<Modcod> {
        if self.is_extension && !frames.are_extended {
            return None;
        }
        let (coded, rate, parity, offset_db) = match frames.are_short {
            true => (SHORT_BITS, self.short?, 14 * 12, SHORT_OFFSET_DB),
            false => (NORMAL_BITS, self.rate, 16 * self.corrected, 0.0),
        };
        let bits = coded * rate.0 / rate.1 - parity;
        // 128APSK does not fill its last slot.
        let slots = coded.div_ceil(SLOT_SYMBOLS * self.bits_per_symbol);
        let pilots = if frames.have_pilots {
            PILOT_SYMBOLS * ((slots - 1) / PILOT_SLOTS)
        } else {
            0
        };
        Some(Modcod {
            name: self.name,
            data_bytes: (bits - HEADER_BITS) / 8,
            symbols: SLOT_SYMBOLS * (slots + 1) + pilots,
            es_n0_db: self.es_n0_db + offset_db,
        })
    }
}

/// Returns the MODCODs of a carrier up to the named one, of which each carries more data per symbol than those that need
/// less Es/N0; None if the carrier does not have the named one.
pub(super) fn modcods(frames: Frames, highest: &str) -> Option<Vec<Modcod>> {
    let mut all: Vec<Modcod> = ENTRIES.iter().filter_map(|entry| entry.with(frames)).collect();
    let highest = *all.iter().find(|modcod| modcod.name == highest)?;
    all.sort_by(|left, right| left.es_n0_db.total_cmp(&right.es_n0_db));
    let mut useful: Vec<Modcod> = vec![];
    for modcod in all {
        let is_better = |last: &Modcod| modcod.data_bytes * last.symbols > last.data_bytes * modcod.symbols;
        let is_below = modcod.es_n0_db < highest.es_n0_db
            && modcod.data_bytes * highest.symbols < highest.data_bytes * modcod.symbols;
        if (is_below && useful.last().is_none_or(is_better)) || modcod == highest {
            useful.push(modcod);
        }
    }
    Some(useful)
}

/// Returns the names of the MODCODs of a carrier.
pub(super) fn names(frames: Frames) -> Vec<&'static str> {
    let all = ENTRIES.iter().filter_map(|entry| entry.with(frames));
    all.map(|modcod| modcod.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_efficiencies_of_the_standards() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/data/access/satellite-frames.csv"
        );
        let text = std::fs::read_to_string(path).expect("the table of frames");
        let mut compared = 0;
        for line in text.lines().filter(|line| line.contains("efficiency bit/symbol,")) {
            let columns: Vec<&str> = line.split(',').collect();
            let condition = |name: &str| {
                let mut pairs = columns[1].split(' ').filter_map(|pair| pair.split_once('='));
                pairs.find(|(key, _)| *key == name).map_or("", |(_, value)| value)
            };
            let name = condition("modcod").replacen('-', " ", 1);
            let is_extension = line.starts_with("S2X");
            let frames = Frames {
                are_short: condition("frame") == "short",
                have_pilots: condition("pilots") == "yes",
                are_extended: is_extension,
            };
            let mut entries = ENTRIES.iter();
            let Some(entry) = entries.find(|entry| entry.name == name && entry.is_extension == is_extension) else {
                // MODCODs for linear channels.
                assert!(is_extension, "{line}");
                continue;
            };
            let modcod = entry.with(frames).expect("a MODCOD");
            assert_eq!(condition("symbols"), modcod.symbols.to_string(), "{line}");
            let efficiency = 8.0 * modcod.data_bytes as f64 / modcod.symbols as f64;
            let expected: f64 = columns[2].parse().expect("a number");
            // The data field of some frames is not a whole number of bytes.
            assert!((efficiency - expected).abs() < 0.0003, "{line}: {efficiency}");
            compared += 1;
        }
        assert_eq!(compared, 104 + 25);
    }

    #[test]
    fn thresholds_equal_those_of_time_varying_links() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../python/longpipe/scenario/modcods.csv"
        );
        let text = std::fs::read_to_string(path).expect("the table of MODCODs");
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(rows.len(), 28);
        for (row, entry) in rows.iter().zip(&ENTRIES) {
            let columns: Vec<&str> = row.split(',').collect();
            assert_eq!(
                (columns[0], columns[1]),
                (entry.name, &*format!("{:.2}", entry.es_n0_db))
            );
        }
    }

    #[test]
    fn useful_modcods_carry_more_with_more_es_n0() {
        for (are_short, are_extended, most, count) in [
            (false, false, "32APSK 9/10", 23),
            (false, true, "256APSK 3/4", 40),
            (true, false, "8PSK 3/4", 11),
        ] {
            let frames = Frames {
                are_short,
                have_pilots: false,
                are_extended,
            };
            let modcods = modcods(frames, most).expect("MODCODs");
            let efficiency = |modcod: &Modcod| modcod.data_bytes as f64 / modcod.symbols as f64;
            for pair in modcods.windows(2) {
                assert!(
                    pair[0].es_n0_db < pair[1].es_n0_db && efficiency(&pair[0]) < efficiency(&pair[1]),
                    "{pair:?}"
                );
            }
            assert_eq!(modcods.last().map(|modcod| modcod.name), Some(most));
            println!("{most}: {}", modcods.len());
            assert!(modcods.len().abs_diff(count) < 4, "{}", modcods.len());
        }
        assert_eq!(
            modcods(
                Frames {
                    are_short: true,
                    have_pilots: false,
                    are_extended: false
                },
                "QPSK 9/10"
            ),
            None
        );
    }
}
