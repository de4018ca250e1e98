//! Values in attributes: string literals, and other literals as JSON.

use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::{braced, bracketed, parenthesized, token, Error, Ident, Lit, LitStr, Result, Token};

/// Parses `= "TEXT"`.
pub fn text(meta: &ParseNestedMeta<'_>) -> Result<String> {
    Ok(meta.value()?.parse::<LitStr>()?.value())
}

/// Parses `("TEXT", ...)`.
pub fn texts(meta: &ParseNestedMeta<'_>) -> Result<Vec<LitStr>> {
    let within;
    parenthesized!(within in meta.input);
    let texts = within.parse_terminated(<LitStr as Parse>::parse, Token![,])?;
    Ok(texts.into_iter().collect())
}

/// Parses a name and a value, and returns the value as JSON.
pub fn pair(meta: &ParseNestedMeta<'_>) -> Result<(String, String)> {
    let within;
    parenthesized!(within in meta.input);
    let name = within.parse::<LitStr>()?.value();
    within.parse::<Token![,]>()?;
    let value = json(&within)?;
    within.parse::<Option<Token![,]>>()?;
    Ok((name, value))
}

/// Parses a literal, a list, or a table of literals, and returns it as JSON.
pub fn json(input: ParseStream<'_>) -> Result<String> {
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
