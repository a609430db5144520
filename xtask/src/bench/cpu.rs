//! Processor time that processes have used, in seconds.

use std::fs;

use crate::Result;

/// Linux counts processor time in hundredths of a second, whatever the kernel's own clock does.
const TICKS: f64 = 100.0;

/// That of one process.
pub(super) fn of_process(pid: u32) -> Result<f64> {
    Ok(Times::of(&pid.to_string())?.own)
}

/// That of a process and its children, also of those that have ended.
pub(super) fn of_family(pid: u32) -> Result<f64> {
    let names = fs::read_dir("/proc")?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let all = names.filter_map(|name| Times::of(&name).ok());
    let children: f64 = all.filter(|times| times.parent == pid).map(|times| times.own).sum();
    let parent = Times::of(&pid.to_string())?;
    Ok(parent.own + parent.ended + children)
}

/// Our own.
pub(super) fn of_self() -> Result<f64> {
    Ok(Times::of("self")?.own)
}

/// That of our own children that have ended.
pub(super) fn of_ended_children() -> Result<f64> {
    Ok(Times::of("self")?.ended)
}

/// That of everybody on this machine.
pub(super) fn of_machine() -> Result<f64> {
    let text = fs::read_to_string("/proc/stat")?;
    let ticks: Vec<f64> = text.lines().next().unwrap_or_default().split(' ').filter_map(|n| n.parse().ok()).collect();
    // All but what was idle, and what is counted as the user's already.
    let [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] = ticks[..] else {
        return Err("/proc/stat is not understood".into());
    };
    Ok((user + nice + system + irq + softirq + steal) / TICKS)
}

struct Times {
    parent: u32,
    own: f64,
    /// Of children that have ended.
    ended: f64,
}

impl Times {
    fn of(pid: &str) -> Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let text = fs::read_to_string(&path)?;
        // The name of the program comes before, in brackets, and may hold anything.
        let (_, rest) = text.rsplit_once(')').ok_or_else(|| format!("{path} is not understood"))?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number =
            |at: usize| -> Result<u32> { Ok(words.get(at).ok_or_else(|| format!("{path} is short"))?.parse()?) };
        let seconds = |at: usize| -> Result<f64> { Ok(f64::from(number(at)?) / TICKS) };
        Ok(Self { parent: number(1)?, own: seconds(11)? + seconds(12)?, ended: seconds(13)? + seconds(14)? })
    }
}
