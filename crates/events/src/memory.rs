//! Memory limit of a run. Memory is counted only when a container doubles its capacity, so that other operations cost
//! nothing.
//!
//! A run whose queues and records would exceed the limit ends by unwinding with a `MemoryLimit`, as does a run in which
//! an allocation fails. Outside of `limited` there is no limit.

use std::cell::Cell;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt;
use std::panic::resume_unwind;

/// Payload of the unwinding: the run needed more memory than the limit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Total memory that the run would have allocated [byte].
    pub needed: u64,
    /// The limit [byte], or the memory available when the allocation failed.
    pub limit: u64,
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes are needed; at most {} may be allocated",
            self.needed, self.limit
        )
    }
}

impl std::error::Error for MemoryLimit {}

thread_local! {
    /// Memory counted on this thread for the current run [byte].
    static HELD: Cell<u64> = const { Cell::new(0) };
    static LIMIT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Executes a run on this thread with a limit of `limit` bytes. The memory of nested runs is counted separately.
pub fn limited<T>(limit: u64, run: impl FnOnce() -> T) -> T {
    struct Before(u64, u64);
    impl Drop for Before {
        fn drop(&mut self) {
            HELD.set(self.0);
            LIMIT.set(self.1);
        }
    }
    let _before = Before(HELD.replace(0), LIMIT.replace(limit));
    run()
}

/// Adds `bytes` to the count before an allocation; unwinds if the count would exceed the limit.
#[cold]
pub fn take(bytes: u64) {
    let needed = HELD.get().saturating_add(bytes);
    if needed > LIMIT.get() {
        end(needed, LIMIT.get());
    }
    HELD.set(needed);
}

/// Returns how many more bytes may be counted on this thread; the maximum if there is no limit.
pub fn left() -> u64 {
    match LIMIT.get() {
        u64::MAX => u64::MAX,
        limit => limit.saturating_sub(HELD.get()),
    }
}

/// Subtracts `bytes` from the count.
#[cold]
pub fn give_back(bytes: u64) {
    HELD.set(HELD.get().saturating_sub(bytes));
}

fn end(needed: u64, limit: u64) -> ! {
    resume_unwind(Box::new(MemoryLimit { needed, limit }))
}

/// Returns an empty list with capacity for `items` items, and counts it.
#[cold]
pub fn space<T>(items: usize) -> Vec<T> {
    take(bytes::<T>(items));
    let mut space = Vec::new();
    if space.try_reserve_exact(items).is_err() {
        end(HELD.get(), HELD.get() - bytes::<T>(items));
    }
    space
}

/// Returns the size of `items` items [byte].
pub fn bytes<T>(items: usize) -> u64 {
    (items as u64).saturating_mul(size_of::<T>() as u64)
}

/// A container whose growth is counted.
pub trait Growing<T> {
    /// Ensures capacity for one more item.
    fn make_room(&mut self);

    /// Appends an item.
    fn put(&mut self, item: T);
}

macro_rules! growing {
    ($container:ty, $push:ident $(, $bound:ident)?) => {
        impl<T $(: $bound)?> Growing<T> for $container {
            #[inline(always)]
            fn make_room(&mut self) {
                if self.len() == self.capacity() {
                    let more = doubled::<T>(self.capacity());
                    let reserved = self.try_reserve_exact(more).is_ok();
                    settle::<T>(self.capacity(), more, reserved);
                }
            }

            #[inline(always)]
            fn put(&mut self, item: T) {
                self.make_room();
                self.$push(item);
            }
        }
    };
}

growing!(Vec<T>, push);
growing!(VecDeque<T>, push_back);
growing!(BinaryHeap<T>, push, Ord);

/// Counts the doubled capacity in addition to the current capacity, which is released only after the copy. Returns the
/// number of additional items.
#[cold]
fn doubled<T>(room: usize) -> usize {
    let more = room.max(4);
    take(bytes::<T>(room + more));
    more
}

#[cold]
fn settle<T>(room: usize, more: usize, reserved: bool) {
    if !reserved {
        let requested = bytes::<T>(room + more);
        end(HELD.get(), HELD.get() - requested);
    }
    give_back(bytes::<T>(room - more));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{catch_unwind, AssertUnwindSafe};

    fn ended<T>(run: impl FnOnce() -> T) -> Option<MemoryLimit> {
        let payload = catch_unwind(AssertUnwindSafe(run)).err()?;
        Some(*payload.downcast::<MemoryLimit>().expect("no panic"))
    }

    #[test]
    fn the_copy_of_a_growing_list_counts_towards_the_limit() {
        let fill = |items: u64| {
            move || {
                let (mut list, mut queue) = (Vec::new(), VecDeque::new());
                (0..items).for_each(|item| list.put(item));
                (0..items).for_each(|item| queue.put(item));
                HELD.get()
            }
        };
        assert_eq!(limited(1 << 20, fill(1000)), 2 * 1024 * 8);
        // The limit allows 16 KiB, but not the copy to 32 KiB, because the first list is released only after the copy.
        let limit = ended(|| limited(40 << 10, fill(4000))).expect("it needs 48 KiB");
        assert_eq!((limit.needed, limit.limit), (48 << 10, 40 << 10));
    }

    #[test]
    fn nested_runs_are_counted_separately() {
        let outer = limited(100, || {
            take(60);
            assert!(ended(|| limited(50, || take(51))).is_some());
            limited(1000, || take(500));
            take(40);
            HELD.get()
        });
        assert_eq!(outer, 100);
        assert_eq!((HELD.get(), LIMIT.get()), (0, u64::MAX));
    }

    #[test]
    fn a_failed_allocation_also_ends_the_run() {
        let limit = ended(|| space::<u64>(1 << 59)).expect("no machine has that");
        assert_eq!(
            limit,
            MemoryLimit {
                needed: 1 << 62,
                limit: 0
            }
        );
    }
}
