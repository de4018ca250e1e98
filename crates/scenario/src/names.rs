//! Names in messages: the nearest accepted name, as Python's `difflib` finds it.

use longpipe_units::shortened;

/// Least similarity of a name that a message suggests.
const CUTOFF: f64 = 0.6;

/// Returns a clause that suggests the closest accepted name, if one is close, and lists at most `max_listed` names.
///
/// Among names that are equally close, it suggests an anagram, or else the last in alphabetical order.
pub fn nearest(word: &str, accepted: &[&str], max_listed: usize) -> String {
    let names: Vec<String> = accepted.iter().map(|name| shortened(name)).collect();
    if names.is_empty() {
        return "there is none".to_owned();
    }
    let word = shortened(word);
    let scores: Vec<f64> = names.iter().map(|name| similarity(name, &word)).collect();
    let most_similar = scores.iter().copied().fold(CUTOFF, f64::max);
    let equal = names.iter().zip(&scores).filter(|(_, score)| **score == most_similar);
    // Of the last three names in alphabetical order, the first anagram, or else the first name.
    let mut last: Vec<&String> = vec![];
    for _ in 0..3 {
        last.extend(
            equal
                .clone()
                .map(|(name, _)| name)
                .filter(|name| !last.contains(name))
                .max(),
        );
    }
    let best = last.iter().find(|name| is_anagram(name, &word)).or(last.first());
    let suggestion = best.map_or(String::new(), |name| format!("did you mean '{name}'? "));
    let more = match names.len().checked_sub(max_listed) {
        Some(rest) if rest > 0 => format!(" and {rest} more"),
        _ => String::new(),
    };
    let listed = names[..names.len().min(max_listed)].join(", ");
    format!("{suggestion}accepts {listed}{more}")
}

fn is_anagram(one: &str, other: &str) -> bool {
    let count = |name: &str, letter| name.chars().filter(|other| *other == letter).count();
    one.len() == other.len() && one.chars().all(|letter| count(one, letter) == count(other, letter))
}

/// Returns the similarity of two names from 0 to 1 (Ratcliff and Obershelp).
fn similarity(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let total = (a.len() + b.len()) as f64;
    if 2.0 * a.len().min(b.len()) as f64 / total < CUTOFF {
        return 0.0;
    }
    2.0 * matches(&a, &b) as f64 / total
}

/// Returns the number of characters in common blocks: the longest common block, and those on both of its sides.
fn matches(a: &[char], b: &[char]) -> usize {
    let (mut best, mut from_a, mut from_b) = (0, 0, 0);
    // Lengths of the common blocks that end at the previous character of `a` and at each character of `b`.
    let mut before = vec![0; b.len() + 1];
    for (i, letter) in a.iter().enumerate() {
        let mut lengths = vec![0; b.len() + 1];
        for (j, other) in b.iter().enumerate() {
            if letter == other {
                let length = before[j] + 1;
                lengths[j + 1] = length;
                if length > best {
                    (best, from_a, from_b) = (length, i + 1 - length, j + 1 - length);
                }
            }
        }
        before = lengths;
    }
    if best == 0 {
        return 0;
    }
    best + matches(&a[..from_a], &b[..from_b]) + matches(&a[from_a + best..], &b[from_b + best..])
}
