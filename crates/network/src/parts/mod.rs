//! One run on several threads: parts of the scenario simulate windows of time in turn, and exchange packets in between.
//!
//! Packets from other parts are processed by the keys that order them on one thread: time, rank and link. Results are
//! therefore equal on any number of threads, except for the number of events. The windows are explained in `windows.rs`,
//! the division in `plan.rs`.

mod part;
pub(crate) mod plan;
mod rounds;
mod windows;

use crate::defect::{guarded, Ended};
use crate::ip::leaving::Mail;
use crate::ip::Ip;
use crate::lookahead::guarantees::Guarantees;
use crate::run::Run;
use crate::scenario::topology::Topology;
use crate::scenario::Scenario;
use longpipe_events::{memory, Time};
use part::{joined, Part, Whole};
use plan::Plan;
use rounds::Rounds;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between two calls that report the progress.
const BETWEEN_REPORTS: Duration = Duration::from_millis(20);

/// Mail between parts: a slot for each round of a pair, sender and receiver.
struct Post {
    parts: usize,
    slots: Vec<Mutex<Mail>>,
}

impl Post {
    fn new(parts: usize) -> Post {
        let slots = (0..2 * parts * parts).map(|_| Mutex::default());
        Post {
            parts,
            slots: slots.collect(),
        }
    }

    /// Returns the slot for the mail that `from` sends to `to` in a round.
    fn slot(&self, round: u64, from: usize, to: usize) -> MutexGuard<'_, Mail> {
        let half = (round % 2) as usize;
        let slot = &self.slots[(half * self.parts + from) * self.parts + to];
        slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a scenario to its end by a plan, on at most `most` threads.
///
/// `on_progress` is invoked regularly with the elapsed fraction of the simulated time; if it returns false, the run ends,
/// and None is returned.
pub(crate) fn run(
    (scenario, topology, guarantees): (&Scenario, &Topology, &Guarantees),
    seed: u64,
    (plan, most): (&Plan, usize),
    on_progress: &mut dyn FnMut(f64) -> bool,
) -> Option<Run<(), Ip>> {
    let whole = Whole {
        scenario,
        topology,
        guarantees,
        seed,
        plan,
        destinations: Arc::new(plan.destinations.clone()),
    };
    let threads = plan.threads.iter().max().map_or(1, |last| last + 1).min(most);
    let (post, rounds) = (Post::new(plan.threads.len()), Rounds::new(threads));
    let limit = memory::left() / threads as u64;
    let work = |thread: usize, on_progress: &mut dyn FnMut(f64) -> bool| {
        let ran = guarded(limit, || {
            simulated(&whole, (&post, &rounds), (thread, threads), on_progress)
        });
        if ran.is_err() {
            rounds.give_up();
        }
        ran
    };
    let ran: Vec<_> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map(|thread| scope.spawn(move || work(thread, &mut |_| true)))
            .collect();
        let own = work(0, on_progress);
        let others = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).collect()
    });
    let mut parts = vec![];
    for of_thread in ran {
        match of_thread {
            Ok(of_thread) => parts.extend(of_thread),
            Err(Ended::Memory(limit)) => resume_unwind(Box::new(limit)),
            Err(Ended::Defect(line)) => panic!("{line}"),
        }
    }
    if parts.len() < plan.threads.len() {
        return None;
    }
    joined(&whole, parts)
}

/// Simulates the parts of one thread, and returns them at the end of the run; returns none if the run ends early.
fn simulated(
    whole: &Whole<'_>,
    (post, rounds): (&Post, &Rounds),
    (thread, count): (usize, usize),
    on_progress: &mut dyn FnMut(f64) -> bool,
) -> Vec<Part> {
    let Plan {
        windows,
        threads,
        hosts,
        ..
    } = whole.plan;
    let scenario = whole.scenario;
    let own = (0..threads.len()).filter(|&part| threads[part] % count == thread);
    let mut parts: Vec<Part> = own.map(|number| Part::new(whole, number)).collect();
    let part_of = |flow: crate::packets::Flow| {
        let first = scenario.flows[flow.index()].route[0];
        hosts[scenario.links[first].from] as usize
    };
    let (all, duration) = (windows.rounds(scenario.duration_ps), scenario.duration_ps);
    let mut reported = Instant::now();
    for round in 0..all {
        for part in &mut parts {
            for from in (0..threads.len()).filter(|_| round > 0) {
                part.take(&mut post.slot(round - 1, from, part.number));
            }
            let until = windows.end(part.number, round) - 1;
            if until < 0 {
                continue;
            }
            part.advance(Time(until.min(i128::from(duration)) as u64));
            let number = part.number;
            for (to, mail) in part.mails(part_of).iter_mut().enumerate() {
                if !mail.is_empty() {
                    std::mem::swap(&mut *post.slot(round, number, to), mail);
                }
            }
        }
        if thread == 0 && reported.elapsed() >= BETWEEN_REPORTS {
            reported = Instant::now();
            if !on_progress(round as f64 / all as f64) {
                rounds.end_with(round);
            }
        }
        if !rounds.wait(round) {
            return vec![];
        }
    }
    for part in &mut parts {
        for from in 0..threads.len() {
            part.take(&mut post.slot(all - 1, from, part.number));
        }
    }
    parts
}
