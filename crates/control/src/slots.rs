//! The objects of a simulation.

use crate::operations::Object;
use crate::settings::LoadError;
use longpipe_network::Scenario;
use longpipe_tcp::config::CongestionConfig;
use longpipe_tcp::congestion::user::ModuleConfig;
use std::collections::HashMap;
use std::sync::Arc;

/// Fills the empty slots of a scenario with its own objects: `load` is called once per file, set of parameters and
/// clock frequency. Returns the objects.
///
/// # Errors
/// Returns the first error of `load`.
pub fn fill(
    scenario: &mut Scenario,
    mut load: impl FnMut(&ModuleConfig) -> Result<Arc<dyn Object>, LoadError>,
) -> Result<Vec<Arc<dyn Object>>, LoadError> {
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
                let object = load(module)?;
                loaded.push(Arc::clone(&object));
                objects.insert(key, Arc::clone(&object));
                object
            }
        };
        module.plugin.0 = Some(object);
    }
    Ok(loaded)
}
