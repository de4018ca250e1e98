//! Conversion from JSON. The attributes of serde that serialization uses have the same meaning here: `default`,
//! `rename`, `deny_unknown_fields`, `skip`, `tag = "kind"`, and `rename_all = "kebab-case"` for variants.

use crate::attributes::serialized;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Fields, LitStr, Path, Result, Token};

/// Derives the conversion of a struct, of an enum of names, or of an enum with the field `kind`.
pub fn derived(input: &DeriveInput) -> Result<TokenStream> {
    let ident = &input.ident;
    let is_closed = of_serde(&input.attrs)?.deny_unknown_fields;
    let title = ident.to_string();
    let body = match &input.data {
        Data::Struct(data) => table(&data.fields, is_closed, &format!("struct {title}"), &quote! { #ident })?,
        Data::Enum(data) => {
            let names = data
                .variants
                .iter()
                .map(|variant| serialized(&variant.ident.to_string(), &variant.attrs))
                .collect::<Result<Vec<_>>>()?;
            let has_fields = |fields: &Fields| !matches!(fields, Fields::Unit);
            let is_tagged = data.variants.iter().any(|variant| has_fields(&variant.fields));
            let conversions = data.variants.iter().map(|variant| {
                let name = &variant.ident;
                let constructor = quote! { #ident::#name };
                match &variant.fields {
                    Fields::Unit => Ok(quote! { ::core::result::Result::Ok(#constructor) }),
                    Fields::Unnamed(_) => Ok(quote! { ::longpipe_json::FromJson::from_json(json).map(#constructor) }),
                    fields => table(
                        fields,
                        is_closed,
                        &format!("struct variant {title}::{name}"),
                        &constructor,
                    ),
                }
            });
            let conversions = conversions.collect::<Result<Vec<_>>>()?;
            let read_name = if is_tagged {
                let title = format!("internally tagged enum {title}");
                quote! { let (name, json) = json.kind(#title)?; }
            } else {
                let title = format!("variant of {title}");
                quote! { let name = json.variant(#title)?; }
            };
            quote! {
                #read_name
                match name.as_ref() {
                    #(#names => { #conversions })*
                    other => ::core::result::Result::Err(::longpipe_json::unknown_variant(other, &[#(#names),*])),
                }
            }
        }
        Data::Union(_) => return Err(Error::new_spanned(input, "needs a struct or an enum")),
    };
    Ok(quote! {
        impl ::longpipe_json::FromJson for #ident {
            fn from_json(json: ::longpipe_json::Json<'_>) -> ::core::result::Result<#ident, ::longpipe_json::Error> {
                #body
            }
        }

        impl<'de> ::serde::Deserialize<'de> for #ident {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> ::core::result::Result<#ident, D::Error> {
                ::longpipe_json::deserialize(deserializer)
            }
        }
    })
}

/// Returns the conversion of the table `json` to the fields of a struct or a variant, whose path is `constructor`.
/// Unknown fields are errors if `is_closed`; errors contain `title`.
fn table(fields: &Fields, is_closed: bool, title: &str, constructor: &TokenStream) -> Result<TokenStream> {
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for field in fields {
        let attribute = of_serde(&field.attrs)?;
        let ident = field
            .ident
            .as_ref()
            .ok_or_else(|| Error::new_spanned(field, "needs a name"))?;
        if attribute.skip {
            values.push(quote! { #ident: ::core::default::Default::default() });
            continue;
        }
        let name = attribute.rename.unwrap_or_else(|| ident.to_string());
        values.push(match attribute.default {
            None => quote! { #ident: fields.take(#name)? },
            Some(None) => quote! { #ident: fields.optional(#name)?.unwrap_or_default() },
            Some(Some(default)) => quote! {
                #ident: match fields.optional(#name)? {
                    ::core::option::Option::Some(value) => value,
                    ::core::option::Option::None => #default(),
                }
            },
        });
        names.push(name);
    }
    let accepted_names = if is_closed {
        quote! { ::core::option::Option::Some(&[#(#names),*]) }
    } else {
        quote! { ::core::option::Option::None }
    };
    Ok(quote! {
        #[allow(unused_mut, unused_variables)]
        let mut fields = json.fields(#title, #accepted_names)?;
        ::core::result::Result::Ok(#constructor { #(#values),* })
    })
}

/// Attributes of serde of a type or a field.
#[derive(Default)]
struct OfSerde {
    deny_unknown_fields: bool,
    skip: bool,
    rename: Option<String>,
    /// `None` if the field is mandatory, `Some(None)` if an absent field has its type's default, and `Some(Some(path))`
    /// if the function `path` returns the value of an absent field.
    default: Option<Option<Path>>,
}

/// Returns the attributes of serde; an error for attributes that this conversion does not support.
fn of_serde(attributes: &[Attribute]) -> Result<OfSerde> {
    let mut serde = OfSerde::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("deny_unknown_fields") {
                serde.deny_unknown_fields = true;
            } else if meta.path.is_ident("skip") {
                serde.skip = true;
            } else if meta.path.is_ident("rename") {
                serde.rename = Some(meta.value()?.parse::<LitStr>()?.value());
            } else if meta.path.is_ident("default") {
                serde.default = Some(match meta.input.peek(Token![=]) {
                    true => Some(meta.value()?.parse::<LitStr>()?.parse()?),
                    false => None,
                });
            } else if meta.path.is_ident("tag") || meta.path.is_ident("rename_all") {
                let expected = if meta.path.is_ident("tag") {
                    "kind"
                } else {
                    "kebab-case"
                };
                let value = meta.value()?.parse::<LitStr>()?;
                if value.value() != expected {
                    return Err(Error::new_spanned(value, format!("needs '{expected}'")));
                }
            } else if meta.path.is_ident("skip_serializing_if") {
                meta.value()?.parse::<LitStr>()?;
            } else {
                return Err(meta.error("needs an attribute whose meaning `FromJson` knows"));
            }
            Ok(())
        })?;
    }
    Ok(serde)
}
