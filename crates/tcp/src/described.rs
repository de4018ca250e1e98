//! Descriptions of a scenario's parameters, from which Python's models, their documentation and the lab's forms are
//! generated, and checks of their bounds. Parameters derive both from their declarations, with `longpipe-describe`.

use crate::Problem;
pub use longpipe_describe::Described;
use serde::Serialize;

/// Parameters that have a description.
pub trait Described {
    /// Returns the description for users.
    fn described() -> Type;

    /// Returns the first problem with the bounds and the rules of the fields, if any.
    fn invalid(&self) -> Option<Problem> {
        None
    }

    /// Returns the value of a field that is a quantity, if there is one with this name.
    fn number(&self, _field: &str) -> Option<f64> {
        None
    }
}

/// A part of a scenario, such as a queue discipline.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Name of the model in Python.
    pub name: &'static str,
    /// Common name, as in menus; that of files if it is empty.
    pub label: &'static str,
    /// What the part is.
    pub about: &'static str,
    /// Whether the part draws random numbers.
    pub draws: bool,
    /// Fields, in the order in which files list them.
    pub fields: Vec<Field>,
    /// Problems of several fields.
    pub rules: Vec<Rule>,
    /// Attributes of the model, each with its value as JSON text.
    pub facts: Vec<(&'static str, &'static str)>,
}

impl Part {
    /// Returns the part with the fields of another one before a field, or at the end if there is no such field.
    pub fn with_input(mut self, input: Part, before: &str) -> Part {
        let place = self.fields.iter().position(|field| field.name == before);
        let place = place.unwrap_or(self.fields.len());
        self.fields.splice(place..place, input.fields);
        self
    }
}

/// A field of a part.
#[derive(Clone, Debug, Serialize)]
pub struct Field {
    /// Name as users write it.
    pub name: &'static str,
    /// Base unit of a quantity, which is the suffix of the name in the core; otherwise empty.
    pub unit: &'static str,
    /// Meaning, unit in brackets, and source.
    pub about: &'static str,
    /// Type of the values.
    #[serde(flatten)]
    pub ty: Type,
    /// Whether the field may be absent although it has no other value by default.
    pub optional: bool,
    /// Default as JSON text; None for a required field.
    pub default: Option<&'static str>,
    /// Whether the core gets the field only if its value is not the default.
    pub later: bool,
    /// Defaults of profiles, each with the profile's name and JSON text.
    pub profiles: Vec<(&'static str, &'static str)>,
}

/// Type of a field.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Type {
    /// A number of base units, which users write as text with a unit.
    Quantity {
        /// Name of the dimension.
        dimension: &'static str,
        /// Accepted values.
        bounds: Bounds<i128>,
        /// Accepted word; empty if there is none.
        word: &'static str,
    },
    /// A number of parts per billion, which users write as a fraction.
    Share {
        /// Accepted values.
        bounds: Bounds<i128>,
    },
    /// An integer.
    Integer {
        /// Accepted values.
        bounds: Bounds<i128>,
        /// Accepted word; empty if there is none.
        word: &'static str,
    },
    /// One of several integers.
    Numbers {
        /// The integers.
        numbers: Vec<&'static str>,
    },
    /// A number.
    Float {
        /// Accepted values.
        bounds: Bounds<f64>,
    },
    /// A boolean.
    Bool,
    /// One of several names.
    Names {
        /// The names.
        names: Vec<&'static str>,
    },
    /// A list.
    List {
        /// Type of each item.
        of: Box<Type>,
        /// Accepted lengths; None without a limit.
        len: Option<Bounds<i128>>,
        /// Whether the core gets the items sorted, without duplicates.
        ascending: bool,
        /// Whether users need to write ascending items.
        increasing: bool,
        /// Whether the items need to add up to 1.
        sums_to_one: bool,
    },
    /// A list of fixed length with a type for each item.
    Row {
        /// Types of the items.
        each: Vec<Type>,
    },
    /// Text, from which Python may compute the value for the core.
    Text {
        /// Accepted lengths; None without a limit.
        len: Option<Bounds<i128>>,
        /// Regular expression that the text matches; empty if there is none.
        pattern: &'static str,
    },
    /// A value whose syntax or model is in Python.
    Python {
        /// Module and name of the type.
        path: &'static str,
        /// Whether it is a model, which users write as a table.
        is_model: bool,
    },
    /// A part with fields of its own.
    Part {
        /// The part.
        part: Part,
    },
    /// Parts of several kinds.
    Kinds {
        /// Each kind with its part.
        kinds: Vec<(&'static str, Part)>,
    },
}

/// An interval of accepted values.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bounds<T> {
    /// Lower end as users write it.
    pub low: &'static str,
    /// Upper end as users write it.
    pub high: &'static str,
    /// Whether the lower and the upper end are excluded.
    pub open: [bool; 2],
    /// Base unit of a quantity; otherwise empty.
    pub unit: &'static str,
    /// Lower end in base units.
    pub least: T,
    /// Upper end in base units.
    pub most: T,
}

