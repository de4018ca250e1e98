//! All policies of ports: their kinds, with parameters, and what they declare. `mod.rs` lists them.

use super::{each, AnyDisc, Discipline, NewPort, PolicyConfig, Queued};
use crate::policies::aqm::Aqm;
use crate::policies::parameters::{Decides, Divides, Parameters};
use crate::policies::tail_drop::TailDropConfig;
use crate::policies::Policy;
use longpipe_tcp::Problem;

/// Declares the policies, one per line, each with its name and the type of its parameters: first those that decide at
/// enqueue, in front of a FIFO, and then those that are queue disciplines. Defines the enum of configurations, the table
/// of facts, and a macro that evaluates an expression for the parameters of any policy.
macro_rules! policies {
    (
        $dollar:tt;
        at_enqueue { $($(#[$about_fifo:meta])* $fifo:ident($fifo_config:ty);)+ }
        disciplines { $($(#[$about:meta])* $name:ident($config:ty);)+ }
    ) => {
        $(impl Discipline for $fifo_config {})+

        policies! {
            $dollar;
            $($(#[$about_fifo])* $fifo($fifo_config);)+
            $($(#[$about])* $name($config);)+
        }
    };
    ($dollar:tt; $($(#[$about:meta])* $name:ident($config:ty);)+) => {
        /// Policy of a port.
        #[derive(Clone, Debug, FromJson, Serialize, PartialEq, VariantNames)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        #[strum(serialize_all = "kebab-case")]
        pub enum PolicyConfig {
            $($(#[$about])* $name($config),)+
        }

        impl Described for PolicyConfig {
            fn described() -> Type {
                let parts = [$(part::<$config>,)+].into_iter().map(|part| part());
                Type::Kinds { kinds: PolicyConfig::VARIANTS.iter().copied().zip(parts).collect() }
            }
        }

        impl PolicyConfig {
            /// Returns each kind with the facts about it.
            pub fn kinds() -> impl Iterator<Item = (&'static str, Facts)> {
                let facts = [$(<$config as Parameters>::FACTS,)+];
                PolicyConfig::VARIANTS.iter().copied().zip(facts)
            }

            /// Returns the facts about the kind.
            pub fn facts(&self) -> Facts {
                match self {
                    $(PolicyConfig::$name(_) => <$config as Parameters>::FACTS,)+
                }
            }
        }

        macro_rules! each {
            ($dollar policy:expr, $dollar parameters:ident => $dollar value:expr) => {
                match $dollar policy {
                    $(PolicyConfig::$name($dollar parameters) => $dollar value,)+
                }
            };
        }

        use each;
    };
}

pub(super) use policies;

impl PolicyConfig {
    /// Tail drop.
    pub const TAIL_DROP: PolicyConfig = PolicyConfig::TailDrop(TailDropConfig {});

    /// Creates the empty discipline of a port.
    pub fn disc<T: Queued>(&self, port: &NewPort<'_>) -> AnyDisc<T> {
        each!(self, policy => policy.disc(port))
    }

    /// Returns the buffer policy for a buffer of `capacity` cells.
    pub fn buffer_policy(&self, capacity: u64) -> Policy {
        each!(self, policy => policy.buffer_policy(capacity as f64))
    }

    /// Returns active queue management at enqueue, if the policy is one.
    pub fn aqm(&self, rate_bps: u64, seed: u64, link: u64) -> Option<Box<Aqm>> {
        each!(self, policy => Aqm::new(policy, rate_bps, seed, link))
    }

    /// Returns the first problem with the parameters, if any.
    pub fn problem(&self) -> Option<Problem> {
        each!(self, policy => policy.problem())
    }

    /// Returns whether the policy exists for cells.
    pub fn takes_cells(&self) -> bool {
        each!(self, policy => policy.takes_cells())
    }

    /// Returns whether the policy exists for IP packets.
    pub fn takes_packets(&self) -> bool {
        each!(self, policy => policy.takes_packets())
    }

    /// Returns whether the policy never marks, and decides by the occupancy alone.
    pub fn depends_on_occupancy_only(&self) -> bool {
        self.facts().decides == Decides::ByOccupancy
    }

    /// Returns whether the policy is a queue discipline, which decides at dequeue.
    pub fn serves(&self) -> bool {
        self.facts().decides == Decides::AtDequeue
    }

    /// Returns the property of flows by which the policy divides packets.
    pub fn divides(&self) -> Divides {
        self.facts().divides
    }

    /// Returns whether the policy admits every packet unmarked at a port where no packet ever waits.
    pub fn is_inert_without_queue(&self) -> bool {
        each!(self, policy => policy.is_inert_without_queue())
    }

    /// Returns whether the policy may withhold packets from an idle transmitter.
    pub fn shapes(&self) -> bool {
        each!(self, policy => policy.shapes())
    }

    /// Returns the names of the queues that the results count separately; see [`Parameters::queue_names`].
    pub fn queue_names(&self) -> Vec<String> {
        each!(self, policy => policy.queue_names())
    }

    /// Returns the number of classes, or None for a policy without classes.
    pub fn classes(&self) -> Option<u32> {
        each!(self, policy => policy.classes())
    }

    /// Returns the interval [ps] between updates of the policy's state, if there are any.
    pub fn update_ps(&self) -> Option<u64> {
        each!(self, policy => policy.update_ps())
    }
}
