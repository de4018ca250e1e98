//! Draws scenarios by number, runs each of them in every way, and continues after failures. Failures are counted by
//! kind, and a few scenarios of each kind are kept as small files.
//!
//! ```text
//! soak [--framing aal5|ip] [--links still|move|reroute] [--from SEED] [--cases N] [--threads N] [--keep N] [--looks N] [--out FOLDER]
//!      [--patience SECONDS]
//! soak --describe|--show [--framing aal5|ip] [--links still|move|reroute] [--from SEED] [--cases N]
//! soak --files FOLDER [--looks N --out FOLDER]
//! ```

#[path = "../../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;
mod coverage;

use common::any_graph::rerouting::any_rerouted;
use common::any_graph::time_varying::any_time_varying;
use common::any_graph::{any_scenario, with_ends};
use common::compare::{findings, Finding, MANY_EVENTS};
use common::kept::Kept;
use common::smaller::{smaller, FEW_EVENTS};
use common::thread_time::ThreadTime;
use longpipe_events::mix;
use longpipe_network::scenario::Framing;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Default CPU time after which a run is considered endless.
const PATIENCE: Duration = Duration::from_secs(60);

/// How links vary during a run.
#[derive(Clone, Copy)]
enum Links {
    Still,
    Move,
    /// Route changes, and time-varying links; IP packets only.
    Reroute,
}

struct Options {
    framings: Vec<Framing>,
    links: Links,
    from: u64,
    cases: u64,
    threads: u64,
    keep: usize,
    looks: usize,
    out: Option<PathBuf>,
    patience: Duration,
    /// Only prints statistics of the scenarios.
    describe: bool,
    /// Only writes the scenarios.
    show: bool,
    /// Folder with scenarios to run instead of random ones.
    files: Option<PathBuf>,
}

impl Options {
    fn read() -> Options {
        let mut options = Options {
            framings: vec![Framing::Aal5, Framing::Ip],
            links: Links::Still,
            from: 0,
            cases: 10_000,
            threads: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
            keep: 2,
            looks: 3000,
            out: None,
            patience: PATIENCE,
            describe: false,
            show: false,
            files: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match &word[..] {
                "--describe" => {
                    options.describe = true;
                    continue;
                }
                "--show" => {
                    options.show = true;
                    continue;
                }
                _ => {}
            }
            let value = words.next().unwrap_or_else(|| panic!("{word} needs a value"));
            let number = || value.parse::<u64>().unwrap_or_else(|_| panic!("{word} needs a number"));
            match (&word[..], &value[..]) {
                ("--framing", "aal5") => options.framings = vec![Framing::Aal5],
                ("--framing", "ip") => options.framings = vec![Framing::Ip],
                ("--links", "still") => options.links = Links::Still,
                ("--links", "move") => options.links = Links::Move,
                ("--links", "reroute") => options.links = Links::Reroute,
                ("--from", _) => options.from = number(),
                ("--cases", _) => options.cases = number(),
                ("--threads", _) => options.threads = number().max(1),
                ("--keep", _) => options.keep = number() as usize,
                ("--patience", _) => options.patience = Duration::from_secs(number()),
                ("--looks", _) => options.looks = number() as usize,
                ("--files", _) => options.files = Some(PathBuf::from(value)),
                ("--out", _) => options.out = Some(PathBuf::from(value)),
                _ => panic!("{word} {value}: no such option"),
            }
        }
        if matches!(options.links, Links::Reroute) {
            options.framings.retain(|&framing| framing == Framing::Ip);
        }
        options
    }
}

/// Returns the scenario and seed for a number.
fn drawn(framing: Framing, links: Links, number: u64) -> Kept {
    let mut bytes = [0; 32];
    for (word, bytes) in bytes.chunks_exact_mut(8).enumerate() {
        bytes.copy_from_slice(&mix(mix(number) ^ word as u64).to_le_bytes());
    }
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let drawn = match links {
        Links::Still => any_scenario(framing).boxed(),
        Links::Move => any_time_varying(framing).boxed(),
        Links::Reroute => any_rerouted().boxed(),
    };
    let tree = with_ends(drawn).new_tree(&mut runner);
    let scenario = tree.expect("nothing that is drawn is refused").current();
    Kept {
        seed: mix(number),
        scenario,
    }
}

/// Results so far for each kind: the number of cases, and descriptions of the cases kept.
#[derive(Default)]
struct Tally {
    failed: u64,
    kinds: BTreeMap<String, (u64, usize)>,
}

struct Soak {
    options: Options,
    framing: Framing,
    next: AtomicU64,
    tally: Mutex<Tally>,
    /// Number of the case that each thread runs, and the time since its start.
    at: Vec<Mutex<Option<(u64, ThreadTime)>>>,
}

