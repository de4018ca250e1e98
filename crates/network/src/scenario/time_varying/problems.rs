//! Checks of the parameters of time-varying links.

use super::{DelayConfig, OrderConfig, OutagesConfig, ServiceConfig, TimeVaryingConfig};
use crate::bounds::{MAX_DURATION, MAX_WAIT};

/// Maximum rate [bit/s] of a step.
const MAX_RATE: u64 = 10_000_000_000_000;

/// An invalid field, its value and the values that are accepted.
type Problem = Option<(&'static str, String, &'static str)>;

impl TimeVaryingConfig {
    /// Returns the first invalid value.
    pub(crate) fn problem(&self) -> Problem {
        let service = self.service.as_ref().and_then(ServiceConfig::problem);
        service
            .or_else(|| self.delay.as_ref().and_then(DelayConfig::problem))
            .or_else(|| self.outages.as_ref().and_then(OutagesConfig::problem))
            .or_else(|| {
                let both = matches!(self.service, Some(ServiceConfig::Opportunities { .. })) && self.outages.is_some();
                both.then(|| ("outages", "beside opportunities".to_owned(), "needs a rate in steps"))
            })
    }

    /// Returns the first value that cell links do not support.
    pub(crate) fn problem_of_cells(&self) -> Problem {
        if matches!(self.service, Some(ServiceConfig::Opportunities { .. })) {
            let accepted = "needs a rate in steps under AAL5: a schedule's opportunities carry packets";
            return Some(("service", "opportunities".to_owned(), accepted));
        }
        let reorders = self.order == OrderConfig::Free;
        let accepted = "needs fifo under AAL5: the cells of a circuit keep their order";
        reorders.then(|| ("order", "free".to_owned(), accepted))
    }
}

impl ServiceConfig {
    fn problem(&self) -> Problem {
        match self {
            ServiceConfig::Steps { steps, cycle_ps } => problem_of_steps(steps, *cycle_ps),
            ServiceConfig::Opportunities {
                instants_ps,
                bytes,
                header_bytes,
            } => problem_of_opportunities(instants_ps, *bytes, *header_bytes),
        }
    }
}

fn problem_of_steps(steps: &[[u64; 2]], cycle_ps: Option<u64>) -> Problem {
    let problem = |value: String, accepted| Some(("service.steps", value, accepted));
    let first_ps = steps.first().map(|step| step[0]);
    if first_ps != Some(0) {
        return problem(format!("{first_ps:?}"), "needs a step at 0");
    }
    let end = cycle_ps.unwrap_or(MAX_DURATION);
    let mut pairs = steps.windows(2).map(|pair| [pair[0][0], pair[1][0]]);
    if let Some([earlier, later]) = pairs.find(|[earlier, later]| earlier >= later || *later > end) {
        return problem(
            format!("{earlier} then {later}"),
            "needs ascending times before the end of the cycle",
        );
    }
    if let Some([_, rate_bps]) = steps.iter().find(|step| step[1] > MAX_RATE) {
        return problem(rate_bps.to_string(), "needs at most 10 Tbit/s, in bit/s");
    }
    if steps.iter().all(|step| step[1] == 0) {
        return problem("all 0".to_owned(), "needs a rate above 0 at some time");
    }
    let cycle_ps = cycle_ps?;
    let is_ended = steps.last().is_some_and(|last| last[0] < cycle_ps);
    (cycle_ps > MAX_DURATION || !is_ended).then(|| {
        let accepted = "needs more than the last time, up to 100 days";
        ("service.cycle", cycle_ps.to_string(), accepted)
    })
}

fn problem_of_opportunities(instants_ps: &[u64], bytes: u64, header_bytes: u64) -> Problem {
    let problem = |value: String, accepted| Some(("service.instants", value, accepted));
    if let Some(pair) = instants_ps.windows(2).find(|pair| pair[0] > pair[1]) {
        return problem(format!("{} then {}", pair[0], pair[1]), "needs nondecreasing times");
    }
    match instants_ps.last() {
        None | Some(0) => return problem("all 0".to_owned(), "needs a last time above 0"),
        Some(&last) if last > MAX_DURATION => return problem(last.to_string(), "needs at most 100 days, in ps"),
        Some(_) => {}
    }
    let fits = (1..=1_000_000).contains(&bytes) && header_bytes <= 10_000;
    (!fits).then(|| {
        let accepted = "needs 1 to 1000000, and a header of at most 10000";
        ("service.bytes", bytes.to_string(), accepted)
    })
}

impl DelayConfig {
    fn problem(&self) -> Problem {
        let problem = |value: String, accepted| Some(("delay.knots", value, accepted));
        if self.knots_ps.is_empty() {
            return problem("none".to_owned(), "needs at least one knot");
        }
        if let Some(pair) = self.knots_ps.windows(2).find(|pair| pair[0][0] > pair[1][0]) {
            return problem(
                format!("{} then {}", pair[0][0], pair[1][0]),
                "needs nondecreasing times",
            );
        }
        if let Some(grant) = self.grant_ps.filter(|grant| !(1..=MAX_WAIT).contains(grant)) {
            return Some(("delay.grant", grant.to_string(), "needs 1 ps to 1000 s"));
        }
        let mut knots = self.knots_ps.iter();
        let knot = knots.find(|knot| knot[1] > MAX_WAIT || knot[0] > MAX_DURATION)?;
        problem(
            format!("{knot:?}"),
            "needs delays of at most 1000 s within 100 days, in ps",
        )
    }
}

impl OutagesConfig {
    fn problem(&self) -> Problem {
        let problem = |value: String, accepted| Some(("outages", value, accepted));
        let mut intervals = self.intervals_ps.iter();
        if let Some([start, end]) = intervals.find(|[start, end]| start >= end || *end > MAX_DURATION) {
            return problem(
                format!("{start} to {end}"),
                "needs an end after the start, within 100 days",
            );
        }
        let pair = self.intervals_ps.windows(2).find(|pair| pair[0][1] >= pair[1][0])?;
        problem(
            format!("{} then {}", pair[0][1], pair[1][0]),
            "needs ordered and disjoint intervals",
        )
    }
}
