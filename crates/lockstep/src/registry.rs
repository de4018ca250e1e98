//! The shared object that provides the stacks of this process.

use crate::object::Object;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

static LOADED: Mutex<Option<Arc<Object>>> = Mutex::new(None);

/// Loads the object with the stacks, once per process. Returns its stacks, as in "quinn 0.11.19, noq 1.4.0".
///
/// # Errors
/// One line if the file is not an object with stacks.
pub fn register(file: &Path) -> Result<String, String> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.is_none() {
        *loaded = Some(Arc::new(Object::load(file)?));
    }
    Ok(loaded.as_ref().map_or_else(String::new, |object| object.stacks()))
}

/// Returns the registered object.
pub fn registered() -> Option<Arc<Object>> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
