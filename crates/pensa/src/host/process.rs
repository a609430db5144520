//! Processes of this machine, told from others that had the same number before.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

use pensa_core::run::Process;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};

/// A process as it can be found again.
pub(crate) fn process(pid: u32) -> Process {
    Process { pid: i64::from(pid), born: born(i64::from(pid)) }
}

/// Whether it is still there.
pub(crate) fn is_alive(process: &Process) -> bool {
    match &process.born {
        // Those that were noted without a namespace are of this one.
        Some(known) => born(process.pid)
            .is_some_and(|born| born == *known || born.rsplit_once(' ').is_some_and(|(before, _)| before == known)),
        // A number that this machine cannot have is nobody's.
        None => {
            i32::try_from(process.pid).ok().and_then(Pid::from_raw).is_some_and(|pid| test_kill_process(pid).is_ok())
        }
    }
}

/// Whether it is certain that it is not there: the processes of another namespace cannot be seen from here.
pub(crate) fn is_gone(process: &Process) -> bool {
    let theirs = process.born.as_ref().and_then(|born| born.split(' ').nth(2));
    let is_elsewhere = theirs.is_some_and(|theirs| namespace().is_none_or(|ours| ours != theirs));
    !is_elsewhere && !is_alive(process)
}

/// Which numbers of processes mean the same as ours.
fn namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.to_owned())
}

/// When a process began: which start of the machine it was, the time since then, and where its number means it. None
/// if it is gone, also if nobody has asked how it ended.
fn born(pid: i64) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let told = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name, which may hold anything.
    let (_, rest) = told.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let ticks = fields.nth(18)?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    let namespace = namespace().map(|namespace| format!(" {namespace}")).unwrap_or_default();
    Some(format!("{} {ticks}{namespace}", boot.trim()))
}

/// What the machine tells of a process that has not ended: its group and its session.
fn group_and_session(pid: i64) -> Option<(i64, i64)> {
    let told = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = told.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let (group, session) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    (!matches!(state, "Z" | "X" | "x")).then_some((group, session))
}

fn all() -> impl Iterator<Item = i64> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether anybody of a process group in our own session is still there.
pub(crate) fn has_members(group: i64) -> bool {
    let ours = group_and_session(i64::from(std::process::id())).map(|(_, session)| session);
    all().filter_map(group_and_session).any(|(of, session)| of == group && Some(session) == ours)
}

/// A process group, but no session of its own, with somebody in it who began with this variable in the environment.
pub(crate) fn group_with(name: &str, value: &str) -> Option<Process> {
    let wanted = format!("{name}={value}");
    all().find_map(|pid| {
        let (group, session) = group_and_session(pid)?;
        let bytes = (group != session).then(|| fs::read(format!("/proc/{pid}/environ")).ok()).flatten()?;
        let has_it = bytes.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes());
        has_it.then_some(Process { pid: group, born: None })
    })
}

/// Sends a signal to the process group that a process leads.
pub(crate) fn end_group(leader: &Process, signal: Signal) {
    if let Some(pid) = i32::try_from(leader.pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, signal);
    }
}

/// A variable of the environment in which a process of this user began.
pub(crate) fn variable_of(process: &Process, name: &str) -> Option<OsString> {
    let bytes = fs::read(format!("/proc/{}/environ", process.pid)).ok()?;
    let mut values = bytes.split(|byte| *byte == 0).filter_map(|pair| {
        let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(OsStr::from_bytes(value).to_owned())
    });
    values.next().filter(|value| !value.is_empty() && is_alive(process))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_is_alive_until_it_has_ended_and_no_other_is_taken_for_it() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("runs");
        let known = process(child.id());
        assert!(is_alive(&known));
        assert!(is_alive(&Process { born: None, ..known.clone() }));
        assert!(!is_alive(&Process { born: Some("another 1".into()), ..known.clone() }));
        assert!(is_alive(&process(std::process::id())));
        let born = known.born.clone().expect("a birth");
        let (before, namespace) = born.rsplit_once(' ').expect("a namespace");
        let with = |born: String| Process { born: Some(born), ..known.clone() };
        assert!(is_alive(&with(before.to_owned())), "as it was noted before there were namespaces");
        let elsewhere = with(format!("{before} 1{namespace}"));
        assert!(!is_alive(&elsewhere) && !is_gone(&elsewhere) && !is_gone(&known));
        child.kill().expect("killed");
        while is_alive(&known) {
            std::thread::yield_now();
        }
        child.wait().expect("reaped");
        assert!(is_gone(&known) && is_gone(&with(before.to_owned())) && !is_gone(&elsewhere));
        assert!(!is_alive(&known) && !is_alive(&Process { pid: i64::MAX, born: None }));
    }
}
