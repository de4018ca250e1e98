//! The macro that defines the enum of all disciplines.

/// Defines the enum of all disciplines, which forwards calls to the discipline in use. Each line contains the variant
/// and the type of its state.
macro_rules! disciplines {
    ($($(#[$about:meta])* $name:ident($state:ty);)+) => {
        /// Any queue discipline.
        #[derive(Clone, Debug)]
        pub enum AnyDisc<T> {
            $($(#[$about])* $name($state),)+
        }

        impl<T: Queued> QueueDisc<T> for AnyDisc<T> {
            #[inline]
            fn enqueue(&mut self, port: &PortState, packet: T, drop: impl FnMut(T, DropCause)) -> bool {
                match self {
                    $(AnyDisc::$name(disc) => disc.enqueue(port, packet, drop),)+
                }
            }

            #[inline(always)]
            fn dequeue(&mut self, now: Time, drop: impl FnMut(T, DropCause)) -> Option<T> {
                match self {
                    $(AnyDisc::$name(disc) => disc.dequeue(now, drop),)+
                }
            }

            fn release(&self, now: Time) -> Time {
                match self {
                    $(AnyDisc::$name(disc) => disc.release(now),)+
                }
            }

            #[inline]
            fn backlog(&self) -> (u64, u64) {
                match self {
                    $(AnyDisc::$name(disc) => disc.backlog(),)+
                }
            }

            #[inline]
            fn purge(&mut self, now: Time, drop: impl FnMut(T)) {
                match self {
                    $(AnyDisc::$name(disc) => disc.purge(now, drop),)+
                }
            }

            #[inline]
            fn marks_on_arrival(&self) -> bool {
                match self {
                    $(AnyDisc::$name(disc) => disc.marks_on_arrival(),)+
                }
            }

            #[inline]
            fn pass_through(&mut self, packet: &T) -> bool {
                match self {
                    $(AnyDisc::$name(disc) => disc.pass_through(packet),)+
                }
            }

            #[inline]
            fn find_empty(&mut self, now: Time) {
                match self {
                    $(AnyDisc::$name(disc) => disc.find_empty(now),)+
                }
            }

            #[inline]
            fn drops_none_before(&self, now: Time) -> Time {
                match self {
                    $(AnyDisc::$name(disc) => disc.drops_none_before(now),)+
                }
            }

            fn subqueues(&self) -> Vec<&SubqueueCounters> {
                match self {
                    $(AnyDisc::$name(disc) => disc.subqueues(),)+
                }
            }

            fn charged_bytes(&self) -> u64 {
                match self {
                    $(AnyDisc::$name(disc) => disc.charged_bytes(),)+
                }
            }

            #[inline]
            fn pass_through_effect(&self) -> PassThroughEffect {
                match self {
                    $(AnyDisc::$name(disc) => disc.pass_through_effect(),)+
                }
            }
        }
    };
}

pub(super) use disciplines;
