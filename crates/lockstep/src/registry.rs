//! The stacks of this process: those of the package `longpipe_stacks`, and the user's own, by digest.

use crate::object::Object;
use crate::program::Program;
use longpipe_end::{End, Setup};
use longpipe_network::scenario::StackConfig;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the ends of a stack come from.
#[derive(Clone, Debug)]
enum Source {
    /// A shared object (`longpipe_end.h`).
    Object(Arc<Object>),
    /// A program and its arguments.
    Program(Arc<[String]>),
}

static PACKAGE: Mutex<Option<Arc<Object>>> = Mutex::new(None);
static OWN: Mutex<BTreeMap<String, Source>> = Mutex::new(BTreeMap::new());

/// Loads the object with the stacks of `longpipe_stacks`, once per process. Returns its stacks, as in "quinn 0.11.19, noq 1.4.0".
///
/// # Errors
/// Returns one line if the file is not an object with stacks.
pub fn register(file: &Path) -> Result<String, String> {
    let mut loaded = PACKAGE.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.is_none() {
        *loaded = Some(Arc::new(Object::load(file)?));
    }
    Ok(loaded.as_ref().map_or_else(String::new, |object| object.stacks()))
}

/// Loads a user's object, which scenarios name by `digest`, once per process. Returns its stacks.
///
/// # Errors
/// Returns one line if the file is not an object with stacks.
pub fn register_object(digest: &str, file: &Path) -> Result<String, String> {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Source::Object(object)) = own.get(digest) {
        return Ok(object.stacks());
    }
    let object = Arc::new(Object::load(file)?);
    let stacks = object.stacks();
    own.insert(digest.to_owned(), Source::Object(object));
    Ok(stacks)
}

/// Registers a user's program, a file and its arguments, which scenarios name by `digest`.
pub fn register_program(digest: &str, words: Vec<String>) {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.insert(digest.to_owned(), Source::Program(words.into()));
}

/// Creates an end of a stack, whose version is its digest if it is the user's own.
///
/// # Errors
/// Returns one line if the stack is not registered, or does not accept a setting.
pub fn create(config: &StackConfig, setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
    let own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    let source = own.get(&config.version).cloned();
    drop(own);
    match source {
        Some(Source::Object(object)) => object.create(&config.stack, setup),
        Some(Source::Program(words)) => Ok(Box::new(Program::start(&words, setup)?)),
        None => {
            let package = PACKAGE.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let object = package.ok_or_else(|| format!("stack: {} is not registered", config.stack))?;
            object.create(&config.stack, setup)
        }
    }
}
