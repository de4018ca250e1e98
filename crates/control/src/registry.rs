//! Files of loadable objects known to this process, and the objects of a simulation.

use crate::file::load_file;
use crate::operations::Object;
use crate::settings::LoadError;
use longpipe_network::Scenario;
use longpipe_tcp::config::CongestionConfig;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Files by digest, each with the name that its user knows.
///
/// A digest determines the contents of its file, so that simulations can share the table.
static FILES: Mutex<BTreeMap<String, (PathBuf, String)>> = Mutex::new(BTreeMap::new());

/// Registers the file for a digest; messages call it `name`.
pub fn register(digest: String, file: PathBuf, name: String) {
    FILES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(digest, (file, name));
}

/// Returns path and user-visible name of the file for a digest.
fn known(digest: &str) -> Option<(PathBuf, String)> {
    FILES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get(digest)
        .cloned()
}

/// Fills the empty slots of a scenario with its own objects, one per file, parameters and clock frequency. Returns the objects.
///
/// # Errors
/// Returns an error if an object cannot be loaded.
pub fn load(scenario: &mut Scenario) -> Result<Vec<Arc<dyn Object>>, LoadError> {
    let mut objects = HashMap::new();
    let mut loaded = vec![];
    for flow in &mut scenario.flows {
        let CongestionConfig::Module(module) = &mut flow.tcp.congestion else {
            continue;
        };
        if module.plugin.0.is_some() {
            continue;
        }
        let key = (module.digest.clone(), module.parameters.clone(), module.hz);
        let object: Arc<dyn Object> = match objects.get(&key) {
            Some(object) => Arc::clone(object),
            None => {
                let Some((file, name)) = known(&module.digest) else {
                    return Err(LoadError::file(
                        &module.digest,
                        "no file of this machine has this digest",
                    ));
                };
                let object = load_file(&file, &name, &module.parameters, module.hz)?;
                loaded.push(Arc::clone(&object));
                objects.insert(key, Arc::clone(&object));
                object
            }
        };
        module.plugin.0 = Some(object);
    }
    Ok(loaded)
}
