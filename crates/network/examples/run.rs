//! Runs a resolved scenario without Python: `run FILE [SEED [TIMES [THREADS]]]` prints the delivered data, the number of
//! events and the state hash. `THREADS` is a number, or a number after `parts=` for one thread that simulates the parts
//! of this number of threads in turn; the times for all parts, and for those of the thread that takes longest in each
//! turn, are then printed, too.

use longpipe_network::simulation::{Divided, Threads};
use longpipe_network::{Scenario, Simulation};

/// Returns how a run uses threads.
fn threads(argument: &str) -> Result<Threads, std::num::ParseIntError> {
    Ok(match argument.strip_prefix("parts=") {
        Some(parts) => Threads::InTurn(parts.parse()?),
        None => Threads::UpTo(argument.parse()?),
    })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("needs the file of a resolved scenario")?;
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let times = arguments.next().map_or(Ok(1), |times| times.parse::<u32>())?;
    let threads = arguments.next().map_or(Ok(Threads::UpTo(1)), |text| threads(&text))?;
    let scenario = Scenario::from_json(&std::fs::read_to_string(file)?)?;
    for _ in 0..times {
        let began = std::time::Instant::now();
        let mut times = String::new();
        let mut simulation = match threads {
            Threads::UpTo(1) => {
                let mut simulation = Simulation::new(&scenario, seed)?;
                simulation.run();
                simulation
            }
            threads => match Simulation::divided(&scenario, seed, threads, &mut |_| true)? {
                Divided::Ended(simulation, balance) => {
                    if matches!(threads, Threads::InTurn(_)) {
                        let [all, longest] = [balance.all, balance.longest].map(|time| time.as_secs_f64());
                        times = format!(", {all:.4} s for all parts, {longest:.4} s for the longest");
                    }
                    simulation
                }
                Divided::Interrupted => return Err("interrupted".into()),
                Divided::Sequential(reason) => return Err(reason.into()),
            },
        };
        let seconds = began.elapsed().as_secs_f64();
        let report = simulation.report()?;
        let flows = scenario.flows.iter().zip(&report.flows);
        let packets: u64 = flows
            .map(|(flow, done)| done.delivered_bytes / u64::from(flow.tcp.mss_bytes))
            .sum();
        println!(
            "{packets} packets, {seconds:.4} s, {} events, {:016x}{times}",
            report.events, report.state_hash
        );
    }
    Ok(())
}
