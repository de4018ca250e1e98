//! The controller of one connection, an instance of a class of Python.

use super::classes::{Hook, Implementation};
use super::InRun;
use crate::records::{AckRecord, EventRecord, Grant, IntervalRecord, LostRecord, Record, SentRecord};
use longpipe_control::answer::{Answer, Answers};
use longpipe_control::base::Base;
use longpipe_control::heartbeat;
use longpipe_control::monitor::Monitor;
use longpipe_events::{Span, Stream, Time};
use longpipe_tcp::congestion::control::{self, Ack, AckSample, Cause, Control, LostSegment, Pacing, Sent, Wants};
use longpipe_tcp::congestion::flight::{Flight, Limits};
use longpipe_tcp::congestion::user::Controller;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use strum::{EnumCount, VariantNames};

/// The controller of one connection.
#[derive(Debug)]
pub(super) struct Connection {
    run: Arc<InRun>,
    /// The instance of the class; None until `draw_from` creates it.
    controller: Option<Py<PyAny>>,
    /// Methods of the instance, indexed by `Hook`.
    methods: [Option<Py<PyAny>>; Hook::COUNT],
    /// Address of the state of compiled hooks, which the instance keeps alive; 0 if there is none.
    state: usize,
    /// Whether packets of the connection can be marked.
    ecn: bool,
    answers: Answers,
    monitor: Monitor,
    base: Option<Base>,
}

impl Connection {
    pub fn new(run: Arc<InRun>) -> Connection {
        let base = run.class.base.as_ref().map(Base::new);
        Connection {
            run,
            base,
            controller: None,
            methods: [const { None }; Hook::COUNT],
            state: 0,
            ecn: false,
            answers: Answers::default(),
            monitor: Monitor::default(),
        }
    }

    /// Creates the instance. An error of its constructor fails the run.
    fn create(&mut self, seed: u64) {
        let run = Arc::clone(&self.run);
        Python::attach(|py| {
            let created = heartbeat::during(|| self.instantiate(py, &run, seed));
            if let Err(error) = created {
                run.fail(py, error, "__init__", Time::ZERO);
            }
        });
    }

    fn instantiate(&mut self, py: Python<'_>, run: &InRun, seed: u64) -> PyResult<()> {
        let created = run.class.create.call1(py, (run.parameters.clone(), seed, self.ecn))?;
        let (controller, state): (Py<PyAny>, usize) = created.extract(py)?;
        for ((hook, name), method) in run.class.hooks.iter().zip(Hook::VARIANTS).zip(&mut self.methods) {
            if let Implementation::Method = hook {
                *method = Some(controller.getattr(py, *name)?);
            }
        }
        (self.controller, self.state) = (Some(controller), state);
        Ok(())
    }

    /// Returns whether the class has a hook.
    fn has(&self, hook: Hook) -> bool {
        !matches!(self.run.class.hooks[hook as usize], Implementation::Absent)
    }

    /// Calls a hook. Returns None if the class does not have the hook or has failed.
    #[inline]
    fn call<R: Record>(&self, hook: Hook, record: R, flight: &Flight, now: Time) -> Option<Grant> {
        if let Implementation::Compiled(compiled) = self.run.class.hooks[hook as usize] {
            if self.state == 0 {
                return None;
            }
            return Some(heartbeat::during(|| compiled.call(self.state, &record, flight)));
        }
        let method = self.methods[hook as usize].as_ref()?;
        if self.run.failed.load(Ordering::Relaxed) {
            return None;
        }
        Python::attach(|py| {
            let called = heartbeat::during(|| {
                let returned = method.bind(py).call1((record.object(py)?,))?;
                extract_grant(&returned, self.run.class.requirements.wants.pacing)
            });
            called
                .map_err(|error| self.run.fail(py, error, Hook::VARIANTS[hook as usize], now))
                .ok()
        })
    }

