//! The attributes `field` and `described`, and those of other crates that the descriptions use: documentation and serde's.

use crate::literals::{json, pair, text, texts};
use syn::meta::ParseNestedMeta;
use syn::{parenthesized, Attribute, Error, Expr, ExprLit, Ident, Lit, LitStr, Meta, Result, Token, Type};

/// Attribute `field` of a field. The documentation of the crate explains its entries.
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

/// A rule across the fields of a part: if the condition holds, `field` has a problem.
pub struct Rule {
    pub field: LitStr,
    pub condition: LitStr,
    pub message: LitStr,
    /// Path of a field with the value that it needs as JSON text, if one value solves the problem.
    pub remedy: Option<(String, String)>,
}

/// Attribute `described` of a struct, an enum or a variant. The documentation of the crate explains its entries.
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

/// Parses the attribute `field` of a field.
pub fn of_field(attributes: &[Attribute]) -> Result<OfField> {
    let mut declared = OfField::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("field")) {
        attribute.parse_nested_meta(|meta| {
            match name_of(&meta).as_str() {
                "range" => declared.range = Some(meta.value()?.parse()?),
                "default" => declared.default = Some(json(meta.value()?)?),
                "len" => declared.len = Some(meta.value()?.parse()?),
                "each" => declared.each = texts(&meta)?,
                "written" => {
                    let [name, len] =
                        <[LitStr; 2]>::try_from(texts(&meta)?).map_err(|_| meta.error("needs a name and lengths"))?;
                    declared.written = Some((name.value(), len));
                }
                "ascending" => declared.ascending = true,
                "increasing" => declared.increasing = true,
                "sums_to_one" => declared.sums_to_one = true,
                "pattern" => declared.pattern = Some(text(&meta)?),
                "values" => declared.values = texts(&meta)?.iter().map(LitStr::value).collect(),
                "of" => declared.of = Some(meta.value()?.parse()?),
                "unit" => declared.unit = Some(text(&meta)?),
                "word" => declared.word = Some(text(&meta)?),
                "profile" => declared.profiles.push(pair(&meta)?),
                "later" => declared.later = true,
                "skip" => declared.skip = true,
                _ => {
                    return Err(meta.error(
                        "needs range, default, len, each, values, written, of, unit, word, profile, pattern, \
                         ascending, increasing, sums_to_one, later or skip",
                    ))
                }
            }
            Ok(())
        })?;
    }
    Ok(declared)
}

/// Parses the attribute `described` of a struct, an enum or a variant.
pub fn of_part(attributes: &[Attribute]) -> Result<OfPart> {
    let mut part = OfPart::default();
    let described = |attribute: &&Attribute| attribute.path().is_ident("described");
    for attribute in attributes.iter().filter(described) {
        attribute.parse_nested_meta(|meta| {
            match name_of(&meta).as_str() {
                "label" => part.label = text(&meta)?,
                "name" => part.name = Some(text(&meta)?),
                "draws" => part.draws = true,
                "rules_of" => part.rules_of = Some(meta.value()?.parse()?),
                "rule" => part.rules.push(rule(&meta)?),
                "fact" => part.facts.push(pair(&meta)?),
                "input" => part.inputs.push(input(&meta)?),
                "skip" => part.skip = true,
                _ => return Err(meta.error("needs label, name, rule, rules_of, fact, input, skip or draws")),
            }
            Ok(())
        })?;
    }
    Ok(part)
}

/// Returns the name of an entry of an attribute; empty if it is not an identifier.
fn name_of(meta: &ParseNestedMeta<'_>) -> String {
    meta.path.get_ident().map(Ident::to_string).unwrap_or_default()
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
