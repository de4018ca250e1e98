//! Simulations that are controlled by agents in Python, several at a time.

use crate::errors::{DefectError, ScenarioError};
use crate::modules::{self, Controls};
use crate::own_control::classes::{interval_length, steering};
use longpipe_control::agent::{Steering, FEATURES};
use longpipe_control::derived::{extend, Extremes, DERIVED};
use longpipe_control::environment::{Environment, Progress};
use longpipe_control::monitor::Length;
use longpipe_network::defect::guarded;
use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// An episode, including the controllers of the flows that are not agents.
struct Episode {
    environment: Environment,
    controls: Controls,
}

/// Numbered episodes, each with a scenario and a seed, all of which have the same number of agents.
#[pyclass(module = "longpipe._core")]
pub(crate) struct Environments {
    episodes: Mutex<Vec<Option<Episode>>>,
    agents: usize,
    steering: Steering,
    step: Length,
    threads: usize,
}

#[pymethods]
impl Environments {
    /// Actions change the pacing rate (`steers` is "rate"), the window ("window"), or the window of the flow's own
    /// controller ("base"). `step` consists of a kind and a number, as in `register_class`.
    #[new]
    fn new(count: usize, agents: usize, steers: &str, step: (String, f64), threads: usize) -> PyResult<Environments> {
        Ok(Environments {
            episodes: Mutex::new((0..count).map(|_| None).collect()),
            agents,
            steering: steering(steers)?,
            step: interval_length(&step),
            threads,
        })
    }

    /// Names of the measurements, in the order of the columns.
    #[staticmethod]
    fn features() -> [&'static str; FEATURES.len()] {
        FEATURES
    }

    /// Names of the quantities that `extend` derives from the measurements.
    #[staticmethod]
    fn derived() -> [&'static str; DERIVED.len()] {
        DERIVED
    }

