//! Interchangeable parts of a sender, such as loss recovery and congestion control. Each part has several variants with
//! their own parameters.

use crate::described::Described;
use crate::problem::Problem;
use serde::Serialize;

/// Facts about a variant that other parts of longpipe need. Each variant declares the facts that differ from
/// [`Facts::DEFAULT`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Facts {
    /// Whether the congestion control sets a pacing rate and the window also during recovery; this requires a recovery
    /// that detects each loss.
    pub is_model: bool,
    /// Whether the congestion control uses one-way delays, which need timestamps.
    pub measures_delay: bool,
    /// Feedback about ECN marks that the congestion control needs.
    pub needs_marks: MarkFeedback,
    /// Whether the congestion control grows until a buffer overflows, and then reduces its window.
    pub fills_buffers: bool,
    /// Whether the congestion control draws random numbers.
    pub draws: bool,
    /// Whether the loss recovery detects each loss, with records of all transmissions.
    pub detects_each_loss: bool,
    /// Maximum number of SACK blocks in an ACK; 0 if the loss recovery does not use SACK.
    #[serde(skip)]
    pub sack_blocks: u32,
    /// Whether receivers send D-SACK blocks (RFC 2883).
    #[serde(skip)]
    pub sends_dsack: bool,
}

/// Feedback about ECN marks that a congestion control needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkFeedback {
    /// None; one mark per window is enough if ECN is on.
    None,
    /// The share of marked data: DCTCP's feedback, or Accurate ECN.
    Share,
    /// The number of marked packets: Accurate ECN.
    Count,
}

impl Facts {
    /// Facts of a variant that declares none: a control that sets only a window and fills buffers, or a recovery without
    /// SACK.
    pub const DEFAULT: Facts = Facts {
        is_model: false,
        measures_delay: false,
        needs_marks: MarkFeedback::None,
        fills_buffers: true,
        draws: false,
        detects_each_loss: false,
        sack_blocks: 0,
        sends_dsack: false,
    };
}

/// Parameters of a variant, with its facts and the validation of the parameters.
pub trait Parameters: Described {
    /// Facts that do not depend on the parameters.
    const FACTS: Facts = Facts::DEFAULT;

    /// Returns the facts with these parameters.
    fn facts(&self) -> Facts {
        Self::FACTS
    }

    /// Returns the first invalid parameter, if any.
    fn problem(&self) -> Option<Problem> {
        self.invalid()
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

/// Declares the variants of a part, one per line, each with its name and state type. In a scenario the name is in kebab
/// case. The parameters of a variant describe it.
///
/// Defines the enums of states, of configurations and of names, the constructor of a state from a configuration, and a
/// macro that evaluates an expression for the state of any variant: `each!(self, one => one.method())`. A line that
/// begins with `@` declares a state without a configuration, which wraps a state of another variant.
macro_rules! variants {
    (
        $(#[$about:meta])*
        $part:ident, $config:ident, $kind:ident, $each:ident($dollar:tt);
        $($name:ident($state:ty);)+
        $(@$wrapper:ident($wrapping:ty): $about_wrapper:literal;)*
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum $part {
            $($name($state),)+
            $(#[doc = $about_wrapper] $wrapper($wrapping),)*
        }

        /// A variant and its parameters.
        #[derive(Clone, Debug, PartialEq, ::longpipe_json::FromJson, ::serde::Serialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        #[allow(missing_docs)]
        pub enum $config {
            $($name(<$state as $crate::variant::Variant>::Config),)+
        }

        /// Names of the variants.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, ::strum::EnumIter, ::strum::VariantNames)]
        #[strum(serialize_all = "kebab-case")]
        #[allow(missing_docs)]
        pub enum $kind {
            $($name,)+
        }

        impl $crate::described::Described for $config {
            fn described() -> $crate::described::Type {
                let parts = vec![
                    $($crate::described::part::<<$state as $crate::variant::Variant>::Config>(),)+
                ];
                let names = <$kind as ::strum::VariantNames>::VARIANTS.iter().copied();
                $crate::described::Type::Kinds { kinds: names.zip(parts).collect() }
            }

            fn invalid(&self) -> Option<$crate::problem::Problem> {
                match self {
                    $($config::$name(config) => $crate::variant::Parameters::problem(config),)+
                }
            }
        }

        impl $part {
            /// Returns the initial state for a configuration.
            pub fn new(config: &$config) -> $part {
                match config {
                    $($config::$name(config) => $part::$name($crate::variant::Variant::new(config)),)+
                }
            }

            /// Returns the name of the variant; None for a wrapper.
            #[inline]
            pub fn kind(&self) -> Option<$kind> {
                match self {
                    $($part::$name(_) => Some($kind::$name),)+
                    $($part::$wrapper(_) => None,)*
                }
            }
        }

        impl $kind {
            /// Returns the facts that the variant declares.
            pub const fn facts(self) -> $crate::variant::Facts {
                match self {
                    $($kind::$name => <<$state as $crate::variant::Variant>::Config as $crate::variant::Parameters>::FACTS,)+
                }
            }
        }

        impl $config {
            /// Returns the facts of the variant with these parameters.
            pub fn facts(&self) -> $crate::variant::Facts {
                match self {
                    $($config::$name(config) => $crate::variant::Parameters::facts(config),)+
                }
            }

            /// Returns the name of the variant.
            pub fn kind(&self) -> $kind {
                match self {
                    $($config::$name(_) => $kind::$name,)+
                }
            }
        }

        macro_rules! $each {
            ($dollar part:expr, $dollar variant:ident => $dollar does:expr) => {
                match $dollar part {
                    $($part::$name($dollar variant) => $dollar does,)+
                    $($part::$wrapper($dollar variant) => $dollar does,)*
                }
            };
        }
    };
}

pub(crate) use variants;
