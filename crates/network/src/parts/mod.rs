//! One run on several threads: parts of the scenario simulate windows of time in turn, and exchange packets in between.
//!
//! Packets from other parts are processed by the keys that order them on one thread: time, rank and link. Results are
//! therefore equal on any number of threads, except for the number of events. The windows are explained in `windows.rs`,
//! the division in `plan.rs`.

mod arriving;
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
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two calls that report the progress.
const BETWEEN_REPORTS: Duration = Duration::from_millis(20);

/// Time that one thread takes to simulate all parts in turn, by which the speed-up with several threads is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Time for all parts.
    pub all: Duration,
    /// Time for the parts of the thread that takes longest in each turn.
    pub longest: Duration,
}

/// Mail between parts: two slots, for turns with even and odd numbers, for each pair of sender and receiver.
struct Post {
    parts: usize,
    slots: Vec<Slot>,
}

#[derive(Default)]
struct Slot {
    /// Whether the mail is waiting for its receiver.
    is_full: AtomicBool,
    mail: Mutex<Mail>,
}

impl Post {
    fn new(parts: usize) -> Post {
        let slots = (0..2 * parts * parts).map(|_| Slot::default());
        Post {
            parts,
            slots: slots.collect(),
        }
    }

    /// Returns the slot for the mail that `from` sends to `to` in a turn.
    fn slot(&self, turn: u64, from: usize, to: usize) -> &Slot {
        let half = (turn % 2) as usize;
        &self.slots[(half * self.parts + from) * self.parts + to]
    }

    /// Leaves a mail for its receiver, and returns an empty one in its place.
    fn send(&self, turn: u64, from: usize, to: usize, mail: &mut Mail) {
        let slot = self.slot(turn, from, to);
        let mut own = slot.mail.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *own, mail);
        slot.is_full.store(true, Ordering::Release);
    }

    /// Gives a part all mails that were sent to it in a turn.
    fn deliver(&self, turn: u64, part: &mut Part) {
        for from in 0..self.parts {
            let slot = self.slot(turn, from, part.number);
            if slot.is_full.load(Ordering::Acquire) {
                let mut mail = slot.mail.lock().unwrap_or_else(PoisonError::into_inner);
                part.take(from, turn, &mut mail);
                slot.is_full.store(false, Ordering::Release);
            }
        }
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
) -> Option<(Run<(), Ip>, Balance)> {
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
    let (mut parts, mut balance) = (vec![], Balance::default());
    for of_thread in ran {
        match of_thread {
            Ok((of_thread, its_balance)) => {
                parts.extend(of_thread);
                balance = its_balance;
            }
            Err(Ended::Memory(limit)) => resume_unwind(Box::new(limit)),
            Err(Ended::Defect(line)) => panic!("{line}"),
        }
    }
    if parts.len() < plan.threads.len() {
        return None;
    }
    joined(&whole, parts).map(|run| (run, balance))
}

/// Simulates the parts of one thread, and returns them at the end of the run with the times that they took; returns none
/// if the run ends early.
fn simulated(
    whole: &Whole<'_>,
    (post, rounds): (&Post, &Rounds),
    (thread, count): (usize, usize),
    on_progress: &mut dyn FnMut(f64) -> bool,
) -> (Vec<Part>, Balance) {
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
    // Rounds in which nothing happens are skipped; turns are those that remain.
    let (mut round, mut turn) = (0, 0);
    let mut balance = Balance::default();
    let mut spent = vec![Duration::ZERO; threads.len()];
    loop {
        let mut next = all - 1;
        for part in &mut parts {
            let number = part.number;
            let began = (count == 1).then(Instant::now);
            post.deliver(turn + 1, part);
            let until = windows.end(number, round) - 1;
            if until >= 0 {
                part.advance(Time(until.min(i128::from(duration)) as u64));
                for (to, mail) in part
                    .mails(part_of)
                    .iter_mut()
                    .enumerate()
                    .filter(|(_, mail)| !mail.is_empty())
                {
                    mail.close();
                    if let Some(first) = mail.first_arrival() {
                        next = windows.round_of(to, first).min(next);
                    }
                    post.send(turn, number, to, mail);
                }
            }
            next = windows.round_of(number, part.next_due()).min(next);
            spent[threads[number]] += began.map_or(Duration::ZERO, |began| began.elapsed());
        }
        balance.all += spent.iter().sum::<Duration>();
        balance.longest += spent.iter().copied().max().unwrap_or_default();
        spent.fill(Duration::ZERO);
        if thread == 0 && reported.elapsed() >= BETWEEN_REPORTS {
            reported = Instant::now();
            if !on_progress(round as f64 / all as f64) {
                rounds.end_with(turn);
            }
        }
        let Some(next) = rounds.wait(turn, next) else {
            return (vec![], balance);
        };
        turn += 1;
        round = next.max(round + 1);
        if round >= all {
            break;
        }
    }
    for part in &mut parts {
        post.deliver(turn + 1, part);
    }
    (parts, balance)
}
