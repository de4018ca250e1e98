//! Congestion controllers that are classes in Python.

use crate::compiled::Compiled;
use crate::errors::{ControlError, ScenarioError};
use crate::records::{AckRecord, EventRecord, Grant, IntervalRecord, LostRecord, Record, SentRecord};
use longpipe_control::agent::{Agent, Policy, Row, Steering};
use longpipe_control::answer::{Answer, Answers};
use longpipe_control::base::Base;
use longpipe_control::environment::slowest_bps;
use longpipe_control::monitor::{Length, Monitor};
use longpipe_control::{heartbeat, requirements, Complaints};
use longpipe_events::{Span, Stream, Time};
use longpipe_network::Scenario;
use longpipe_tcp::config::{CongestionConfig, TcpConfig};
use longpipe_tcp::congestion::control::{self, Ack, AckSample, Cause, Control, LostSegment, Pacing, Sent, Wants};
use longpipe_tcp::congestion::flight::Flight;
use longpipe_tcp::congestion::flight::Limits;
use longpipe_tcp::congestion::user::{Controller, Plugin, Requirements};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A hook of a class.
#[derive(Clone, Copy, Debug)]
enum Hook {
    /// The class does not define the hook.
    Absent,
    /// A method.
    Method,
    /// A compiled function.
    Compiled(Compiled),
}

/// Description of a class by `longpipe.controls.classes`.
#[derive(Debug)]
struct Class {
    /// Name of the class in messages.
    name: String,
    /// Creates the controller of a connection. The arguments are its parameters, a seed, and whether packets can be
    /// marked. Returns the controller and the address of its state.
    create: Py<PyAny>,
    requirements: Requirements,
    interval: Option<Length>,
    hooks: [Hook; NAMES.len()],
    /// Base congestion control of longpipe, which is used whenever a hook returns nothing.
    base: Option<CongestionConfig>,
    /// Quantity that a policy of `longpipe.gym` multiplies after each interval; None for other classes.
    steers: Option<Steering>,
}

/// Names of the hooks in Python, indexed by number.
const NAMES: [&str; 10] = [
    "on_start",
    "on_ack",
    "on_interval",
    "on_loss",
    "on_mark",
    "on_timeout",
    "on_recovered",
    "on_undo",
    "on_sent",
    "on_lost",
];
const START: usize = 0;
const ACK: usize = 1;
const INTERVAL: usize = 2;
const LOSS: usize = 3;
const MARK: usize = 4;
const TIMEOUT: usize = 5;
const RECOVERED: usize = 6;
const UNDO: usize = 7;
const SENT: usize = 8;
const LOST: usize = 9;

/// Method of a policy that the core calls after each step.
const POLICY: &str = "factor";

/// Classes, indexed by the digest with which scenarios refer to them.
static CLASSES: Mutex<BTreeMap<String, Arc<Class>>> = Mutex::new(BTreeMap::new());

/// Names of the hooks that a controller may have.
#[pyfunction]
pub(crate) fn control_hooks() -> [&'static str; NAMES.len()] {
    NAMES
}

/// Registers a class under its digest in this process.
///
/// `hooks` maps the names of the class's hooks to the addresses of compiled hooks, or to 0 for methods. `interval` is a
/// kind (time [s], round-trips or acks) and a number. `wants` are bits of `longpipe_control.h`. `base` is the resolved
/// `tcp` of a connection; its controller is used whenever a hook returns nothing. `steers` is "rate", "window" or "base"
/// for a policy, whose method `factor` accepts the measurements of a step.
#[pyfunction]
#[pyo3(signature = (digest, name, create, hooks, interval, wants, base, steers))]
#[expect(clippy::too_many_arguments, reason = "the arguments of a function of Python")]
pub(crate) fn register_class(
    digest: String,
    name: String,
    create: Py<PyAny>,
    hooks: HashMap<String, usize>,
    interval: Option<(String, f64)>,
    wants: u32,
    base: Option<&str>,
    steers: Option<&str>,
) -> PyResult<()> {
    let base: Option<TcpConfig> = base
        .map(serde_json::from_str)
        .transpose()
        .map_err(|error| ScenarioError::new_err(format!("base: {error}")))?;
    let base = base.map(|tcp| tcp.congestion);
    let interval = interval.as_ref().map(length);
    let hooks = NAMES.map(|hook| match hooks.get(hook) {
        None => Hook::Absent,
        Some(&address) => Compiled::at(address).map_or(Hook::Method, Hook::Compiled),
    });
    let mut requirements = requirements(wants);
    if let Some(base) = &base {
        requirements.wants = requirements.wants.or(Base::new(base).wants());
        requirements.owns_window |= base.facts().is_model;
        requirements.measures_delay |= base.facts().measures_delay;
    }
    let class = Class {
        name,
        create,
        requirements,
        interval,
        hooks,
        base,
        steers: steers.map(steering).transpose()?,
    };
    CLASSES
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .insert(digest, Arc::new(class));
    Ok(())
}

