//! Identifies processes of this machine by start time and PID namespace, because process ids are reused.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;

use pensa_core::run::Process;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};

/// Identifies a process, so that it can be recognised later.
pub fn process(pid: u32) -> Process {
    Process { pid: i64::from(pid), born: born(i64::from(pid)) }
}

/// Whether a process is still running.
pub fn is_alive(process: &Process) -> bool {
    match &process.born {
        // Records of older versions have no namespace; they mean this one.
        Some(known) => born(process.pid)
            .is_some_and(|born| born == *known || born.rsplit_once(' ').is_some_and(|(before, _)| before == known)),
        // Ids below 1 mean process groups.
        None => {
            let pid = i32::try_from(process.pid).ok().filter(|pid| *pid > 0).and_then(Pid::from_raw);
            pid.is_some_and(|pid| test_kill_process(pid).is_ok())
        }
    }
}

/// Whether a process has certainly ended. False for processes of another PID namespace, which cannot be seen from here.
pub fn is_gone(process: &Process) -> bool {
    let theirs = process.born.as_ref().and_then(|born| born.split(' ').nth(2));
    let is_elsewhere = theirs.is_some_and(|theirs| namespace().is_none_or(|ours| ours != theirs));
    !is_elsewhere && !is_alive(process)
}

/// The PID namespace of this process.
fn namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.to_owned())
}

/// When a process started, as "boot id, clock ticks since boot, PID namespace". `None` if it has ended, even if it has
/// not been reaped yet.
fn born(pid: i64) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain any characters.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let ticks = fields.nth(18)?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    let namespace = namespace().map(|namespace| format!(" {namespace}")).unwrap_or_default();
    Some(format!("{} {ticks}{namespace}", boot.trim()))
}

/// The process group and session of a running process.
fn group_and_session(pid: i64) -> Option<(i64, i64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let (group, session) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    (!matches!(state, "Z" | "X" | "x")).then_some((group, session))
}

fn all() -> impl Iterator<Item = i64> {
    let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The processes of a group.
pub(crate) fn members(group: i64) -> impl Iterator<Item = i64> {
    all().filter(move |pid| group_and_session(*pid).is_some_and(|(of, _)| of == group))
}

/// Whether a process group has running members in our session.
pub fn has_members(group: i64) -> bool {
    let ours = group_and_session(i64::from(std::process::id())).map(|(_, session)| session);
    all().filter_map(group_and_session).any(|(of, session)| of == group && Some(session) == ours)
}

/// The processes that started after `supervisor` with a variable in their environment. Session leaders and group
/// leaders of their own session are left out.
pub(crate) fn started_after(supervisor: &Process, name: &str, value: &str) -> impl Iterator<Item = i64> {
    let since = supervisor.born.as_deref().and_then(parse_born);
    all().filter(move |pid| {
        let is_later = || {
            let (born, since) = (born(*pid)?, since?);
            let (machine, ticks) = parse_born(&born)?;
            Some(machine == since.0 && ticks >= since.1)
        };
        let has_session = || group_and_session(*pid).is_none_or(|(group, session)| group == session);
        has_variable(*pid, name, value) && is_later() == Some(true) && !has_session()
    })
}

/// Parses a start time into boot id and namespace, and ticks since boot.
fn parse_born(born: &str) -> Option<((&str, &str), u64)> {
    let mut words = born.split(' ');
    let (boot, ticks) = (words.next()?, words.next()?.parse().ok()?);
    Some(((boot, words.next().unwrap_or_default()), ticks))
}

/// Whether a process of this user started with a variable in its environment.
pub(crate) fn has_variable(pid: i64, name: &str, value: &str) -> bool {
    variable(pid, name).is_some_and(|own| own == value)
}

/// The value of a variable in the environment that a process of this user started with.
pub(crate) fn variable(pid: i64, name: &str) -> Option<OsString> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut values = bytes.split(|byte| *byte == 0).filter_map(|pair| {
        let value = pair.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(OsStr::from_bytes(value).to_owned())
    });
    values.next().filter(|value| !value.is_empty())
}

/// Refuses ids that would signal more than one process: 0 and below mean groups, and group 1 means every process.
fn checked_pid(pid: i64) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw)
}

/// Sends a signal to one process. Returns whether it was sent.
pub(crate) fn signal(pid: i64, signal: Signal) -> bool {
    checked_pid(pid).is_some_and(|pid| kill_process(pid, signal).is_ok())
}

/// Sends a signal to a process group other than our own. Returns whether it was sent.
pub fn signal_group(group: i64, signal: Signal) -> bool {
    let is_ours = group_and_session(i64::from(std::process::id())).is_none_or(|(ours, _)| ours == group);
    checked_pid(group).is_some_and(|group| !is_ours && kill_process_group(group, signal).is_ok())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn ids_that_mean_more_than_one_process_are_never_signalled() {
        for pid in [1, 0, -1, -2, i64::MIN, i64::MAX] {
            assert!(checked_pid(pid).is_none(), "{pid}");
        }
        assert_eq!(checked_pid(2).map(|pid| pid.as_raw_nonzero().get()), Some(2));
    }

    #[test]
    fn a_process_is_alive_until_it_exits_and_reused_ids_do_not_count() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("runs");
        let known = process(child.id());
        assert!(is_alive(&known));
        assert!(is_alive(&Process { born: None, ..known.clone() }));
        assert!(!is_alive(&Process { born: Some("another 1".into()), ..known.clone() }));
        assert!(is_alive(&process(std::process::id())));
        let born = known.born.clone().expect("a birth");
        let (before, namespace) = born.rsplit_once(' ').expect("a namespace");
        let with = |born: String| Process { born: Some(born), ..known.clone() };
        assert!(is_alive(&with(before.to_owned())), "recorded by a version without namespaces");
        let elsewhere = with(format!("{before} 1{namespace}"));
        assert!(!is_alive(&elsewhere) && !is_gone(&elsewhere) && !is_gone(&known));
        child.kill().expect("killed");
        while is_alive(&known) {
            std::thread::yield_now();
        }
        child.wait().expect("reaped");
        assert!(is_gone(&known) && is_gone(&with(before.to_owned())) && !is_gone(&elsewhere));
        for pid in [i64::MAX, 0, -1, i64::from(i32::MIN)] {
            let unknown = Process { pid, born: None };
            assert!(!is_alive(&known) && !is_alive(&unknown) && is_gone(&unknown));
        }
    }
}
