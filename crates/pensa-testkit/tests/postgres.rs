//! The throw-away PostgreSQL does what the tests that stand on it take for granted, and leaves nothing behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, fs, thread};

use pensa_testkit::postgres::{Cluster, SHARED_CLUSTER, shared};
use pensa_testkit::{PATIENCE, eventually, reap};

#[test]
fn data_is_there_after_a_stop_and_after_a_kill() {
    let mut cluster = Cluster::start();
    let port = cluster.port();
    cluster.psql("postgres", "CREATE TABLE t (n int); INSERT INTO t VALUES (1)");
    cluster.restart();
    cluster.psql("postgres", "INSERT INTO t VALUES (2)");
    cluster.kill();
    cluster.restart();
    assert_eq!(cluster.psql("postgres", "SELECT n FROM t ORDER BY n"), "1\n2");
    assert_eq!(cluster.port(), port);
}

#[test]
fn a_durable_cluster_waits_for_the_disk_and_others_do_not() {
    let cared_for =
        |cluster: Cluster| cluster.psql("postgres", "SHOW fsync") + &cluster.psql("postgres", "SHOW full_page_writes");
    assert_eq!(cared_for(Cluster::durable()), "onon");
    assert_eq!(cared_for(Cluster::start()), "offoff");
}

#[test]
fn a_paused_cluster_stands_still_until_resumed() {
    let cluster = Cluster::start();
    let postmaster = cluster.pid();
    let all_stopped = || processes_of(postmaster).iter().all(|process| state(*process) == Some('T'));
    assert!(!all_stopped());
    cluster.pause();
    eventually("a server that stands still", || all_stopped().then_some(()));
    cluster.resume();
    assert_eq!(cluster.psql("postgres", "SELECT 1"), "1");
    cluster.pause();
    drop(cluster);
    assert_eq!(state(postmaster), None);
}

#[test]
fn a_promoted_standby_has_every_synchronous_commit() {
    let mut primary = Cluster::start();
    let standby = primary.standby("s1");
    assert_eq!(standby.psql("postgres", "SELECT pg_is_in_recovery()"), "t");
    primary.make_synchronous("s1");
    primary.psql("postgres", "CREATE TABLE t (n int)");
    for n in 0..20 {
        primary.psql("postgres", &format!("INSERT INTO t VALUES ({n})"));
    }
    primary.kill();
    standby.promote();
    assert_eq!(standby.psql("postgres", "SELECT count(*) FROM t"), "20");
    standby.psql("postgres", "INSERT INTO t VALUES (20)");
}

#[test]
fn a_standby_made_after_synchronous_replication_commits_alone_once_promoted() {
    let mut primary = Cluster::start();
    let first = primary.standby("s1");
    primary.make_synchronous("s1");
    let second = primary.standby("s2");
    primary.kill();
    drop(first);
    second.promote();
    second.psql("postgres", "CREATE TABLE t (n int)");
}

#[test]
fn databases_are_apart_and_gone_when_dropped() {
    let (one, other) = (shared().database(), shared().database());
    one.psql("CREATE TABLE t (n int)");
    assert!(other.psql_fails("SELECT n FROM t").contains(r#"relation "t" does not exist"#));
    let name = one.url.rsplit('/').next().expect("a name").to_owned();
    drop(one);
    assert_eq!(other.psql(&format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'")), "0");
}

/// How a process of ours ends that has started a cluster.
const ENDING: &str = "PENSA_TESTKIT_ENDING";
/// Where it tells the cluster's directory.
const TOLD: &str = "PENSA_TESTKIT_TOLD";

#[test]
fn a_cluster_ends_with_its_process_however_that_ends() {
    if let Ok(ending) = env::var(ENDING) {
        end_with_a_cluster(&ending);
    }
    for ending in ["return", "panic", "wait for a kill"] {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let told = scratch.path().join("told");
        let mut process = this_test_again(ending, &told);
        let data = eventually("a cluster in another process", || fs::read_to_string(&told).ok());
        let data = PathBuf::from(data);
        if ending == "wait for a kill" {
            process.kill().expect("a child of ours");
        }
        reap(&mut process);
        eventually(&format!("the end of {} after {ending}", data.display()), || {
            let gone = !data.parent().expect("a parent").exists() && !is_inhabited(&data);
            gone.then_some(())
        });
    }
}

fn this_test_again(ending: &str, told: &Path) -> Child {
    let mut again = Command::new(env::current_exe().expect("a path"));
    again.args(["--exact", "a_cluster_ends_with_its_process_however_that_ends"]);
    again.env(ENDING, ending).env(TOLD, told).env_remove(SHARED_CLUSTER);
    again.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("this test once more")
}

fn end_with_a_cluster(ending: &str) -> ! {
    // The thread that asks first is over before anybody uses the cluster, as with tests that share a process.
    let database = thread::spawn(|| shared().database()).join().expect("a database");
    let data = database.psql("SHOW data_directory");
    let told = PathBuf::from(env::var_os(TOLD).expect("a place to tell"));
    fs::write(told.with_extension("new"), data).expect("a file");
    fs::rename(told.with_extension("new"), &told).expect("a file");
    match ending {
        "return" => std::process::exit(0),
        "panic" => panic!("as a failing test does"),
        _ => thread::sleep(PATIENCE),
    }
    panic!("nobody killed us");
}

fn is_inhabited(dir: &Path) -> bool {
    let processes = fs::read_dir("/proc").expect("a list of processes").flatten();
    processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok()).any(|cwd| cwd.starts_with(dir))
}

/// A postmaster and its children.
fn processes_of(postmaster: u32) -> Vec<u32> {
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let all = fs::read_dir("/proc").expect("a list of processes").flatten().filter_map(number);
    let is_child = |pid: &u32| stat(*pid).is_some_and(|(_, parent)| parent == postmaster);
    all.filter(|pid| *pid == postmaster || is_child(pid)).collect()
}

fn state(pid: u32) -> Option<char> {
    stat(pid).map(|(state, _)| state)
}

/// A process's state and parent, which follow its name in parentheses.
fn stat(pid: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