/// Converts a kind ("time" [s], "round-trips" or "acks") and a number to the length of a monitor interval.
pub(crate) fn length((kind, number): &(String, f64)) -> Length {
    match kind.as_str() {
        "time" => Length::Time(Span((number * 1e12).round() as u64)),
        "acks" => Length::Acks(*number as u64),
        _ => Length::RoundTrips(*number),
    }
}

/// Returns the quantity that actions change, by name.
pub(crate) fn steering(name: &str) -> PyResult<Steering> {
    match name {
        "rate" => Ok(Steering::Rate),
        "window" => Ok(Steering::Window),
        "base" => Ok(Steering::Base),
        _ => Err(PyValueError::new_err("steers: needs rate, window or base")),
    }
}

/// A class with its parameters, as used in one simulation.
#[derive(Debug)]
pub(crate) struct InRun {
    class: Arc<Class>,
    parameters: Vec<(String, String)>,
    complaints: Arc<Complaints>,
    failed: AtomicBool,
    failure: Mutex<Option<Failure>>,
    /// Whether a failure must interrupt the process, because the caller checks for failures only at the end of the run.
    interrupts: bool,
}

/// The first error of a class, and the hook and the time at which it occurred.
#[derive(Debug)]
struct Failure {
    error: PyErr,
    hook: &'static str,
    at: Time,
}

impl InRun {
    /// Returns the name of the class.
    pub fn name(&self) -> &str {
        &self.class.name
    }

    /// Messages about invalid values that were replaced.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lines()
    }

    /// Returns the error of the class, if there is one.
    pub fn failure(&self, py: Python<'_>) -> PyResult<()> {
        if !self.failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        match &*failure {
            // Ctrl-C does not count as an error of the class.
            Some(failure) if !failure.error.is_instance_of::<pyo3::exceptions::PyException>(py) => {
                Err(failure.error.clone_ref(py))
            }
            Some(failure) => {
                let at = failure.at.as_seconds();
                let error = failure.error.clone_ref(py).into_value(py);
                Err(ControlError::new_err((error, self.name().to_owned(), failure.hook, at)))
            }
            None => Ok(()),
        }
    }

    #[cold]
    fn fail(&self, py: Python<'_>, error: PyErr, hook: &'static str, at: Time) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if failure.is_none() {
            *failure = Some(Failure { error, hook, at });
            self.failed.store(true, Ordering::Relaxed);
            if self.interrupts {
                // This call fails only if there is no main thread to interrupt.
                let _ = py
                    .import("_thread")
                    .and_then(|thread| thread.call_method0("interrupt_main"));
            }
        }
    }
}

/// Digest of a class, and the names and values of its parameters.
type Settings = (String, Vec<(String, String)>);

/// Fills the plug-in slots of a scenario whose digests refer to classes. Returns the classes in use, each with its
/// error state.
pub(crate) fn connect(scenario: &mut Scenario, interrupts: bool) -> Vec<Arc<InRun>> {
    let mut found: BTreeMap<Settings, Arc<InRun>> = BTreeMap::new();
    for index in 0..scenario.flows.len() {
        let slowest_bps = slowest_bps(scenario, index);
        let flow = &mut scenario.flows[index];
        let CongestionConfig::Module(module) = &mut flow.tcp.congestion else {
            continue;
        };
        let known = CLASSES.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(class) = known.get(&module.digest).map(Arc::clone) else {
            continue;
        };
        drop(known);
        let key = (module.digest.clone(), module.parameters.clone());
        let parameters = module.parameters.clone();
        let run = found.entry(key).or_insert_with(|| {
            Arc::new(InRun {
                class,
                parameters,
                complaints: Arc::default(),
                failed: AtomicBool::new(false),
                failure: Mutex::new(None),
                interrupts,
            })
        });
        let run = Arc::clone(run);
        module.plugin.0 = Some(match run.class.steers {
            None => Arc::new(Shared(run)),
            Some(steering) => Arc::new(SharedPolicy {
                run,
                steering,
                slowest_bps,
            }),
        });
    }
    found.into_values().collect()
}

