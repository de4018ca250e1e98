//! The description of all parts of a scenario: their fields, with types, bounds and defaults, and their rules.

use super::words::with_floats;
use crate::input::read;
use crate::rules::Rules;
use crate::Problems;
use longpipe_json::Json;
use longpipe_units::{Bounded, Dimension};
use std::collections::HashMap;

/// The description of all parts.
#[derive(Debug)]
pub(crate) struct Description {
    models: HashMap<String, Model>,
    /// Defaults, profiles, names that messages mention, and tables of distributions.
    pub(crate) facts: Json<'static>,
}

/// A part, or a kind of a part.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
    /// Fields; empty if this build does not support the part.
    pub(crate) fields: Vec<Field>,
    /// Names of all fields, including those that this build does not support.
    pub(crate) names: Vec<String>,
    pub(crate) rules: Rules,
    /// Field, condition and message of each rule.
    pub(crate) written_rules: Vec<[String; 3]>,
    /// How the data of a source are transported.
    pub(crate) transport: Option<String>,
    /// Field of a source with the time between events that occur in any case.
    pub(crate) repeats: Option<String>,
}

/// A field of a part.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// Default; None for a required field.
    pub(crate) default: Option<Json<'static>>,
    /// Meaning, unit and source of a required field.
    about: String,
    /// Whether the core gets the field only if its value is not the default.
    pub(crate) later: bool,
}

/// Type of a field, and what follows its name in the core, such as the unit of a quantity.
#[derive(Debug)]
pub(crate) struct Type {
    pub(crate) is: Is,
    pub(crate) suffix: String,
}

#[derive(Debug)]
pub(crate) enum Is {
    /// A text of an accepted length, of letters that a pattern accepts.
    Text {
        least: Option<u64>,
        most: Option<u64>,
        letters: Option<Letters>,
    },
    Bool,
    Number(Number),
    /// One of several texts or integers.
    OneOf(Vec<Json<'static>>),
    Quantity {
        bounds: Box<Bounded>,
        is_auto: bool,
    },
    Buffer,
    /// An integer, or a word.
    IntegerOr {
        low: i128,
        high: i128,
        word: String,
    },
    /// Values by name; the number limits how many there are.
    Values(Option<u64>),
    Part(String),
    /// Parts by kind. A chosen kind without options is written as its name in the core.
    Kinds {
        kinds: Vec<(String, String)>,
        is_chosen: bool,
    },
    List(Box<Items>),
}

/// A number with its bounds.
#[derive(Debug)]
pub(crate) struct Number {
    pub(crate) is_float: bool,
    pub(crate) least: Option<f64>,
    pub(crate) above: Option<f64>,
    pub(crate) most: Option<f64>,
    pub(crate) below: Option<f64>,
    /// Number of decimals of a share, which is a whole number in the core.
    pub(crate) decimals: Option<u32>,
}

/// Items of a list, and of rows of a fixed length.
#[derive(Debug)]
pub(crate) struct Items {
    pub(crate) of: Type,
    /// Types of the items of a row, if they differ.
    pub(crate) each: Vec<Type>,
    /// Whether the core gets the items sorted, without duplicates.
    pub(crate) is_ascending: bool,
    pub(crate) length: Option<usize>,
    pub(crate) most: Option<usize>,
    /// What the field of a row needs.
    needs: String,
}

/// The regular expression `^[LETTERS]{LEAST,MOST}$`.
#[derive(Debug)]
pub(crate) struct Letters {
    ranges: Vec<(char, char)>,
    least: usize,
    most: usize,
}

impl Description {
    /// Reads a description from JSON.
    pub(crate) fn read(text: &str) -> Result<Description, Problems> {
        let mut facts = with_floats(read(text)?.into_owned());
        let Json::Table(models) = facts.take("models") else {
            return Err("models: none; needs all parts".to_owned().into());
        };
        let models = models.into_iter().map(|(name, table)| {
            let name = name.into_owned();
            let model = Model::of(&name, table).ok_or_else(|| format!("{name}: needs all facts about a part"));
            model.map(|model| (name, model))
        });
        let models = models.collect::<Result<_, String>>()?;
        Ok(Description { models, facts })
    }

    /// Returns the part with this name, which must exist.
    pub(crate) fn model(&self, name: &str) -> &Model {
        &self.models[name]
    }

    /// Returns a table of facts; its keys may have dots.
    pub(crate) fn fact(&self, table: &str, key: &str) -> Option<&Json<'static>> {
        get(self.facts.at(table), key)
    }

