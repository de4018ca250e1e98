//! Limits on the time until a guest must send its next message.
//!
//! The limit counts the CPU time of the guest's processes, so that a run does not fail because the machine is busy. A
//! second, larger limit counts real time, because a guest that waits forever uses no CPU time.

use std::time::{Duration, Instant};

/// Maximum CPU time and real time of a wait for a guest.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum CPU time of the guest's processes.
    pub cpu: Duration,
    /// Maximum real time.
    pub real: Duration,
}

/// A wait for a message of a guest, which begins when no message has arrived for some time.
#[derive(Debug)]
pub struct Wait {
    group: u32,
    began: Instant,
    began_cpu: Duration,
}

impl Wait {
    /// Begins a wait for the processes of a group.
    pub fn new(group: u32) -> Wait {
        Wait {
            group,
            began: Instant::now(),
            began_cpu: cpu_of_group(group),
        }
    }

    /// Returns the limit that the wait exceeds, in words, or None.
    pub fn exceeded(&self, limits: Limits) -> Option<String> {
        if cpu_of_group(self.group).saturating_sub(self.began_cpu) > limits.cpu {
            return Some(format!("{} s of CPU time", limits.cpu.as_secs_f64()));
        }
        (self.began.elapsed() > limits.real).then(|| format!("{} s", limits.real.as_secs_f64()))
    }
}

/// Returns the CPU time of all processes of a group, including their finished children.
fn cpu_of_group(group: u32) -> Duration {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Duration::ZERO;
    };
    let ticks: u64 = processes
        .flatten()
        .filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok())
        .filter_map(|stat| ticks_in_group(&stat, group))
        .sum();
    Duration::from_secs_f64(ticks as f64 / ticks_per_second())
}

/// Parses /proc/PID/stat (proc(5)). Returns utime + stime + cutime + cstime [clock tick] if the process is in the group.
fn ticks_in_group(stat: &str, group: u32) -> Option<u64> {
    // The program's name in parentheses may contain spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    if number(2)? != u64::from(group) {
        return None;
    }
    (11..15).map(number).sum()
}

fn ticks_per_second() -> f64 {
    // SAFETY: the call has no preconditions.
    #[allow(unsafe_code)]
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    ticks.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};

    /// Starts a shell in its own process group.
    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        command.spawn().expect("a shell starts")
    }

    fn end(mut child: Child) {
        child.kill().expect("the shell runs");
        child.wait().expect("the shell ends");
    }

    #[test]
    fn a_group_that_computes_exceeds_the_limit_of_cpu_time() {
        let child = shell("while :; do :; done");
        let limits = Limits {
            cpu: Duration::from_millis(100),
            real: Duration::from_secs(3600),
        };
        let wait = Wait::new(child.id());
        let began = Instant::now();
        let exceeded = loop {
            if let Some(line) = wait.exceeded(limits) {
                break line;
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "100 ms of CPU time within a minute"
            );
            std::thread::sleep(Duration::from_millis(20));
        };
        end(child);
        assert_eq!(exceeded, "0.1 s of CPU time");
    }

    #[test]
    fn a_group_that_sleeps_exceeds_only_the_limit_of_real_time() {
        let child = shell("exec sleep 60");
        let limits = Limits {
            cpu: Duration::from_secs(1),
            real: Duration::from_millis(200),
        };
        let wait = Wait::new(child.id());
        std::thread::sleep(Duration::from_millis(250));
        let exceeded = wait.exceeded(limits);
        end(child);
        assert_eq!(exceeded.as_deref(), Some("0.2 s"));
    }

    #[test]
    fn the_name_of_a_program_may_contain_spaces_and_parentheses() {
        let stat = "7 (a ) b) S 1 42 42 0 -1 4194560 100 0 0 0 11 12 13 14 20 0 1";
        assert_eq!(ticks_in_group(stat, 42), Some(50));
        assert_eq!(ticks_in_group(stat, 43), None);
    }
}
