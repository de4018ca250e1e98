//! `derive(Read)` for `longpipe_reading::Read`. It uses serde's attributes, so that one line specifies the spelling for
//! both. Attributes that no scenario uses are compile errors.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{
    parse_macro_input, Attribute, Data, DataEnum, DeriveInput, Error, Fields, FieldsNamed, LitStr, Token, Variant,
};

/// Attributes of serde on a type, a variant or a field.
#[derive(Default)]
struct Said {
    tag: Option<LitStr>,
    rename: Option<LitStr>,
    kebab: bool,
    default: bool,
    skip: bool,
}

/// Derives `Read` for a structure with named fields, an enum of names, or an enum of tables with a tag.
#[proc_macro_derive(Read, attributes(serde))]
pub fn derive_read(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    read(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn read(input: &DeriveInput) -> Result<TokenStream, Error> {
    let (name, said) = (&input.ident, said(&input.attrs)?);
    let body = match &input.data {
        Data::Struct(of) => match &of.fields {
            Fields::Named(fields) => table(&quote!(#name), fields)?,
            fields => return Err(Error::new_spanned(fields, "needs named fields")),
        },
        Data::Enum(of) => kinds(name, of, &said)?,
        Data::Union(_) => return Err(Error::new_spanned(name, "needs a structure or an enum")),
    };
    Ok(quote! {
        impl ::longpipe_reading::Read for #name {
            #[cold]
            fn read(value: ::longpipe_reading::Value) -> ::std::result::Result<#name, ::longpipe_reading::Refused> {
                #body
            }
        }
    })
}

/// Returns code that reads the fields of a table from `value`.
fn table(whole: &TokenStream, fields: &FieldsNamed) -> Result<TokenStream, Error> {
    let mut names = Vec::new();
    let mut parts = Vec::new();
    for field in &fields.named {
        let said = said(&field.attrs)?;
        let ident = &field.ident;
        if said.skip {
            parts.push(quote!(#ident: ::std::default::Default::default()));
            continue;
        }
        let i = names.len();
        names.push(
            said.rename
                .map_or_else(|| quote!(stringify!(#ident)), |name| quote!(#name)),
        );
        let get = if said.default {
            quote!(or_default)
        } else {
            quote!(field)
        };
        parts.push(quote!(#ident: table.#get(#i)?));
    }
    let keep = (!names.is_empty()).then(|| quote!(let mut table =));
    Ok(quote! {{
        #keep ::longpipe_reading::Table::of(value, &[#(#names),*])?;
        Ok(#whole { #(#parts),* })
    }})
}

fn kinds(name: &Ident, of: &DataEnum, said_of: &Said) -> Result<TokenStream, Error> {
    let mut names = Vec::new();
    let mut arms = Vec::new();
    for (i, variant) in of.variants.iter().enumerate() {
        names.push(spelt(variant, said_of)?);
        let ident = &variant.ident;
        let made = match &variant.fields {
            Fields::Unit => quote!(Ok(#name::#ident)),
            _ if said_of.tag.is_none() => return Err(Error::new_spanned(variant, "needs a tag")),
            Fields::Named(fields) => table(&quote!(#name::#ident), fields)?,
            Fields::Unnamed(_) => quote!(Ok(#name::#ident(::longpipe_reading::Read::read(value)?))),
        };
        // The last variant is the fallback arm, because `match` must be exhaustive.
        let last = i + 1 == of.variants.len();
        arms.push(if last { quote!(_ => #made) } else { quote!(#i => #made) });
    }
    Ok(match &said_of.tag {
        Some(tag) => quote! {
            let (kind, value) = ::longpipe_reading::kind(value, #tag, &[#(#names),*])?;
            match kind { #(#arms,)* }
        },
        None => quote! {
            match ::longpipe_reading::one_of(value, &[#(#names),*])? { #(#arms,)* }
        },
    })
}

fn spelt(variant: &Variant, of: &Said) -> Result<String, Error> {
    if let Some(name) = said(&variant.attrs)?.rename {
        return Ok(name.value());
    }
    if !of.kebab {
        return Err(Error::new_spanned(
            variant,
            "needs a name, or rename_all = \"kebab-case\" of all",
        ));
    }
    let mut name = String::new();
    for letter in variant.ident.to_string().chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    Ok(name)
}

fn said(attributes: &[Attribute]) -> Result<Said, Error> {
    let mut said = Said::default();
    for attribute in attributes.iter().filter(|one| one.path().is_ident("serde")) {
        for meta in attribute.parse_args_with(Punctuated::<syn::Meta, Token![,]>::parse_terminated)? {
            let path = meta.path().get_ident().map(Ident::to_string).unwrap_or_default();
            match path.as_str() {
                "tag" => said.tag = Some(text(&meta)?),
                "rename" => said.rename = Some(text(&meta)?),
                "rename_all" if text(&meta)?.value() == "kebab-case" => said.kebab = true,
                "default" => {
                    meta.require_path_only()?;
                    said.default = true;
                }
                "skip" => {
                    meta.require_path_only()?;
                    said.skip = true;
                }
                // Unknown fields are always refused, and serialization does not matter here.
                "deny_unknown_fields" | "skip_serializing_if" => {}
                _ => return Err(Error::new_spanned(meta, "derive(Read) does not know this")),
            }
        }
    }
    Ok(said)
}

fn text(meta: &syn::Meta) -> Result<LitStr, Error> {
    let value = &meta.require_name_value()?.value;
    syn::parse2(quote!(#value))
}
