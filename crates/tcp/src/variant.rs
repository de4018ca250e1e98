//! Interchangeable parts of a sender, such as loss recovery and congestion control. Each part has several variants with
//! their own parameters.

use crate::problem::Problem;

/// Parameters of a variant, with their validation.
pub trait Parameters {
    /// Returns the first invalid parameter, if any.
    fn problem(&self) -> Option<Problem> {
        None
    }
}

/// A selectable implementation of one part of the sender, for example of loss recovery.
pub trait Variant {
    /// Parameters of the variant in a scenario.
    type Config: Parameters;

    /// Returns the initial state.
    fn new(config: &Self::Config) -> Self;
}

/// A boxed variant, so that its large state, which few senders need, does not enlarge the state of other senders.
impl<V: Variant> Variant for Box<V> {
    type Config = V::Config;

    fn new(config: &V::Config) -> Box<V> {
        Box::new(V::new(config))
    }
}

/// Declares the variants of a part, one per line, each with its name, state type and description. In a scenario the
/// name is in lower case.
///
/// Defines the enums of states, of configurations and of names, the constructor of a state from a configuration, and a
/// macro that evaluates an expression for the state of any variant: `each!(self, one => one.method())`. A line that
/// begins with `@` declares a state without a configuration, which wraps a state of another variant.
macro_rules! variants {
    (
        $(#[$about:meta])*
        $part:ident, $config:ident, $kind:ident, $each:ident($dollar:tt);
        $($name:ident($state:ty): $words:literal;)+
        $(@$wrapper:ident($wrapping:ty): $about_wrapper:literal;)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub enum $part {
            $(#[doc = $words] $name($state),)+
            $(#[doc = $about_wrapper] $wrapper($wrapping),)*
        }

        /// A variant and its parameters.
        #[derive(Clone, Debug, PartialEq, ::serde::Deserialize, ::serde::Serialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum $config {
            $(#[doc = $words] $name(<$state as $crate::variant::Variant>::Config),)+
        }

        /// Names of the variants.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::strum::EnumIter, ::strum::VariantNames)]
        #[strum(serialize_all = "kebab-case")]
        pub enum $kind {
            $(#[doc = $words] $name,)+
        }

        impl $part {
            /// Returns the initial state for a configuration.
            pub fn new(config: &$config) -> $part {
                match config {
                    $($config::$name(config) => $part::$name($crate::variant::Variant::new(config)),)+
                }
            }
        }

        impl $config {
            /// Returns the name of the variant.
            pub fn kind(&self) -> $kind {
                match self {
                    $($config::$name(_) => $kind::$name,)+
                }
            }

            /// Returns the first invalid parameter, if any.
            pub fn problem(&self) -> Option<$crate::problem::Problem> {
                match self {
                    $($config::$name(config) => $crate::variant::Parameters::problem(config),)+
                }
            }
        }

        macro_rules! $each {
            ($dollar part:expr, $dollar one:ident => $dollar does:expr) => {
                match $dollar part {
                    $($part::$name($dollar one) => $dollar does,)+
                    $($part::$wrapper($dollar one) => $dollar does,)*
                }
            };
        }
    };
}

pub(crate) use variants;
