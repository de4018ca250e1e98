//! Enums: names, and parts by kind.

use crate::attributes::{of_field, of_part, serialized};
use crate::name::Name;
use crate::shape::Shape;
use crate::{part, rule};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Ident, Result};

/// Derives the description of an enum without fields, whose variants are names.
pub fn derived_names(input: &DeriveInput, variants: &DataEnum) -> Result<TokenStream> {
    let ident = &input.ident;
    let variants = &variants.variants;
    let names = variants
        .iter()
        .map(|variant| serialized(&variant.ident.to_string(), &variant.attrs))
        .collect::<Result<Vec<_>>>()?;
    let idents = variants.iter().map(|variant| &variant.ident);
    Ok(quote! {
        impl ::longpipe_tcp::described::Described for #ident {
            fn described() -> ::longpipe_tcp::described::Type {
                ::longpipe_tcp::described::Type::Names { names: vec![#(#names),*] }
            }
        }

        impl ::longpipe_tcp::described::Operand for #ident {
            fn text(&self) -> ::core::option::Option<::std::string::String> {
                ::core::option::Option::Some(match self { #(#ident::#idents => #names,)* }.to_owned())
            }
        }
    })
}

/// Derives the description of an enum of parts by kind.
pub fn derived_parts(input: &DeriveInput, variants: &DataEnum) -> Result<TokenStream> {
    let ident = &input.ident;
    // Rules of the enum apply to each of its kinds.
    let of_enum = of_part(&input.attrs)?;
    let (common, inputs) = (of_enum.rules, of_enum.inputs);
    let (mut kinds, mut arms, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for variant in &variants.variants {
        let (name, variant_ident) = (variant.ident.to_string(), &variant.ident);
        let kind = serialized(&name, &variant.attrs)?;
        let part = part::described(&name, &variant.attrs, &variant.fields, &common)?;
        let of_variant = of_part(&variant.attrs)?;
        if !of_variant.skip {
            kinds.push(quote! { (#kind, #part) });
        }
        let fields = variant.fields.iter().collect::<Vec<_>>();
        let value = |field: &Ident| quote! { #field };
        let checks = part::checks(&fields, &value)?;
        let rules = rule::checks(common.iter().chain(&of_variant.rules), &fields, &value)?;
        let names = fields.iter().map(|field| &field.ident).collect::<Vec<_>>();
        for field in &fields {
            let (name, is_number) = (Name::of(field, &of_field(&field.attrs)?)?, Shape::is_number(&field.ty));
            let field = &field.ident;
            if is_number && !name.unit.is_empty() {
                let written = name.written;
                numbers.push(quote! {
                    (#ident::#variant_ident { #field, .. }, #written) => ::longpipe_tcp::described::Operand::number(#field),
                });
            }
        }
        arms.push(quote! {
            #[allow(unused_variables)]
            #ident::#variant_ident { #(#names),* } => {
                ::core::option::Option::None #(.or_else(|| #checks))* .or_else(|| #rules)
            }
        });
    }
    let (inputs, before): (Vec<_>, Vec<_>) = inputs.into_iter().unzip();
    Ok(quote! {
        impl ::longpipe_tcp::described::Described for #ident {
            fn described() -> ::longpipe_tcp::described::Type {
                let kinds = vec![#(#kinds),*];
                #(let kinds = ::longpipe_tcp::described::with_kinds::<#inputs>(kinds, #before);)*
                ::longpipe_tcp::described::Type::Kinds { kinds }
            }

            fn invalid(&self) -> ::core::option::Option<::longpipe_tcp::Problem> {
                match self { #(#arms)* }
            }

            fn number(&self, field: &str) -> ::core::option::Option<f64> {
                match (self, field) {
                    #(#numbers)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    })
}
