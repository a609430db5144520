//! Reads the CPU time of processes, in seconds.

use std::fs;

use crate::Result;

/// Linux reports CPU time in hundredths of a second, on every kernel.
const TICKS: f64 = 100.0;

/// The CPU time of a process.
pub(super) fn of_process(pid: u32) -> Result<f64> {
    Ok(CpuTimes::of(&pid.to_string())?.own)
}

/// The CPU time of a process and its children, including exited ones.
pub(super) fn of_family(pid: u32) -> Result<f64> {
    let names = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let all = names.filter_map(|name| CpuTimes::of(&name).ok());
    let children: f64 = all.filter(|times| times.parent == pid).map(|times| times.own).sum();
    let parent = CpuTimes::of(&pid.to_string())?;
    Ok(parent.own + parent.ended + children)
}

/// The CPU time of this process.
pub(super) fn of_self() -> Result<f64> {
    Ok(CpuTimes::of("self")?.own)
}

/// The CPU time of our exited children.
pub(super) fn of_ended_children() -> Result<f64> {
    Ok(CpuTimes::of("self")?.ended)
}

/// The CPU time of all processes.
pub(super) fn of_machine() -> Result<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let ticks: Vec<f64> = text.lines().next().unwrap_or_default().split(' ').filter_map(|n| n.parse().ok()).collect();
    // Without idle times, and without guest time, which user time includes.
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks[..] else {
        return Err("/proc/stat is not understood".into());
    };
    Ok((user + nice + system + irq + softirq + steal) / TICKS)
}

struct CpuTimes {
    parent: u32,
    own: f64,
    /// The CPU time of exited children.
    ended: f64,
}

impl CpuTimes {
    fn of(pid: &str) -> Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let text = fs::read_to_string(&path)?;
        // The program's name in parentheses may contain any characters.
        let (_, rest) = text.rsplit_once(')').ok_or_else(|| format!("{path} is not understood"))?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number =
            |at: usize| -> Result<u32> { Ok(words.get(at).ok_or_else(|| format!("{path} is short"))?.parse()?) };
        let seconds = |at: usize| -> Result<f64> { Ok(f64::from(number(at)?) / TICKS) };
        Ok(Self { parent: number(1)?, own: seconds(11)? + seconds(12)?, ended: seconds(13)? + seconds(14)? })
    }
}
