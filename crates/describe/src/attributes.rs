//! Attributes of structs, fields and variants.

use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::{bracketed, parenthesized, token, Attribute, Error, Expr, ExprLit, Lit, LitStr, Meta, Result, Token, Type};

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
    pub ascending: bool,
    pub later: bool,
}

impl OfField {
    /// Returns the attribute of a value with the given range.
    pub fn in_range(range: &LitStr) -> OfField {
        OfField {
            range: Some(range.clone()),
            ..OfField::default()
        }
    }
}

/// A problem of a field that exists if a condition holds.
pub struct Rule {
    pub field: LitStr,
    pub condition: LitStr,
    pub message: LitStr,
}

/// Attribute `described`.
#[derive(Default)]
pub struct OfPart {
    pub label: String,
    pub name: Option<String>,
    pub rules: Vec<Rule>,
    pub rules_of: Option<Type>,
    pub draws: bool,
}

pub fn of_field(attributes: &[Attribute]) -> Result<OfField> {
    let mut found = OfField::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("field")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("range") {
                found.range = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("default") {
                found.default = Some(json(meta.value()?)?);
            } else if meta.path.is_ident("len") {
                found.len = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("each") {
                found.each = texts(&meta)?;
            } else if meta.path.is_ident("written") {
                let [name, len] =
                    <[LitStr; 2]>::try_from(texts(&meta)?).map_err(|_| meta.error("needs a name and lengths"))?;
                found.written = Some((name.value(), len));
            } else if meta.path.is_ident("ascending") {
                found.ascending = true;
            } else if meta.path.is_ident("values") {
                found.values = texts(&meta)?.iter().map(LitStr::value).collect();
            } else if meta.path.is_ident("of") {
                found.of = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("later") {
                found.later = true;
            } else {
                return Err(meta.error("needs range, default, len, each, values, written, of, ascending or later"));
            }
            Ok(())
        })?;
    }
    Ok(found)
}

pub fn of_part(attributes: &[Attribute]) -> Result<OfPart> {
    let mut found = OfPart::default();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("described"))
    {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("label") {
                found.label = meta.value()?.parse::<LitStr>()?.value();
            } else if meta.path.is_ident("name") {
                found.name = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.path.is_ident("draws") {
                found.draws = true;
            } else if meta.path.is_ident("rules_of") {
                found.rules_of = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("rule") {
                let [field, condition, message] = <[LitStr; 3]>::try_from(texts(&meta)?)
                    .map_err(|_| meta.error("needs a field, a condition and a message"))?;
                found.rules.push(Rule {
                    field,
                    condition,
                    message,
                });
            } else {
                return Err(meta.error("needs label, name, rule, rules_of or draws"));
            }
            Ok(())
        })?;
    }
    Ok(found)
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
    let mut found = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !found.is_empty() {
            found.push('-');
        }
        found.extend(letter.to_lowercase());
    }
    found
}

fn texts(meta: &ParseNestedMeta<'_>) -> Result<Vec<LitStr>> {
    let within;
    parenthesized!(within in meta.input);
    let texts = within.parse_terminated(<LitStr as Parse>::parse, Token![,])?;
    Ok(texts.into_iter().collect())
}

/// Parses a literal, or a list of literals, and returns it as JSON.
fn json(input: ParseStream<'_>) -> Result<String> {
    if input.peek(token::Bracket) {
        let within;
        bracketed!(within in input);
        let items = within.parse_terminated(json, Token![,])?;
        return Ok(format!("[{}]", items.into_iter().collect::<Vec<_>>().join(", ")));
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