/// A class that serves as the plug-in of a scenario.
#[derive(Clone, Debug)]
struct Shared(Arc<InRun>);

impl Plugin for Shared {
    fn requirements(&self) -> Requirements {
        self.0.class.requirements
    }

    fn connect(&self) -> Box<dyn Controller> {
        Box::new(Connection::new(Arc::clone(&self.0)))
    }
}

/// A policy that serves as the plug-in of a flow.
#[derive(Clone, Debug)]
struct SharedPolicy {
    run: Arc<InRun>,
    steering: Steering,
    /// Rate [bit/s] of the slowest link on the flow's route.
    slowest_bps: f64,
}

impl SharedPolicy {
    fn agent(&self) -> Agent {
        Agent::new(self.steering, self.run.class.base.clone(), self.slowest_bps)
    }
}

impl Plugin for SharedPolicy {
    fn requirements(&self) -> Requirements {
        self.agent().requirements()
    }

    fn connect(&self) -> Box<dyn Controller> {
        let policy = Box::new(PolicyObject {
            run: Arc::clone(&self.run),
            object: None,
        });
        let step = self.run.class.interval.unwrap_or(Length::RoundTrips(1.0));
        self.agent().with_policy(policy, step, Arc::clone(&self.run.complaints))
    }
}

/// The policy of one connection, an object of Python that is created at its first action.
#[derive(Debug)]
struct PolicyObject {
    run: Arc<InRun>,
    object: Option<Py<PyAny>>,
}

impl Policy for PolicyObject {
    fn factor(&mut self, row: &Row, at: Time) -> Option<f64> {
        if self.run.failed.load(Ordering::Relaxed) {
            return None;
        }
        Python::attach(|py| {
            let called = heartbeat::during(|| -> PyResult<f64> {
                if self.object.is_none() {
                    let made = self
                        .run
                        .class
                        .create
                        .call1(py, (self.run.parameters.clone(), 0, false))?;
                    let (object, _): (Py<PyAny>, usize) = made.extract(py)?;
                    self.object = Some(object);
                }
                let object = self.object.as_ref().map(|object| object.bind(py));
                let measured = numpy::PyArray1::from_slice(py, row);
                object.map_or(Ok(1.0), |object| object.call_method1(POLICY, (measured,))?.extract())
            });
            called.map_err(|error| self.run.fail(py, error, POLICY, at)).ok()
        })
    }
}

/// The controller of one connection.
#[derive(Debug)]
struct Connection {
    run: Arc<InRun>,
    /// The instance, its methods indexed by hook, and the address of the state of compiled hooks, which the instance
    /// keeps alive.
    controller: Option<Py<PyAny>>,
    methods: [Option<Py<PyAny>>; NAMES.len()],
    state: usize,
    ecn: bool,
    answers: Answers,
    monitor: Monitor,
    base: Option<Base>,
}

impl Connection {
    fn new(run: Arc<InRun>) -> Connection {
        let base = run.class.base.as_ref().map(Base::new);
        Connection {
            run,
            base,
            controller: None,
            methods: [const { None }; NAMES.len()],
            state: 0,
            ecn: false,
            answers: Answers::default(),
            monitor: Monitor::default(),
        }
    }

    fn create(&mut self, seed: u64) {
        let run = Arc::clone(&self.run);
        Python::attach(|py| {
            let made = heartbeat::during(|| self.made(py, &run, seed));
            if let Err(error) = made {
                run.fail(py, error, "__init__", Time::ZERO);
            }
        });
    }

    fn made(&mut self, py: Python<'_>, run: &InRun, seed: u64) -> PyResult<()> {
        let made = run.class.create.call1(py, (run.parameters.clone(), seed, self.ecn))?;
        let (controller, state): (Py<PyAny>, usize) = made.extract(py)?;
        for ((hook, name), method) in run.class.hooks.iter().zip(NAMES).zip(&mut self.methods) {
            if let Hook::Method = hook {
                *method = Some(controller.getattr(py, name)?);
            }
        }
        (self.controller, self.state) = (Some(controller), state);
        Ok(())
    }

    /// Returns whether the class has a hook.
    fn has(&self, hook: usize) -> bool {
        !matches!(self.run.class.hooks[hook], Hook::Absent)
    }

