//! Files of the loadable objects that this process knows.

use crate::file::load_file;
use crate::operations::Object;
use crate::settings::LoadError;
use crate::slots::fill;
use longpipe_network::Scenario;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Files by digest, each with the name that messages to the user contain.
///
/// Simulations can share the table because a digest determines the contents of its file.
static FILES: Mutex<BTreeMap<String, (PathBuf, String)>> = Mutex::new(BTreeMap::new());

/// Registers the file with a given digest; error messages refer to it as `name`.
pub fn register(digest: String, file: PathBuf, name: String) {
    FILES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(digest, (file, name));
}

/// Returns the path and user-visible name of the file with a given digest.
fn known(digest: &str) -> Option<(PathBuf, String)> {
    FILES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(digest)
        .cloned()
}

/// Fills the empty slots of a scenario with its own objects, loaded from files (see [`fill`]). Returns the objects.
///
/// # Errors
/// Returns an error if an object cannot be loaded.
pub fn load(scenario: &mut Scenario) -> Result<Vec<Arc<dyn Object>>, LoadError> {
    fill(scenario, |module| match known(&module.digest) {
        Some((file, name)) => load_file(&file, &name, &module.parameters, module.hz),
        None => Err(LoadError::file(
            &module.digest,
            "no file of this machine has this digest",
        )),
    })
}