    /// Returns the kinds of a field of TCP, each with its part.
    pub(crate) fn kinds_of_tcp(&self, field: &str) -> &[(String, String)] {
        match self.model("Tcp").field(field).map(|field| &field.ty.is) {
            Some(Is::Kinds { kinds, .. }) => kinds,
            _ => &[],
        }
    }
}

/// Returns a field of a table, whose name may have dots; None if it is absent.
pub(crate) fn get<'j>(table: &'j Json<'static>, name: &str) -> Option<&'j Json<'static>> {
    match table {
        Json::Table(fields) => fields.iter().find(|(key, _)| key == name).map(|(_, value)| value),
        _ => None,
    }
}

impl Model {
    fn of(name: &str, mut table: Json<'static>) -> Option<Model> {
        let kind = table.take("kind").text();
        let is_supported = get(&table, "fields").is_some();
        let mut own: Vec<Field> = kind
            .iter()
            .filter(|_| is_supported)
            .map(|kind| Field::of_kind(kind))
            .collect();
        for field in table.take("fields").list() {
            own.push(Field::of(field)?);
        }
        let names = match table.take("names").texts() {
            Some(names) => names,
            None => own.iter().map(|field| field.name.clone()).collect(),
        };
        let rules = table.take("constraints").list().into_iter();
        let written_rules = rules
            .map(|rule| rule.texts()?.try_into().ok())
            .collect::<Option<Vec<[String; 3]>>>()?;
        let pairs = written_rules.iter().map(|[_, condition, message]| {
            Json::List([condition, message].map(|text| Json::Text(text.clone().into())).into())
        });
        Some(Model {
            name: name.to_owned(),
            kind,
            fields: own,
            names,
            rules: Rules::of(Json::List(pairs.collect())).ok()?,
            written_rules,
            transport: table.take("transport").text(),
            repeats: table.take("repeats").text(),
        })
    }

    /// Returns the field with a name.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

impl Field {
    fn of_kind(kind: &str) -> Field {
        let kind = Json::Text(kind.to_owned().into());
        Field {
            name: "kind".to_owned(),
            ty: Type {
                is: Is::OneOf(vec![kind.clone()]),
                suffix: String::new(),
            },
            default: Some(kind),
            about: String::new(),
            later: false,
        }
    }

    fn of(mut table: Json<'static>) -> Option<Field> {
        Some(Field {
            name: table.take("name").text()?,
            ty: Type::of(table.take("type"))?,
            default: get(&table, "default").cloned(),
            about: table.take("description").text().unwrap_or_default(),
            later: table.take("later") == Json::Bool(true),
        })
    }

    /// Returns the problem of a missing value.
    pub(crate) fn missing(&self) -> String {
        missing(&self.about)
    }

    /// Returns the name of the field in the core.
    pub(crate) fn key(&self) -> String {
        match self.ty.suffix() {
            "" => self.name.clone(),
            suffix if suffix == self.name => self.name.clone(),
            suffix => format!("{}_{suffix}", self.name),
        }
    }
}

/// Returns the problem of a missing value, which begins with what its field is.
fn missing(about: &str) -> String {
    let about = if about.is_empty() { "a value" } else { about };
    let mut letters = about.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    format!("missing; needs {}{}", first.collect::<String>(), letters.as_str())
}

impl Type {
    fn of(mut table: Json<'static>) -> Option<Type> {
        let is = match table.take("is").as_str()? {
            "text" => Is::Text {
                least: table.take("least").number(),
                most: table.take("most").number(),
                letters: table.take("pattern").text().and_then(|pattern| Letters::of(&pattern)),
            },
            "bool" => Is::Bool,
            "int" => Is::Number(Number::of(&table, false)),
            "float" => Is::Number(Number::of(&table, true)),
            "one of" => Is::OneOf(table.take("values").list()),
            "quantity" => {
                let unlimited = table.take("unlimited") == Json::Bool(true);
                let named = Dimension::named(table.at("dimension").as_str()?)?;
                let dimension = Dimension { unlimited, ..*named };
                let [low, high] = ["low", "high"].map(|name| table.at(name).as_str().unwrap_or_default());
                let is_auto = table.at("auto") == &Json::Bool(true);
                let bounds = Box::new(Bounded::new(dimension, low, high, is_auto).ok()?);
                Is::Quantity { bounds, is_auto }
            }
            "buffer" => Is::Buffer,
            "integer or word" => Is::IntegerOr {
                low: whole(table.at("low"))?,
                high: whole(table.at("high"))?,
                word: table.take("word").text()?,
            },
            "values" => Is::Values(table.take("most").number()),
            "part" => Is::Part(table.take("part").text()?),
            "kinds" => {
                let Json::Table(kinds) = table.take("kinds") else {
                    return None;
                };
                let kinds = kinds
                    .into_iter()
                    .map(|(kind, part)| Some((kind.into_owned(), part.text()?)));
                Is::Kinds {
                    kinds: kinds.collect::<Option<_>>()?,
                    is_chosen: table.take("chosen") == Json::Bool(true),
                }
            }
            "list" => Is::List(Box::new(Items {
                of: Type::of(table.take("of"))?,
                each: table
                    .take("each")
                    .list()
                    .into_iter()
                    .map(Type::of)
                    .collect::<Option<_>>()?,
                is_ascending: table.take("ascending") == Json::Bool(true),
                length: table.take("length").place(),
                most: table.take("most").place(),
                needs: table.take("needs").text().unwrap_or_default(),
            })),
            _ => return None,
        };
        let suffix = table.take("suffix").text().unwrap_or_default();
        Some(Type { is, suffix })
    }

