//! Rewrites `tests/golden/`: writes this engine's results for the kept scenarios, and adds scenarios with new names.
//!
//! Results change only if the engine number was raised.

mod access;
mod aqm;
mod arriving;
#[path = "../../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;
mod controls;
mod drawn;
mod frames;
mod lines;
mod marks;
mod named;
mod options;
mod paths;
mod proxies;
mod starts;

use common::compare::{findings, MANY_EVENTS};
use common::golden::{difference, entries, results, run_all, write_entries, write_results, Entry, Pinned};
use longpipe_network::scenario::{Engine, Scenario};
use longpipe_network::ENGINE;
use std::collections::BTreeSet;
use std::process::ExitCode;

/// Scenarios with unique names.
#[derive(Default)]
struct Book {
    names: BTreeSet<String>,
    entries: Vec<Entry>,
}

impl Book {
    /// Returns the number of names that start with this prefix.
    fn beginning(&self, with: &str) -> usize {
        self.names.iter().filter(|name| name.starts_with(with)).count()
    }

    /// Adds a scenario for which all engines and shortcuts agree. Returns whether its name was unused.
    fn add(&mut self, name: &str, scenario: &Scenario) -> bool {
        let new = self.names.insert(name.to_owned());
        if new {
            let entry = Entry::new(name, scenario);
            let found = findings(&entry.scenario(Engine::Trains), entry.seed, MANY_EVENTS);
            assert!(found.is_empty(), "{name}: {found:#?}");
            self.entries.push(entry);
        }
        new
    }
}

fn main() -> ExitCode {
    let mut book = Book::default();
    for entry in entries() {
        book.names.insert(entry.name.clone());
        book.entries.push(entry);
    }
    let (before, kept) = (book.entries.len(), results());
    if kept.engine > ENGINE {
        eprintln!("the results are of engine {}, this is engine {ENGINE}", kept.engine);
        return ExitCode::FAILURE;
    }
    paths::add_all(&mut book);
    named::add_all(&mut book);
    proxies::add_all(&mut book);
    drawn::add_all(&mut book);
    frames::add_all(&mut book);
    marks::add_all(&mut book);
    aqm::add_all(&mut book);
    controls::add_all(&mut book);
    starts::add_all(&mut book);
    lines::add_all(&mut book);
    arriving::add_all(&mut book);
    access::add_all(&mut book);
    let (mut now, mut refused, mut changed) = (vec![], vec![], 0);
    for outcome in run_all(&book.entries) {
        match outcome {
            Err(differ) => refused.push(differ),
            Ok(pinned) => now.push(pinned),
        }
    }
    for pinned in &now {
        let was: Option<&Pinned> = kept.pinned.get(&pinned.name);
        if let Some(what) = was.and_then(|was| difference(was, pinned)) {
            changed += 1;
            if kept.engine == ENGINE {
                refused.push(format!("{}: {what}", pinned.name));
            }
        }
    }
    if !refused.is_empty() {
        eprintln!(
            "{}\nnothing was written: engine {ENGINE} has other results",
            refused.join("\n")
        );
        return ExitCode::FAILURE;
    }
    if book.entries.len() > before {
        write_entries(&book.entries);
    }
    write_results(ENGINE, &now);
    println!(
        "engine {ENGINE}: {} entries, {} of them new, {changed} with other results",
        now.len(),
        now.len() - before
    );
    ExitCode::SUCCESS
}