    /// Converts a hook's grant to a window update. The hook may change the window if `may_move_window` is true or the
    /// class owns the window.
    fn take(&mut self, grant: Option<Grant>, may_move_window: bool, flight: &Flight, now: Time) -> control::CwndUpdate {
        let mut answer = Answer::unchanged(flight);
        if let Some(grant) = grant {
            if may_move_window || self.run.class.requirements.owns_window {
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
    fn combine_with_base(
        &mut self,
        base: Option<control::CwndUpdate>,
        grant: Option<Grant>,
        may_move_window: bool,
        flight: &Flight,
        now: Time,
    ) -> control::CwndUpdate {
        let update = self.take(grant, may_move_window, flight, now);
        control::CwndUpdate {
            pacing: update.pacing.or(base.and_then(|base| base.pacing)),
            ..update
        }
    }

    /// Completes the grant for a reduction with the defaults of RFC 5681: ssthresh is half of the window, and the new
    /// window is ssthresh, or one segment after a timeout.
    fn complete_reduction(&self, cause: Cause, grant: Option<Grant>, flight: &Flight) -> Grant {
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
fn flight_after(base: Option<control::CwndUpdate>, flight: &Flight) -> Cow<'_, Flight> {
    let Some(base) = base else {
        return Cow::Borrowed(flight);
    };
    let mut moved = flight.clone();
    moved.limits = Limits::new(base.window, base.threshold);
    Cow::Owned(moved)
}

/// Converts the return value of a method to a grant; None grants nothing. `paces` is whether the class requests a pacer.
#[inline]
fn extract_grant(returned: &Bound<'_, PyAny>, paces: bool) -> PyResult<Grant> {
    if let Ok(grant) = returned.cast::<Grant>() {
        let grant = *grant.borrow();
        if grant.rate.is_some() && !paces {
            let needs = "needs paces = True in the class, which gives its connections a pacer";
            return Err(PyTypeError::new_err(format!("returns a Grant with a rate; {needs}")));
        }
        return Ok(grant);
    }
    if returned.is_none() {
        return Ok(Grant::default());
    }
    let text = returned.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
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
        let flight = flight_after(base, flight);
        let record = EventRecord::new(Time::ZERO, Some(rtt), &flight);
        let grant = self.call(Hook::OnStart, record, &flight, Time::ZERO);
        self.combine_with_base(base, grant, true, &flight, Time::ZERO)
    }

    fn on_sent(&mut self, sent: &Sent, flight: &Flight) -> Option<Pacing> {
        self.monitor.sent += sent.end - sent.sequence;
        let of_base = self.base.as_mut().and_then(|base| base.on_sent(sent, flight));
        if !self.has(Hook::OnSent) {
            return of_base;
        }
        let Some(grant) = self.call(Hook::OnSent, SentRecord::new(sent, flight), flight, sent.now) else {
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
        let flight = flight_after(base, flight);
        let mut grant = None;
        if self.has(Hook::OnAck) {
            grant = self.call(Hook::OnAck, AckRecord::new(ack, &flight), &flight, ack.now);
        }
        if let Some(length) = self.run.class.interval {
            self.monitor.on_ack(ack);
            if self.monitor.has_ended(length, ack.now, ack.srtt) {
                let record = IntervalRecord::new(&self.monitor, ack, &flight);
                let decided = self.call(Hook::OnInterval, record, &flight, ack.now);
                grant = decided.map(|decided| decided.or(grant.unwrap_or_default())).or(grant);
                self.monitor.begin(ack.now, ack.srtt);
            }
        }
        self.combine_with_base(base, grant, ack.grows, &flight, ack.now)
    }

    fn on_lost(&mut self, lost: &LostSegment, now: Time, flight: &Flight) {
        if let Some(base) = &mut self.base {
            base.on_lost(lost, now, flight);
        }
        if self.has(Hook::OnLost) {
            self.call(Hook::OnLost, LostRecord::new(lost, now, flight), flight, now);
        }
    }

    fn on_reduction(&mut self, cause: Cause, now: Time, flight: &Flight) -> control::CwndUpdate {
        let hook = match cause {
            Cause::FastRetransmit => Hook::OnLoss,
            Cause::Timeout => Hook::OnTimeout,
            Cause::Mark { .. } if self.has(Hook::OnMark) => Hook::OnMark,
            Cause::Mark { .. } => Hook::OnLoss,
        };
        let base = self.base.as_mut().map(|base| base.on_reduction(cause, now, flight));
        // The hook receives the window before the reduction, even if there is a base congestion control.
        let mut grant = self.call(hook, EventRecord::new(now, None, flight), flight, now);
        if grant.is_some() || base.is_none() {
            grant = Some(self.complete_reduction(cause, grant, flight));
        }
        self.combine_with_base(base, grant, true, &flight_after(base, flight), now)
    }

    fn on_recovered(&mut self, spurious: bool, now: Time, flight: &Flight) -> control::CwndUpdate {
        let hook = if spurious { Hook::OnUndo } else { Hook::OnRecovered };
        let base = self.base.as_mut().map(|base| base.on_recovered(spurious, now, flight));
        let flight = flight_after(base, flight);
        let grant = self.call(hook, EventRecord::new(now, None, &flight), &flight, now);
        self.combine_with_base(base, grant, true, &flight, now)
    }
}
