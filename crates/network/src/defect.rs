//! Runs that end early because of a panic (a defect of longpipe) or a lack of memory. Both are turned into one-line
//! errors without output on stderr.

use longpipe_events::memory::{limited, MemoryLimit};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

/// Reason of an early end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// A panic, with its source location and message.
    #[error("{0}")]
    Defect(String),
    /// The memory limit was reached.
    #[error("{0}")]
    Memory(MemoryLimit),
}

thread_local! {
    /// Whether panics of this thread are caught by `guarded`.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    /// Description of the latest caught panic.
    static LATEST: RefCell<String> = const { RefCell::new(String::new()) };
}

static HOOK: Once = Once::new();

/// Runs `work` with a memory limit [byte] and catches its panics. After an error, the data that `work` used must be
/// discarded.
///
/// # Errors
/// Returns an error if `work` panics or the memory limit is reached.
pub fn guarded<T>(limit: u64, work: impl FnOnce() -> T) -> Result<T, Ended> {
    HOOK.call_once(keep_quiet);
    let before = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(|| limited(limit, work)));
    GUARDED.set(before);
    result.map_err(|payload| match payload.downcast::<MemoryLimit>() {
        Ok(limit) => Ended::Memory(*limit),
        Err(_) => Ended::Defect(LATEST.take()),
    })
}

/// Installs a panic hook that records the panics of guarded work, and forwards all other panics to the previous hook.
fn keep_quiet() {
    let others = take_hook();
    set_hook(Box::new(move |panic| {
        if GUARDED.get() {
            LATEST.set(described(panic));
        } else {
            others(panic);
        }
    }));
}

/// Describes a panic in one line.
fn described(panic: &PanicHookInfo<'_>) -> String {
    let message = one_line(panic.payload());
    match panic.location() {
        Some(at) => format!("panic at {}:{}: {message}", at.file(), at.line()),
        None => format!("panic: {message}"),
    }
}

fn one_line(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let words: Vec<&str> = text.unwrap_or("no message").split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use longpipe_events::memory::take;

    fn line<T>(work: impl FnOnce() -> T) -> String {
        match guarded(1000, work) {
            Ok(_) => String::new(),
            Err(ended) => ended.to_string(),
        }
    }

    #[test]
    fn a_panic_becomes_one_line_with_location_and_message() {
        let values: [u64; 0] = [];
        let found = line(|| values[values.len()]);
        assert!(found.starts_with("panic at crates/network/src/defect.rs:"), "{found}");
        assert!(
            found.ends_with("index out of bounds: the len is 0 but the index is 0"),
            "{found}"
        );
        let found = line(|| assert_eq!(1, 2, "one\nand two"));
        assert!(found.ends_with("one and two left: 1 right: 2"), "{found}");
        assert_eq!(guarded(0, || 7), Ok(7));
    }

    #[test]
    fn a_panic_caught_within_guarded_work_is_not_reported() {
        let found = line(|| {
            assert!(guarded(0, || panic!("inner")).is_err());
            panic!("outer")
        });
        assert!(found.ends_with("outer"), "{found}");
    }

    #[test]
    fn a_run_beyond_its_memory_limit_reports_the_bytes_needed() {
        assert_eq!(
            line(|| take(1001)),
            "1001 bytes are needed; at most 1000 may be allocated"
        );
    }
}
