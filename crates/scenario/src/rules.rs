//! Rules across the fields of a part, in the language of `python/longpipe/scenario/constraints.py`.

use crate::input::read;
use crate::units::{self, SIZE};
use crate::Problems;
use longpipe_json::Json;
use longpipe_tcp::config::{TcpConfig, MAX_WINDOW_SCALE};
use longpipe_units::{repr, repr_of_float, Decimal, DIMENSIONS, SYMBOLS};

/// The rules of a kind of parts.
#[derive(Debug)]
pub struct Rules(Vec<Rule>);

/// A rule, which a part violates if all clauses of the condition hold.
#[derive(Debug)]
struct Rule {
    clauses: Vec<Clause>,
    /// Message with fields in braces.
    message: String,
}

/// A comparison of a field, or of the product of two fields, with a field or a constant.
#[derive(Debug)]
struct Clause {
    fields: Vec<String>,
    /// "is", "is not" and "is among", which has a list of words, compare values as written, and others in base units.
    sign: &'static str,
    right: Operand,
}

#[derive(Debug)]
enum Operand {
    Field(String),
    Constant(Json<'static>),
}

impl Rules {
    /// Reads rules from JSON, a list of conditions and messages, such as `"max_rto * tick > '10000 s' and phase.kind is
    /// 'fixed'"`.
    ///
    /// # Errors
    /// Returns a message about the first clause that is no comparison.
    pub fn read(rules_json: &str) -> Result<Rules, Problems> {
        Rules::of(read(rules_json)?)
    }

    pub(crate) fn of(rules: Json<'_>) -> Result<Rules, Problems> {
        let rules = rules.list().into_iter().map(|mut rule| {
            let [condition, message] = [0, 1].map(|place| rule.item(place).text().unwrap_or_default());
            Rule::read(&condition, message).map_err(Problems::from)
        });
        Ok(Rules(rules.collect::<Result<_, _>>()?))
    }

    /// Returns the number and the message of each rule that a part violates; the part is a table of its fields as JSON.
    ///
    /// # Errors
    /// Returns the problem of the text, which is a defect of the caller.
    pub fn problems(&self, part_json: &str) -> Result<Vec<(usize, String)>, Problems> {
        Ok(self.violated(&mut read(part_json)?))
    }

    /// Returns the number and the message of each rule that a part violates. A part with a receiver's window gets the range
    /// of window scales, which rules compare.
    pub(crate) fn violated(&self, part: &mut Json<'_>) -> Vec<(usize, String)> {
        if let Some(window) = part.at("receiver_window").as_str() {
            let scale = least_window_scale(window);
            part.set("least_window_scale", Json::Number(scale.into()));
            part.set("most_window_scale", Json::Number(MAX_WINDOW_SCALE.into()));
        }
        let problems = self.0.iter().enumerate();
        problems
            .filter_map(|(number, rule)| Some((number, rule.problem(part)?)))
            .collect()
    }
}

impl Rule {
    fn read(condition: &str, message: String) -> Result<Rule, String> {
        let clauses = condition.split(" and ").map(|text| {
            Clause::read(text).ok_or_else(|| format!("{}; needs FIELD < FIELD, or FIELD is 'CONSTANT'", repr(text)))
        });
        Ok(Rule {
            clauses: clauses.collect::<Result<_, _>>()?,
            message,
        })
    }

    /// Returns the message if a part violates the rule.
    fn problem(&self, part: &Json<'_>) -> Option<String> {
        let is_violated = self.clauses.iter().all(|clause| clause.holds(part));
        is_violated.then(|| filled(&self.message, |path| shown(part.at(path))))
    }
}

impl Clause {
    fn read(text: &str) -> Option<Clause> {
        let signs = ["is not", "is among", "is", "<=", ">=", "<", ">"];
        let (left, sign, right) = signs.into_iter().find_map(|sign| {
            let (left, right) = text.split_once(&format!(" {sign} "))?;
            Some((left, sign, right))
        })?;
        let right = match (right, right.strip_prefix('\'')) {
            (_, Some(constant)) => Operand::Constant(Json::Text(constant.strip_suffix('\'')?.to_owned().into())),
            ("true" | "false", _) => Operand::Constant(Json::Bool(right == "true")),
            ("none", _) => Operand::Constant(Json::Null),
            _ => match right.parse() {
                Ok(number) => Operand::Constant(Json::Number(number)),
                Err(_) => Operand::Field(right.to_owned()),
            },
        };
        Some(Clause {
            fields: left.split(" * ").map(str::to_owned).collect(),
            sign,
            right,
        })
    }