    /// Returns a row per measurement and per derived quantity, with a column per agent; updates the agents' lowest mean RTTs
    /// and highest delivery rates. `measured` has a row per agent.
    #[staticmethod]
    fn extend<'py>(
        py: Python<'py>,
        measured: PyReadonlyArray2<'py, f64>,
        mut lowest_mean_rtt: PyReadwriteArray1<'py, f64>,
        mut highest_delivery_rate: PyReadwriteArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (rows, []) = measured.as_slice()?.as_chunks::<{ FEATURES.len() }>() else {
            return Err(PyValueError::new_err("needs rows of all measurements"));
        };
        let (lowest, highest) = (lowest_mean_rtt.as_slice_mut()?, highest_delivery_rate.as_slice_mut()?);
        if lowest.len() != rows.len() || highest.len() != rows.len() {
            return Err(PyValueError::new_err("needs the extremes of each agent"));
        }
        let extended = PyArray2::zeros(py, [FEATURES.len() + DERIVED.len(), rows.len()], false);
        let mut writable = extended.readwrite();
        let values = writable.as_slice_mut()?;
        for (agent, (row, (lowest_mean_rtt, highest_delivery_rate))) in
            rows.iter().zip(lowest.iter_mut().zip(highest)).enumerate()
        {
            let extremes = Extremes {
                lowest_mean_rtt,
                highest_delivery_rate,
            };
            let of_agent = values.iter_mut().skip(agent).step_by(rows.len());
            of_agent
                .zip(extend(row, extremes))
                .for_each(|(value, own)| *value = own);
        }
        drop(writable);
        Ok(extended)
    }

    /// Begins an episode of a scenario; `flows` contains the indices of the flows that are agents.
    fn begin(
        &mut self,
        py: Python<'_>,
        number: usize,
        scenario_json: &str,
        seed: u64,
        flows: Vec<usize>,
    ) -> PyResult<()> {
        let episodes = self.episodes.get_mut().unwrap_or_else(PoisonError::into_inner);
        if number >= episodes.len() || flows.len() != self.agents {
            return Err(PyValueError::new_err("needs a number of an episode, and all agents"));
        }
        let (scenario, controls) = modules::scenario(py, scenario_json, false)?;
        if flows.iter().any(|&flow| flow >= scenario.flows.len()) {
            return Err(PyValueError::new_err("flows: needs indices of flows"));
        }
        let (steering, step) = (self.steering, self.step);
        let begun = py.detach(|| guarded(u64::MAX, || Environment::new(scenario, seed, &flows, steering, step)));
        let environment = begun
            .map_err(|ended| DefectError::new_err(ended.to_string()))?
            .map_err(|error| ScenarioError::new_err(error.to_string()))?;
        controls.failure(py)?;
        episodes[number] = Some(Episode { environment, controls });
        Ok(())
    }

    /// Writes the measurements since the latest step; there is one row per agent and episode.
    fn measure(&mut self, mut measured: PyReadwriteArray1<'_, f64>) -> PyResult<()> {
        let width = self.agents * FEATURES.len();
        let measured = measured.as_slice_mut()?;
        let episodes = self.episodes.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (episode, row) in episodes.iter().zip(measured.chunks_exact_mut(width)) {
            if let Some(episode) = episode {
                episode.environment.measure(row);
            }
        }
        Ok(())
    }

    /// Runs one step of each episode in `active`, with a factor for each agent. `alive` becomes false at the last step
    /// of an episode. `complete` becomes true for each agent whose transfer is complete.
    fn step(
        &mut self,
        py: Python<'_>,
        factors: PyReadonlyArray1<'_, f64>,
        active: PyReadonlyArray1<'_, bool>,
        mut measured: PyReadwriteArray1<'_, f64>,
        mut alive: PyReadwriteArray1<'_, bool>,
        mut complete: PyReadwriteArray1<'_, bool>,
    ) -> PyResult<()> {
        let (agents, width) = (self.agents, self.agents * FEATURES.len());
        let (factors, active) = (factors.as_slice()?, active.as_slice()?);
        let (measured, alive, complete) = (
            measured.as_slice_mut()?,
            alive.as_slice_mut()?,
            complete.as_slice_mut()?,
        );
        let episodes = self.episodes.get_mut().unwrap_or_else(PoisonError::into_inner);
        let count = episodes.len();
        if factors.len() != count * agents || active.len() != count {
            return Err(PyValueError::new_err(
                "needs a factor for each agent, and a mark for each episode",
            ));
        }
        if measured.len() != count * width || alive.len() != count || complete.len() != count * agents {
            return Err(PyValueError::new_err("needs room for all measurements"));
        }
        let tasks: Vec<Task<'_>> = episodes
            .iter_mut()
            .zip(factors.chunks_exact(agents))
            .zip(measured.chunks_exact_mut(width).zip(alive.iter_mut()))
            .zip(active.iter().zip(complete.chunks_exact_mut(agents)))
            .filter_map(|(((episode, factors), (row, alive)), (&active, complete))| {
                let environment = &mut episode.as_mut().filter(|_| active)?.environment;
                Some(Task {
                    environment,
                    factors,
                    row,
                    alive,
                    complete,
                })
            })
            .collect();
        let threads = self.threads.min(tasks.len()).max(1);
        py.detach(|| run(tasks, threads)).map_err(DefectError::new_err)?;
        for episode in episodes.iter().flatten() {
            episode.controls.failure(py)?;
        }
        Ok(())
    }
}

/// One step of an episode.
struct Task<'a> {
    environment: &'a mut Environment,
    factors: &'a [f64],
    row: &'a mut [f64],
    alive: &'a mut bool,
    complete: &'a mut [bool],
}

/// Runs tasks in threads; an error indicates a bug in longpipe.
fn run(mut tasks: Vec<Task<'_>>, threads: usize) -> Result<(), String> {
    let each = tasks.len().div_ceil(threads).max(1);
    let part = |tasks: &mut [Task<'_>]| {
        guarded(u64::MAX, || {
            for task in tasks {
                let progress = task.environment.step(task.factors, task.row);
                *task.alive = progress == Progress::Continues;
                task.environment.complete(task.complete);
            }
        })
        .map_err(|ended| ended.to_string())
    };
    if threads == 1 {
        return part(&mut tasks);
    }
    thread::scope(|scope| {
        let running: Vec<_> = tasks
            .chunks_mut(each)
            .map(|tasks| scope.spawn(move || part(tasks)))
            .collect();
        let mut results = running.into_iter().map(|thread| thread.join());
        results.try_for_each(|result| result.unwrap_or_else(|_| Err("a thread of an environment panicked".to_owned())))
    })
}
