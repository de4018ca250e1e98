//! Attributes of structs, fields and variants.

use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::{
    braced, bracketed, parenthesized, token, Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Result, Token,
    Type,
};

/// Attribute `field`.
#[derive(Default)]
pub struct OfField {
    pub range: Option<LitStr>,
    /// Default as JSON text.
    pub default: Option<String>,
    pub len: Option<LitStr>,
    /// Intervals of the items of a tuple.
    pub each: Vec<LitStr>,
    pub values: Vec<String>,
    /// Name under which users write a text from which Python computes the value, and the accepted lengths of the text.
    pub written: Option<(String, LitStr)>,
    pub of: Option<Type>,
    /// Unit of a quantity of which the name does not end with the unit.
    pub unit: Option<String>,
    /// Word that is accepted in place of a number.
    pub word: Option<String>,
    /// Defaults of profiles, as pairs of the profile's name and JSON text.
    pub profiles: Vec<(String, String)>,
    pub pattern: Option<String>,
    pub ascending: bool,
    pub increasing: bool,
    pub sums_to_one: bool,
    pub later: bool,
    pub skip: bool,
}

impl OfField {
    /// Returns the attribute of a value with the given range.
    pub fn in_range(range: Option<&LitStr>) -> OfField {
        OfField {
            range: range.cloned(),
            ..OfField::default()
        }
    }
}

/// A problem of a field that exists if a condition holds.
pub struct Rule {
    pub field: LitStr,
    pub condition: LitStr,
    pub message: LitStr,
    /// Path of a field with the value that it needs as JSON text, if one value solves the problem.
    pub remedy: Option<(String, String)>,
}

/// Attribute `described`.
#[derive(Default)]
pub struct OfPart {
    pub label: String,
    pub name: Option<String>,
    pub rules: Vec<Rule>,
    pub rules_of: Option<Type>,
    pub draws: bool,
    /// Facts about the part, as pairs of a name and JSON text.
    pub facts: Vec<(String, String)>,
    /// Parts with fields, or enums with kinds, that only users write, each with the field or kind before which they are;
    /// at the end if it is empty.
    pub inputs: Vec<(Type, String)>,
    pub skip: bool,
}

pub fn of_field(attributes: &[Attribute]) -> Result<OfField> {
    let mut declared = OfField::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("field")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("range") {
                declared.range = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("default") {
                declared.default = Some(json(meta.value()?)?);
            } else if meta.path.is_ident("len") {
                declared.len = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("each") {
                declared.each = texts(&meta)?;
            } else if meta.path.is_ident("written") {
                let [name, len] =
                    <[LitStr; 2]>::try_from(texts(&meta)?).map_err(|_| meta.error("needs a name and lengths"))?;
                declared.written = Some((name.value(), len));
            } else if meta.path.is_ident("ascending") {
                declared.ascending = true;
            } else if meta.path.is_ident("increasing") {
                declared.increasing = true;
            } else if meta.path.is_ident("sums_to_one") {
                declared.sums_to_one = true;
            } else if meta.path.is_ident("pattern") {
                declared.pattern = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.path.is_ident("values") {
                declared.values = texts(&meta)?.iter().map(LitStr::value).collect();
            } else if meta.path.is_ident("of") {
                declared.of = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("unit") {
                declared.unit = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.path.is_ident("word") {
                declared.word = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.path.is_ident("profile") {
                declared.profiles.push(pair(&meta)?);
            } else if meta.path.is_ident("later") {
                declared.later = true;
            } else if meta.path.is_ident("skip") {
                declared.skip = true;
            } else {
                return Err(meta.error(
                    "needs range, default, len, each, values, written, of, unit, word, profile, pattern, ascending, \
                     increasing, sums_to_one, later or skip",
                ));
            }
            Ok(())
        })?;
    }
    Ok(declared)
}

pub fn of_part(attributes: &[Attribute]) -> Result<OfPart> {
    let mut part = OfPart::default();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("described"))
    {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("label") {
                part.label = meta.value()?.parse::<LitStr>()?.value();
            } else if meta.path.is_ident("name") {
                part.name = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.path.is_ident("draws") {
                part.draws = true;
            } else if meta.path.is_ident("rules_of") {
                part.rules_of = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("rule") {
                part.rules.push(rule(&meta)?);
            } else if meta.path.is_ident("fact") {
                part.facts.push(pair(&meta)?);
            } else if meta.path.is_ident("input") {
                part.inputs.push(input(&meta)?);
            } else if meta.path.is_ident("skip") {
                part.skip = true;
            } else {
                return Err(meta.error("needs label, name, rule, rules_of, fact, input, skip or draws"));
            }
            Ok(())
        })?;
    }
    Ok(part)
}

/// Returns the documentation, with each paragraph on one line.
pub fn about(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("doc") => match &meta.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text), ..
            }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ").replace("  ", "\n\n")
}