/// A problem of a field that exists if a condition on several fields holds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rule {
    /// The field.
    pub field: &'static str,
    /// The condition.
    pub condition: &'static str,
    /// The message, with fields in braces.
    pub message: &'static str,
    /// Path of a field with the value that it needs as JSON text, if one value solves the problem.
    pub remedy: Option<(&'static str, &'static str)>,
}

impl<T: PartialOrd + ToString> Bounds<T> {
    /// Returns the problem of a field with this value, unless the value is within the bounds.
    pub fn problem(&self, field: &str, value: T) -> Option<Problem> {
        let [above, below] = self.open;
        // A value that is not a number is outside.
        let is_within = value >= self.least && value <= self.most;
        let is_excluded = (above && value == self.least) || (below && value == self.most);
        (!is_within || is_excluded).then(|| Problem::new(field, value, self.accepted()))
    }

    fn accepted(&self) -> String {
        let Bounds { low, high, open, .. } = self;
        let unit = if self.unit.is_empty() {
            String::new()
        } else {
            format!(", in {}", self.unit)
        };
        match open {
            [false, false] => format!("needs {low} to {high}{unit}"),
            [above, below] => {
                let (begin, end) = (if *above { '(' } else { '[' }, if *below { ')' } else { ']' });
                format!("needs a number in {begin}{low}, {high}{end}{unit}")
            }
        }
    }
}

/// Returns whether a field has the default value of its type. Fields that have it are not serialized, so that a new field
/// does not change the JSON, and thus the digest, of scenarios without it.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns the description of a field of another part.
///
/// # Panics
///
/// Panics if the part has no field of this name.
pub fn field<P: Described>(name: &str) -> Field {
    let matching = part::<P>().fields.into_iter().find(|field| match field.unit {
        "" => field.name == name,
        unit => name.strip_suffix(unit).and_then(|name| name.strip_suffix('_')) == Some(field.name),
    });
    matching.unwrap_or_else(|| panic!("{name}: no field of the part"))
}

/// Returns the rules of another part.
pub fn rules<P: Described>() -> Vec<Rule> {
    part::<P>().rules
}

/// Returns the description of a part.
///
/// # Panics
///
/// Panics for another type.
pub fn part<P: Described>() -> Part {
    match P::described() {
        Type::Part { part } => part,
        other => panic!("{other:?}; needs a part"),
    }
}

/// Returns the descriptions of parts by kind.
///
/// # Panics
///
/// Panics for another type.
pub fn kinds<P: Described>() -> Vec<(&'static str, Part)> {
    match P::described() {
        Type::Kinds { kinds } => kinds,
        other => panic!("{other:?}; needs kinds"),
    }
}

/// Returns kinds with those of a type that only users write before a kind, or at the end if there is no such kind.
pub fn with_kinds<P: Described>(mut listed: Vec<(&'static str, Part)>, before: &str) -> Vec<(&'static str, Part)> {
    let place = listed.iter().position(|(kind, _)| *kind == before);
    let place = place.unwrap_or(listed.len());
    listed.splice(place..place, kinds::<P>());
    listed
}

/// Returns the description of a type of which only some names are accepted, or all if `names` is empty.
pub fn among<T: Described>(names: &[&str]) -> Type {
    match T::described() {
        Type::Names { names: all } if !names.is_empty() => Type::Names {
            names: all.into_iter().filter(|name| names.contains(name)).collect(),
        },
        ty => ty,
    }
}

/// Returns the problem of a field unless its value is one of the names.
pub fn unless_among(field: &str, value: &impl Operand, names: &[&str]) -> Option<Problem> {
    let text = shown(value);
    let accepted = || format!("needs {}", names.join(" or "));
    (!names.contains(&text.as_str())).then(|| Problem::new(field, &text, accepted()))
}

/// Returns the problem of a field unless its items ascend.
pub fn unless_ascending<T: Key>(field: &str, items: &[T]) -> Option<Problem> {
    let pair = items.windows(2).find(|pair| pair[0].key() >= pair[1].key())?;
    let value = format!("{} then {}", pair[0].key(), pair[1].key());
    Some(Problem::new(field, value, "needs ascending numbers"))
}

/// Returns the problem of a field unless its shares [parts per billion] add up to 1.
pub fn unless_one(field: &str, shares: &[u64]) -> Option<Problem> {
    let sum: u128 = shares.iter().copied().map(u128::from).sum();
    (sum != 1_000_000_000).then(|| Problem::new(field, sum, "needs shares that add up to 1000000000, in ppb"))
}

/// An item of an ascending list.
pub trait Key {
    /// Returns the number that ascends.
    fn key(&self) -> u64;
}

impl Key for u64 {
    fn key(&self) -> u64 {
        *self
    }
}

impl<T> Key for (u64, T) {
    fn key(&self) -> u64 {
        self.0
    }
}

/// A value in the condition of a rule.
pub trait Operand {
    /// Returns a number for comparisons; None if there is none.
    fn number(&self) -> Option<f64> {
        None
    }

    /// Returns the value as text; None if it is absent.
    fn text(&self) -> Option<String>;
}

/// Returns a value for messages.
pub fn shown(value: &impl Operand) -> String {
    value.text().unwrap_or_else(|| "absent".to_owned())
}

macro_rules! numbers {
    ($($number:ty)+) => {
        $(impl Operand for $number {
            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }

            fn text(&self) -> Option<String> {
                Some(self.to_string())
            }
        })+
    };
}