    /// Calls a hook. Returns None if the class does not have the hook or has failed.
    #[inline]
    fn call<R: Record>(&self, hook: usize, record: R, flight: &Flight, now: Time) -> Option<Grant> {
        if let Hook::Compiled(compiled) = self.run.class.hooks[hook] {
            if self.state == 0 {
                return None;
            }
            return Some(heartbeat::during(|| compiled.call(self.state, &record, flight)));
        }
        let method = self.methods[hook].as_ref()?;
        if self.run.failed.load(Ordering::Relaxed) {
            return None;
        }
        Python::attach(|py| {
            let called = heartbeat::during(|| {
                let found = method.bind(py).call1((record.object(py)?,))?;
                granted(&found, self.run.class.requirements.wants.pacing)
            });
            called.map_err(|error| self.run.fail(py, error, NAMES[hook], now)).ok()
        })
    }

    /// Converts a hook's grant to a window update. The hook may change the window if `moves` is true or the class owns
    /// the window.
    fn take(&mut self, grant: Option<Grant>, moves: bool, flight: &Flight, now: Time) -> control::CwndUpdate {
        let mut answer = Answer::unchanged(flight);
        if let Some(grant) = grant {
            if moves || self.run.class.requirements.owns_window {
                answer.window = grant.window.unwrap_or(answer.window);
            }
            answer.ssthresh = grant.ssthresh.unwrap_or(answer.ssthresh);
            answer.rate_bps = grant.rate;
            answer.burst_segments = grant.burst.unwrap_or(0);
        }
        self.answers.take(&answer, flight, now, &self.run.complaints)
    }

    /// Combines a hook's grant with the update of the base congestion control. `flight` is the state of the connection
    /// after that update.
    fn over(
        &mut self,
        base: Option<control::CwndUpdate>,
        grant: Option<Grant>,
        moves: bool,
        flight: &Flight,
        now: Time,
    ) -> control::CwndUpdate {
        let taken = self.take(grant, moves, flight, now);
        control::CwndUpdate {
            pacing: taken.pacing.or(base.and_then(|base| base.pacing)),
            ..taken
        }
    }

    /// Completes the grant for a reduction with the defaults of RFC 5681: ssthresh is half of the window, and the new
    /// window is ssthresh, or one segment after a timeout.
    fn reduced(&self, cause: Cause, grant: Option<Grant>, flight: &Flight) -> Grant {
        let half = (flight.cwnd() / 2.0).max(2.0 * flight.mss());
        let timeout = cause == Cause::Timeout;
        match grant {
            Some(grant) => {
                let window = match grant.ssthresh {
                    Some(_) if timeout => Some(flight.mss()),
                    ssthresh => ssthresh,
                };
                let ssthresh = if timeout { None } else { grant.window };
                Grant {
                    window: grant.window.or(window),
                    ssthresh: grant.ssthresh.or(ssthresh),
                    ..grant
                }
            }
            None if self.run.class.requirements.owns_window => Grant {
                window: timeout.then_some(flight.mss()),
                ..Grant::default()
            },
            None => Grant {
                window: Some(if timeout { flight.mss() } else { half }),
                ssthresh: Some(half),
                ..Grant::default()
            },
        }
    }
}

/// Returns the state of a connection after an update by its base congestion control.
fn after(base: Option<control::CwndUpdate>, flight: &Flight) -> Cow<'_, Flight> {
    let Some(base) = base else {
        return Cow::Borrowed(flight);
    };
    let mut moved = flight.clone();
    moved.limits = Limits::new(base.window, base.threshold);
    Cow::Owned(moved)
}

/// Converts the return value of a method.
#[inline]
fn granted(found: &Bound<'_, PyAny>, paces: bool) -> PyResult<Grant> {
    if let Ok(grant) = found.cast::<Grant>() {
        let grant = *grant.borrow();
        if grant.rate.is_some() && !paces {
            let needs = "needs paces = True in the class, which gives its connections a pacer";
            return Err(PyTypeError::new_err(format!("returns a Grant with a rate; {needs}")));
        }
        return Ok(grant);
    }
    if found.is_none() {
        return Ok(Grant::default());
    }
    let text = found.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let shown: String = text.chars().take(60).collect();
    Err(PyTypeError::new_err(format!(
        "returns {shown}; needs a longpipe.Grant or None"
    )))
}

impl Controller for Connection {
    fn boxed_clone(&self) -> Box<dyn Controller> {
        panic!(
            "{}: the state of a controller in Python cannot be copied",
            self.run.name()
        );
    }
}

impl Control for Connection {
    fn wants(&self) -> Wants {
        self.run.class.requirements.wants
    }