    fn suffix(&self) -> &str {
        match &self.is {
            Is::List(items) => items.of.suffix(),
            _ => &self.suffix,
        }
    }

    /// Returns the parts that the type accepts.
    pub(crate) fn parts(&self) -> Vec<&str> {
        match &self.is {
            Is::List(items) => items.of.parts(),
            Is::Part(part) => vec![part],
            Is::Kinds { kinds, .. } => kinds.iter().map(|(_, part)| part.as_str()).collect(),
            _ => vec![],
        }
    }
}

impl Items {
    /// Returns the type of an item.
    pub(crate) fn at(&self, place: usize) -> &Type {
        self.each.get(place).unwrap_or(&self.of)
    }

    /// Returns the problem of a missing item.
    pub(crate) fn missing(&self) -> String {
        missing(&self.needs)
    }
}

impl Number {
    fn of(table: &Json<'static>, is_float: bool) -> Number {
        let bound = |name| float(table.at(name));
        Number {
            is_float,
            least: bound("ge"),
            above: bound("gt"),
            most: bound("le"),
            below: bound("lt"),
            decimals: float(table.at("decimals")).map(|decimals| decimals as u32),
        }
    }
}

impl Letters {
    fn of(pattern: &str) -> Option<Letters> {
        let (letters, lengths) = pattern.strip_prefix("^[")?.strip_suffix("}$")?.split_once("]{")?;
        let (least, most) = lengths.split_once(',').unwrap_or((lengths, lengths));
        let letters: Vec<char> = letters.chars().collect();
        let mut ranges = vec![];
        let mut rest = &letters[..];
        while let [first, following @ ..] = rest {
            (rest, ranges) = match following {
                ['-', last, after @ ..] => (after, [ranges, vec![(*first, *last)]].concat()),
                _ => (following, [ranges, vec![(*first, *first)]].concat()),
            };
        }
        Some(Letters {
            ranges,
            least: least.parse().ok()?,
            most: most.parse().ok()?,
        })
    }

    /// Returns whether a text matches the expression.
    pub(crate) fn accept(&self, text: &str) -> bool {
        let is_accepted = |letter| {
            self.ranges
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&letter))
        };
        (self.least..=self.most).contains(&text.chars().count()) && text.chars().all(is_accepted)
    }
}

/// Returns a whole number, which may be written with a fraction of zero; None for other values.
pub(crate) fn whole(value: &Json<'_>) -> Option<i128> {
    match value {
        Json::Number(number) => Some((*number).into()),
        Json::Negative(number) => Some((*number).into()),
        // Beyond 64 bits a float is no count.
        Json::Float(number) if number.fract() == 0.0 && number.abs() < 2f64.powi(63) => Some(*number as i128),
        _ => None,
    }
}

/// Returns a number; None for other values.
pub(crate) fn float(value: &Json<'_>) -> Option<f64> {
    match value {
        Json::Number(number) => Some(*number as f64),
        Json::Negative(number) => Some(*number as f64),
        Json::Float(number) => Some(*number),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_a_pattern_of_letters_and_lengths() {
        let letters = Letters::of("^[A-Za-z0-9_.-]{1,3}$").expect("a pattern");
        for (text, is_accepted) in [
            ("a", true),
            ("-Z.", true),
            ("", false),
            ("abcd", false),
            ("a b", false),
            ("é", false),
        ] {
            assert_eq!(letters.accept(text), is_accepted, "{text}");
        }
        let digest = Letters::of("^[0-9a-f]{2}$").expect("a pattern");
        assert!(digest.accept("0f") && !digest.accept("f") && !digest.accept("0F"));
    }
}