/// Returns the name by which serde knows a variant: `rename`, or otherwise the name in kebab case.
pub fn serialized(name: &str, attributes: &[Attribute]) -> Result<String> {
    let mut renamed = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                renamed = Some(meta.value()?.parse::<LitStr>()?.value());
            }
            Ok(())
        })?;
    }
    Ok(renamed.unwrap_or_else(|| kebab(name)))
}

fn kebab(name: &str) -> String {
    let mut kebab_case = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab_case.is_empty() {
            kebab_case.push('-');
        }
        kebab_case.extend(letter.to_lowercase());
    }
    kebab_case
}

fn texts(meta: &ParseNestedMeta<'_>) -> Result<Vec<LitStr>> {
    let within;
    parenthesized!(within in meta.input);
    let texts = within.parse_terminated(<LitStr as Parse>::parse, Token![,])?;
    Ok(texts.into_iter().collect())
}

/// Parses a name and a value, and returns the value as JSON.
fn pair(meta: &ParseNestedMeta<'_>) -> Result<(String, String)> {
    let within;
    parenthesized!(within in meta.input);
    let name = within.parse::<LitStr>()?.value();
    within.parse::<Token![,]>()?;
    let value = json(&within)?;
    within.parse::<Option<Token![,]>>()?;
    Ok((name, value))
}

/// Parses a field, a condition, a message, and optionally a remedy.
fn rule(meta: &ParseNestedMeta<'_>) -> Result<Rule> {
    let within;
    parenthesized!(within in meta.input);
    let text = || {
        let text = within.parse::<LitStr>()?;
        within.parse::<Option<Token![,]>>()?;
        Ok::<LitStr, Error>(text)
    };
    let (field, condition, message) = (text()?, text()?, text()?);
    let remedy = match within.is_empty() {
        true => None,
        false => Some((text()?.value(), json(&within)?)),
    };
    Ok(Rule {
        field,
        condition,
        message,
        remedy,
    })
}

/// Parses the type of a part, and optionally the field before which its fields are.
fn input(meta: &ParseNestedMeta<'_>) -> Result<(Type, String)> {
    let within;
    parenthesized!(within in meta.input);
    let part = within.parse()?;
    let before = match within.parse::<Option<Token![,]>>()? {
        Some(_) => within.parse::<LitStr>()?.value(),
        None => String::new(),
    };
    Ok((part, before))
}

/// Parses a literal, a list, or a table of literals, and returns it as JSON.
fn json(input: ParseStream<'_>) -> Result<String> {
    if input.peek(token::Brace) {
        let within;
        braced!(within in input);
        let item = |input: ParseStream<'_>| {
            let name = input.parse::<Ident>()?;
            input.parse::<Token![=]>()?;
            Ok(format!("\"{name}\": {}", json(input)?))
        };
        let items = within.parse_terminated(item, Token![,])?;
        return Ok(format!("{{{}}}", items.into_iter().collect::<Vec<_>>().join(", ")));
    }
    if input.peek(token::Bracket) {
        let within;
        bracketed!(within in input);
        let items = within.parse_terminated(json, Token![,])?;
        return Ok(format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", ")));
    }
    if input.peek(Ident) && input.fork().parse::<Ident>()? == "null" {
        return Ok(input.parse::<Ident>()?.to_string());
    }
    let sign = if input.parse::<Option<Token![-]>>()?.is_some() {
        "-"
    } else {
        ""
    };
    match input.parse()? {
        Lit::Str(text) => Ok(format!("{:?}", text.value())),
        Lit::Int(number) => Ok(format!("{sign}{}", number.base10_digits())),
        Lit::Float(number) => Ok(format!("{sign}{}", number.base10_digits())),
        Lit::Bool(value) => Ok(value.value.to_string()),
        other => Err(Error::new_spanned(
            other,
            "needs a text, a number, a boolean, or a list of them",
        )),
    }
}