    fn set_hz(&mut self, hz: u32) {
        if let Some(base) = &mut self.base {
            base.set_hz(hz);
        }
    }

    fn set_preconnect(&mut self, idle: Span) {
        if let Some(base) = &mut self.base {
            base.set_preconnect(idle);
        }
    }

    fn set_ecn(&mut self, on: bool) {
        self.ecn = on;
        if let Some(base) = &mut self.base {
            base.set_ecn(on);
        }
    }

    /// Also creates the instance, because this is the last call before the connection starts.
    fn draw_from(&mut self, mut draws: Stream) {
        // The base congestion control draws the same random numbers as it would without a class.
        if let Some(base) = &mut self.base {
            base.draw_from(draws.clone());
        }
        self.create(draws.below(1 << 63));
    }

    fn on_start(&mut self, rtt: Span, flight: &Flight) -> control::CwndUpdate {
        self.answers.least_rtt = Some(rtt);
        let base = self.base.as_mut().map(|base| base.on_start(rtt, flight));
        let flight = after(base, flight);
        let record = EventRecord::new(Time::ZERO, Some(rtt), &flight);
        let grant = self.call(START, record, &flight, Time::ZERO);
        self.over(base, grant, true, &flight, Time::ZERO)
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        self.monitor.sent += sent.end - sent.sequence;
        let of_base = self.base.as_mut().and_then(|base| base.on_sent(sent, flight));
        if !self.has(SENT) {
            return of_base;
        }
        let Some(grant) = self.call(SENT, SentRecord::new(sent, flight), flight, sent.now) else {
            return of_base;
        };
        let answer = Answer {
            rate_bps: grant.rate,
            burst_segments: grant.burst.unwrap_or(0),
            ..Answer::unchanged(flight)
        };
        let pacing = self.answers.pacing(&answer, flight, sent.now, &self.run.complaints);
        pacing.or(of_base)
    }

    fn on_sample(&mut self, sample: &AckSample, flight: &Flight) -> control::CwndUpdate {
        match &mut self.base {
            Some(base) => base.on_sample(sample, flight),
            None => control::CwndUpdate::unchanged(flight),
        }
    }

    fn on_ack(&mut self, ack: &Ack, flight: &Flight) -> control::CwndUpdate {
        self.answers.least_rtt = ack.least_rtt.or(self.answers.least_rtt);
        let base = self.base.as_mut().map(|base| base.on_ack(ack, flight));
        let flight = after(base, flight);
        let mut grant = None;
        if self.has(ACK) {
            grant = self.call(ACK, AckRecord::new(ack, &flight), &flight, ack.now);
        }
        if let Some(length) = self.run.class.interval {
            self.monitor.on_ack(ack);
            if self.monitor.has_ended(length, ack.now, ack.srtt) {
                let record = IntervalRecord::new(&self.monitor, ack, &flight);
                let decided = self.call(INTERVAL, record, &flight, ack.now);
                grant = decided.map(|decided| decided.or(grant.unwrap_or_default())).or(grant);
                self.monitor.begin(ack.now, ack.srtt);
            }
        }
        self.over(base, grant, ack.grows, &flight, ack.now)
    }

    fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        if let Some(base) = &mut self.base {
            base.on_lost(lost, now, flight);
        }
        if self.has(LOST) {
            self.call(LOST, LostRecord::new(lost, now, flight), flight, now);
        }
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> control::CwndUpdate {
        let hook = match cause {
            Cause::FastRetransmit => LOSS,
            Cause::Timeout => TIMEOUT,
            Cause::Mark { .. } if self.has(MARK) => MARK,
            Cause::Mark { .. } => LOSS,
        };
        let base = self.base.as_mut().map(|base| base.on_reduction(cause, now, flight));
        // The hook receives the window before the reduction, even if there is a base congestion control.
        let mut grant = self.call(hook, EventRecord::new(now, None, flight), flight, now);
        if grant.is_some() || base.is_none() {
            grant = Some(self.reduced(cause, grant, flight));
        }
        self.over(base, grant, true, &after(base, flight), now)
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> control::CwndUpdate {
        let hook = if spurious { UNDO } else { RECOVERED };
        let base = self.base.as_mut().map(|base| base.on_recovered(spurious, now, flight));
        let flight = after(base, flight);
        let grant = self.call(hook, EventRecord::new(now, None, &flight), &flight, now);
        self.over(base, grant, true, &flight, now)
    }
}