numbers! { u32 u64 i32 f64 }

impl Operand for bool {
    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Operand for String {
    fn text(&self) -> Option<String> {
        Some(self.clone())
    }
}

impl<T: Operand> Operand for Option<T> {
    fn number(&self) -> Option<f64> {
        self.as_ref()?.number()
    }

    fn text(&self) -> Option<String> {
        self.as_ref()?.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks packets with a probability.
    #[derive(Described)]
    #[described(
        label = "marker",
        rule("longest", "longest < delay", "{longest}; needs at least delay, {delay}")
    )]
    struct MarkerConfig {
        /// Delay of a mark [time]; RFC 1.
        #[field(range = "[1 us, 10 s]", default = "5 ms")]
        delay_ps: u64,
        /// Maximum delay [time].
        #[field(range = "[0 s, 1 min]")]
        longest_ps: Option<u64>,
        /// Probability of a mark.
        #[field(range = "(0, 1]", default = 0.5)]
        probability: f64,
        /// Weights of classes.
        #[field(range = "[1, 9]", len = "[1, 2]", default = [3, 1])]
        weights: Vec<u32>,
        /// When packets are marked.
        #[field(values("at-enqueue"), default = "at-enqueue")]
        when: When,
    }

    #[derive(Described)]
    enum When {
        AtEnqueue,
        #[allow(dead_code)]
        AtDequeue,
    }

    const VALID: MarkerConfig = MarkerConfig {
        delay_ps: 5_000_000_000,
        longest_ps: None,
        probability: 0.5,
        weights: Vec::new(),
        when: When::AtEnqueue,
    };

    fn valid() -> MarkerConfig {
        MarkerConfig {
            weights: vec![3, 1],
            ..VALID
        }
    }

    fn problem(config: &MarkerConfig) -> String {
        config.invalid().map_or_else(String::new, |problem| {
            format!("{}: {}; {}", problem.field, problem.value, problem.accepted)
        })
    }

    #[test]
    fn values_outside_of_their_interval_are_invalid() {
        assert_eq!(problem(&valid()), "");
        let delay_ps = 999_999;
        let early = MarkerConfig { delay_ps, ..valid() };
        assert_eq!(problem(&early), "delay: 999999; needs 1 us to 10 s, in ps");
        let probability = 0.0;
        let never = MarkerConfig { probability, ..valid() };
        assert_eq!(problem(&never), "probability: 0; needs a number in (0, 1]");
        let weights = vec![3, 10];
        let heavy = MarkerConfig { weights, ..valid() };
        assert_eq!(problem(&heavy), "weights: 10; needs 1 to 9");
        assert_eq!(problem(&VALID), "weights: 0; needs 1 to 2");
    }

    #[test]
    fn names_that_are_not_listed_are_invalid() {
        let when = When::AtDequeue;
        let late = MarkerConfig { when, ..valid() };
        assert_eq!(problem(&late), "when: at-dequeue; needs at-enqueue");
    }

    #[test]
    fn rules_compare_fields_unless_one_is_absent() {
        let longest_ps = Some(1_000_000_000);
        let short = MarkerConfig { longest_ps, ..valid() };
        let expected = "longest: 1000000000 ps; needs at least delay, 5000000000 ps";
        assert_eq!(problem(&short), expected);
    }

    #[test]
    fn descriptions_have_names_units_and_defaults_as_users_write_them() {
        let part = part::<MarkerConfig>();
        assert_eq!((part.name, part.label), ("Marker", "marker"));
        assert_eq!(part.about, "Marks packets with a probability.");
        let delay = &part.fields[0];
        assert_eq!((delay.name, delay.unit), ("delay", "ps"));
        assert_eq!(delay.about, "Delay of a mark [time]; RFC 1");
        assert_eq!(delay.default, Some("\"5 ms\""));
        assert_eq!(part.fields[1].default, Some("null"));
        assert_eq!(part.fields[3].default, Some("[3, 1]"));
    }
}