impl Soak {
    fn work(&self, thread: usize) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.options.from + self.options.cases {
                break;
            }
            self.set(thread, Some((number, ThreadTime::start())));
            let kept = drawn(self.framing, self.options.links, number);
            let found = findings(&kept.scenario, kept.seed, MANY_EVENTS);
            if !found.is_empty() {
                self.note(thread, number, &kept, &found);
            }
            self.set(thread, None);
        }
    }

    fn set(&self, thread: usize, at: Option<(u64, ThreadTime)>) {
        *self.at[thread].lock().expect("no thread panics") = at;
    }

    /// Counts each kind of finding in a case, and keeps the first of each kind.
    fn note(&self, thread: usize, number: u64, kept: &Kept, found: &[Finding]) {
        let mut tally = self.tally.lock().expect("no thread panics");
        tally.failed += 1;
        for finding in found {
            tally.kinds.entry(finding.kind.clone()).or_default().0 += 1;
        }
        let kind = &found[0].kind;
        let (_, files) = tally.kinds.entry(kind.clone()).or_default();
        if *files == self.options.keep {
            return;
        }
        *files += 1;
        let file = *files;
        drop(tally);
        self.set(thread, None);
        self.keep(number, kept, kind, file);
    }

    /// Writes the smallest scenario that still fails in the same way.
    fn keep(&self, number: u64, kept: &Kept, kind: &str, file: usize) {
        let Some(out) = &self.options.out else {
            return println!("{kind}: number {number}");
        };
        let min = smaller(kept, self.options.looks, &mut |kept| has_kind(kept, kind).is_some());
        let detail = has_kind(&min, kind).map_or(String::new(), |finding| finding.detail);
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let framing = if self.framing == Framing::Aal5 { "aal5" } else { "ip" };
        let name = format!("{framing}_{}_{file}.json", kind.chars().map(plain).collect::<String>());
        min.write(&out.join(&name)).expect("the folder can be written to");
        println!(
            "{name}: number {number}, {} nodes, {} links, {} flows, {} sources\n  {kind}: {detail}",
            min.scenario.nodes.len(),
            min.scenario.links.len(),
            min.scenario.flows.len(),
            min.scenario.vbr.len()
        );
    }

    /// Waits for all threads. Returns whether all of them ended.
    fn watch(&self, begin: Instant) -> bool {
        let last = self.options.from + self.options.cases;
        let mut last_report = begin;
        loop {
            std::thread::sleep(Duration::from_millis(20));
            let busy: Vec<(u64, ThreadTime)> = self
                .at
                .iter()
                .filter_map(|at| at.lock().expect("no thread panics").clone())
                .collect();
            if let Some((number, _)) = busy.iter().find(|(_, since)| since.elapsed() > self.options.patience) {
                println!("case {number} does not end");
                return false;
            }
            let next = self.next.load(Ordering::Relaxed);
            if next >= last + self.options.threads {
                return true;
            }
            if last_report.elapsed() > Duration::from_secs(30) {
                last_report = Instant::now();
                println!(
                    "... {} cases, {} failed",
                    next - self.options.from,
                    self.tally.lock().expect("no thread panics").failed
                );
            }
        }
    }
}

/// Runs the scenarios in a folder, and rewrites those that fail in a smaller form. Returns the number of failures.
fn run_files(folder: &Path, options: &Options) -> u64 {
    let mut failed = 0;
    let entries = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").path());
    let mut paths: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    paths.sort();
    for path in paths {
        let kept = Kept::read(&path);
        let found = findings(&kept.scenario, kept.seed, MANY_EVENTS);
        let kinds: Vec<&str> = found.iter().map(|finding| &finding.kind[..]).collect();
        println!(
            "{}: {}",
            path.display(),
            if kinds.is_empty() {
                "agrees".to_owned()
            } else {
                kinds.join("; ")
            }
        );
        failed += u64::from(!found.is_empty());
        if let (Some(out), Some(name)) = (&options.out, path.file_name()) {
            let min = match found.first() {
                Some(finding) => smaller(&kept, options.looks, &mut |kept| {
                    has_kind(kept, &finding.kind).is_some()
                }),
                None => kept,
            };
            min.write(&out.join(name)).expect("the folder can be written to");
        }
    }
    failed
}

/// Returns a finding of the given kind in a run with few events, if there is one.
fn has_kind(kept: &Kept, kind: &str) -> Option<Finding> {
    let found = findings(&kept.scenario, kept.seed, FEW_EVENTS);
    found.into_iter().find(|finding| finding.kind == kind)
}

fn main() {
    let options = Options::read();
    if let Some(folder) = &options.files {
        std::process::exit(i32::from(run_files(folder, &options) > 0));
    }
    let framings = options.framings;
    let mut failed = 0;
    for framing in framings {
        let options = Options::read();
        let numbers = options.from..options.from + options.cases;
        if options.show {
            numbers.for_each(|number| println!("{}", drawn(framing, options.links, number).line()));
            continue;
        }
        if options.describe {
            coverage::describe(numbers.map(|number| drawn(framing, options.links, number)));
            continue;
        }
        if let Some(out) = &options.out {
            std::fs::create_dir_all(out).expect("the folder can be made");
        }
        let begin = Instant::now();
        let soak = Soak {
            framing,
            next: AtomicU64::new(options.from),
            tally: Mutex::default(),
            at: (0..options.threads).map(|_| Mutex::default()).collect(),
            options,
        };
        let ended = std::thread::scope(|scope| {
            for thread in 0..soak.at.len() {
                let soak = &soak;
                scope.spawn(move || soak.work(thread));
            }
            let ended = soak.watch(begin);
            if !ended {
                std::process::exit(2);
            }
            ended
        });
        assert!(ended);
        let tally = soak.tally.into_inner().expect("no thread panics");
        println!(
            "{framing:?}: {} of {} cases failed, in {:.1} s",
            tally.failed,
            soak.options.cases,
            begin.elapsed().as_secs_f64()
        );
        let mut kinds: Vec<_> = tally.kinds.into_iter().collect();
        kinds.sort_by_key(|&(_, (cases, _))| std::cmp::Reverse(cases));
        for (kind, (cases, _)) in kinds {
            println!("{cases:>8}  {kind}");
        }
        failed += tally.failed;
    }
    if failed > 0 {
        std::process::exit(1);
    }
}