    fn holds(&self, part: &Json<'_>) -> bool {
        let left = part.at(&self.fields[0]);
        let right = match &self.right {
            Operand::Field(path) => part.at(path),
            Operand::Constant(constant) => constant,
        };
        if self.sign == "is among" {
            let words = right.as_str().unwrap_or_default().split(' ');
            return words.into_iter().any(|word| left.as_str() == Some(word));
        }
        if let "is" | "is not" = self.sign {
            return is_same(left, right) == (self.sign == "is");
        }
        let product = self.fields.iter().map(|path| number(part.at(path)));
        let product = product.reduce(|left, right| Some(product_of(left?, right?))).flatten();
        let Some((product, right)) = product.zip(number(right)) else {
            return false;
        };
        let order = product.cmp(&right);
        match self.sign {
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            _ => order.is_ge(),
        }
    }
}

/// Returns a number, or a quantity in base units; None for other values.
fn number(value: &Json<'_>) -> Option<Decimal> {
    match value {
        Json::Number(number) => Some(Decimal::from(*number)),
        Json::Negative(_) | Json::Float(_) => Decimal::read(&shown_exactly(value)),
        // No unit is one of two dimensions.
        Json::Text(text) => {
            let mut dimensions = DIMENSIONS.into_iter().chain([SYMBOLS]);
            dimensions
                .find_map(|dimension| units::parse(dimension, text))
                .map(Decimal::from)
        }
        _ => None,
    }
}

/// Returns the product of two integers; products beyond 64 bits are larger than any limit.
fn product_of(left: Decimal, right: Decimal) -> Decimal {
    let product = left
        .to_u64()
        .zip(right.to_u64())
        .and_then(|(left, right)| left.checked_mul(right));
    Decimal::from(product.unwrap_or(u64::MAX))
}

/// Returns whether two values are equal; a part equals the name of its kind.
fn is_same(left: &Json<'_>, right: &Json<'_>) -> bool {
    match (left, right) {
        (Json::Table(_), Json::Text(_)) => left.at("kind") == right,
        (Json::Text(_), _) | (_, Json::Text(_)) => left == right,
        _ => left == right || (number(left).is_some() && number(left) == number(right)),
    }
}

/// Returns a message in which fields in braces are replaced; braces around other text remain.
fn filled(message: &str, value: impl Fn(&str) -> String) -> String {
    let is_path = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_lowercase() || b"_.".contains(&byte))
    };
    let mut pieces = message.split('{');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('}') {
            Some((path, rest)) if is_path(path) => text = text + &value(path) + rest,
            _ => text = text + "{" + piece,
        }
    }
    text
}

/// Formats a value for a message.
fn shown(value: &Json<'_>) -> String {
    match value {
        Json::Float(number) => six_digits(*number),
        _ => shown_exactly(value),
    }
}

/// Formats a value as Python does.
fn shown_exactly(value: &Json<'_>) -> String {
    match value {
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number.to_string(),
        Json::Negative(number) => number.to_string(),
        Json::Float(number) => repr_of_float(*number),
        Json::Text(text) => text.to_string(),
        _ => "None".to_owned(),
    }
}

/// Formats a number with at most six significant digits, as `%g` does. The formats of the standard library would be 20 kB of
/// the page.
pub(crate) fn six_digits(number: f64) -> String {
    let (size, ten) = (number.abs(), |power: i32| 10f64.powi(power));
    if size == 0.0 || !size.is_finite() {
        return repr_of_float(number).trim_end_matches(".0").to_owned();
    }
    let mut exponent = 0;
    while size >= ten(exponent + 1) {
        exponent += 1;
    }
    while size < ten(exponent) {
        exponent -= 1;
    }
    let mut digits = (size * ten(5 - exponent)).round();
    if digits >= ten(6) {
        (exponent, digits) = (exponent + 1, digits / 10.0);
    }
    let sign = if number < 0.0 { "-" } else { "" };
    if (-4..6).contains(&exponent) {
        return sign.to_owned() + repr_of_float(digits / ten(5 - exponent)).trim_end_matches(".0");
    }
    let mantissa = repr_of_float(digits / ten(5));
    let (mantissa, direction) = (mantissa.trim_end_matches(".0"), if exponent < 0 { '-' } else { '+' });
    format!("{sign}{mantissa}e{direction}{:02}", exponent.abs())
}

/// Returns the smallest window scale with which a receiver's window, of which 'auto' is none yet, fits its field (RFC 7323).
pub(crate) fn least_window_scale(receiver_window: &str) -> u32 {
    TcpConfig::least_window_scale(units::parse(SIZE, receiver_window).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits_in_messages() {
        for (number, text) in [
            (15.5, "15.5"),
            (1.0, "1"),
            (0.0, "0"),
            (-2.0 / 3.0, "-0.666667"),
            (999_999.5, "1e+06"),
            (123_456.4, "123456"),
            (1_234_567.0, "1.23457e+06"),
            (0.000_1, "0.0001"),
            (0.000_012_345_67, "1.23457e-05"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(six_digits(number), text);
        }
    }

    #[test]
    fn rules_compare_quantities_in_base_units_and_products() {
        let rules = Rules::read(
            r#"[["max * tick > '10 s' and phase.kind is 'fixed'", "{max} of {tick}, {phase.kind}, {kept = 1}"],
                ["absent < max", ""], ["size is 'unlimited' and size > '1 B'", ""], ["control is 'bbr'", "{x} {y}"],
                ["control.kind is among 'aimd bbr'", "a"], ["control.kind is among 'bb r'", "b"]]"#,
        );
        let part = r#"{"max": "1001 ticks", "tick": "10 ms", "phase": {"kind": "fixed"}, "size": "unlimited",
            "control": {"kind": "bbr"}, "x": true, "y": null}"#;
        let problems = rules.expect("rules").problems(part).expect("a part");
        let expected = [
            (0, "1001 ticks of 10 ms, fixed, {kept = 1}"),
            (3, "true None"),
            (4, "a"),
        ];
        assert_eq!(problems, expected.map(|(number, text)| (number, text.to_owned())));
        for wrong in ["mss small", "a <", "a is 'b"] {
            let rules = format!(r#"[["{wrong}", ""]]"#);
            assert!(Rules::read(&rules).is_err(), "{wrong}");
        }
    }
}
