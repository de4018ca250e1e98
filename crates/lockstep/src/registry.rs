//! The stacks available to this process: those of the package `longpipe_stacks`, and the stacks of users, which are
//! identified by digest.

#[cfg(target_os = "linux")]
use crate::linux::{
    end::{Hosts, LinuxEnd},
    guest::{Guest, Kernel},
};
use crate::object::Object;
use crate::program::Program;
use longpipe_end::{End, Setup};
use longpipe_network::scenario::{FlowConfig, StackConfig, TrafficConfig};
use longpipe_network::Scenario;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Name of the stack whose ends are hosts of a user-mode Linux guest.
#[cfg(target_os = "linux")]
const LINUX_STACK: &str = "linux";

/// Origin of a stack's ends.
#[derive(Clone, Debug)]
enum Source {
    /// A shared object (`longpipe_end.h`).
    Object(Arc<Object>),
    /// A program and its arguments.
    Program(Arc<[String]>),
}

static PACKAGE: Mutex<Option<Arc<Object>>> = Mutex::new(None);
#[cfg(target_os = "linux")]
static LINUX: Mutex<Option<Kernel>> = Mutex::new(None);
static OWN: Mutex<BTreeMap<String, Source>> = Mutex::new(BTreeMap::new());

/// Loads the object with the stacks of `longpipe_stacks`, once per process. Returns its stacks, for example "quinn
/// 0.11.19, noq 1.4.0".
///
/// # Errors
/// Returns a one-line error if the file is not an object with stacks.
pub fn register(file: &Path) -> Result<String, String> {
    let mut loaded = PACKAGE.lock().unwrap_or_else(PoisonError::into_inner);
    if loaded.is_none() {
        *loaded = Some(Arc::new(Object::load(file)?));
    }
    Ok(loaded.as_ref().map_or_else(String::new, |object| object.stacks()))
}

/// Loads a user's object, which scenarios identify by `digest`, once per process. Returns its stacks.
///
/// # Errors
/// Returns a one-line error if the file is not an object with stacks.
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

/// Registers a user's program, which scenarios identify by `digest`; `words` are its file and its arguments.
pub fn register_program(digest: &str, words: Vec<String>) {
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.insert(digest.to_owned(), Source::Program(words.into()));
}

/// Registers the files needed to start guests of user-mode Linux.
#[cfg(target_os = "linux")]
pub fn register_linux(kernel: Kernel) {
    *LINUX.lock().unwrap_or_else(PoisonError::into_inner) = Some(kernel);
}

/// Creates the ends of one run.
#[derive(Default)]
pub struct Creator {
    /// Largest packet that the run's Linux hosts can send [byte].
    #[cfg(target_os = "linux")]
    mtu: u32,
    /// The guest of the run's Linux hosts.
    #[cfg(target_os = "linux")]
    guest: Option<Arc<Mutex<Guest>>>,
    /// Names of each flow's hosts.
    #[cfg(target_os = "linux")]
    hosts: Vec<Hosts>,
}

impl Creator {
    /// Returns the creator that makes the ends of a scenario's run.
    #[cfg(target_os = "linux")]
    pub fn new(scenario: &Scenario) -> Creator {
        let linux =
            |flow: &&FlowConfig| matches!(&flow.traffic, TrafficConfig::Stack(config) if config.stack == LINUX_STACK);
        let flows = scenario.flows.iter().filter(linux);
        let names = |flow: &FlowConfig| match scenario.host_names(flow) {
            Some(names) => names.map(str::to_owned),
            None => Hosts::default(),
        };
        Creator {
            mtu: flows.map(|flow| flow.tcp.largest_packets_bytes().0).max().unwrap_or(0),
            guest: None,
            hosts: scenario.flows.iter().map(names).collect(),
        }
    }

    /// Returns the creator that makes the ends of a scenario's run.
    #[cfg(not(target_os = "linux"))]
    pub fn new(_: &Scenario) -> Creator {
        Creator::default()
    }

    /// Creates an end of the flow with the given index. The version of a user's stack is its digest.
    ///
    /// # Errors
    /// Returns a one-line error if the stack is not registered, or does not accept a setting.
    pub fn create(&mut self, flow: usize, config: &StackConfig, setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
        let own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
        let source = own.get(&config.version).cloned();
        drop(own);
        match source {
            Some(Source::Object(object)) => object.create(&config.stack, setup),
            Some(Source::Program(words)) => Ok(Box::new(Program::start(&words, setup)?)),
            #[cfg(target_os = "linux")]
            None if config.stack == LINUX_STACK => self.create_linux(flow, setup),
            None => {
                let package = PACKAGE.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let object = package.ok_or_else(|| format!("stack: {} is not registered", config.stack))?;
                object.create(&config.stack, setup)
            }
        }
    }

    /// Creates a host in the run's guest. The first host starts the guest.
    #[cfg(target_os = "linux")]
    fn create_linux(&mut self, flow: usize, setup: &Setup<'_>) -> Result<Box<dyn End>, String> {
        let guest = match &self.guest {
            Some(guest) => guest,
            None => {
                let kernel = LINUX.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let kernel = kernel.ok_or("stack: linux is not registered")?;
                let guest = Guest::boot(&kernel, setup.seed, self.mtu)?;
                self.guest.insert(Arc::new(Mutex::new(guest)))
            }
        };
        Ok(Box::new(LinuxEnd::create(guest, &self.hosts[flow], setup)?))
    }
}
