//! Tests every route with every role, in the caller's own project and in a foreign one.

use pensa_core::{Access, Method, Scope};
use pensa_engine::{Entry, catalog};
use pensa_testkit::{Http, Reply};
use serde_json::{Map, Value, json};

use crate::fixture::{ProjectToken, ROLES, ServeProcess, Team, create, text};

/// A word that occurs only in the foreign project.
pub(crate) const SECRET: &str = "zebrafish";

/// One server with two projects, and a token of every role in the own project. Project names have the same length.
pub(crate) struct TwoProjects {
    pub(crate) team: Team,
    pub(crate) server: ServeProcess,
    pub(crate) own: Vec<ProjectToken>,
    pub(crate) foreign: ProjectToken,
    operator: ProjectToken,
    foreign_entities: EntityIds,
}

/// Ids of the entities that operations refer to.
#[derive(Clone)]
pub(crate) struct EntityIds {
    pub(crate) issue: String,
    other: String,
    agent: String,
    session: String,
    run: String,
    runtime: String,
    job: String,
    repo: String,
    snapshot: String,
    learning: String,
    other_learning: String,
    reference: String,
    a_loop: String,
    signal: String,
    pub(crate) token: String,
    pub(crate) project: String,
}

impl EntityIds {
    /// Creates one entity of each kind, with texts that contain only `word`.
    fn create(http: &mut Http, word: &str) -> Self {
        let (issue, other) = (create(http, word), create(http, &format!("{word} too")));
        let agent = http.post("/agents", &json!({"type": "user", "name": word, "descriptor": {"is": word}})).ok();
        let entries = json!({"entries": [{"type": "user_message", "text": word}]});
        let (id, session) = (text(&agent["id"]), text(&agent["active_session_id"]));
        http.post(&format!("/agents/{id}/entries"), &entries).ok();
        let seen = json!({"vcs": "git", "host": word, "root_path": format!("/{word}")});
        let run = http.post("/runs", &json!({"seen": seen, "prompt": word})).ok();
        let tree = json!({"provider": "copy", "host": word, "root": format!("/{word}"), "repo": run["repo_id"],
            "run": run["id"], "label": word});
        let snapshot = http.post("/snapshots", &tree).ok();
        http.post("/kv", &json!({"scope": "user", "key": "known", "value": word})).ok();
        http.post("/records/known", &json!({"id": issue, "data": {"is": word}})).ok();
        http.post("/work/start", &json!({"what": other, "steps": [word, "next"]})).ok();
        http.post("/releases", &json!({"name": word, "version": word, "issues": [other]})).ok();
        http.post("/skills", &json!({"name": word, "skills": [word]})).ok();
        let known = json!({"text": format!("{word} {issue}"), "tags": [word], "files": [word], "issue": issue});
        let learning = http.post("/learnings", &known).ok();
        let other_learning =
            http.post("/learnings", &json!({"text": format!("nothing like that was said of {other} by {word}")})).ok();
        let known = json!({"target": format!("tracker:{issue}"), "title": word});
        let reference = http.post(&format!("/issues/{issue}/refs"), &known).ok();
        Self {
            issue,
            other,
            agent: id,
            session,
            run: text(&run["id"]),
            runtime: text(&run["runtime_id"]),
            job: "job-00000000".into(),
            repo: text(&run["repo_id"]),
            snapshot: text(&snapshot["id"]),
            learning: text(&learning["id"]),
            other_learning: text(&other_learning["id"]),
            reference: text(&reference["id"]),
            a_loop: "lp-00000000".into(),
            signal: "sg-00000000".into(),
            token: "tok-00000000".into(),
            project: OWN_PROJECT.into(),
        }
    }

    /// Adds a loop and a signal, which few operations need.
    fn with_loop(self, http: &mut Http, word: &str) -> Self {
        let plan = json!({"type": "plan", "prompt_path": word, "validation_command": word, "context": {"is": word}});
        let a_loop = http.post("/loops", &plan).ok();
        let stop = json!({"type": "stop", "to": a_loop["id"], "reason": word, "payload": word});
        let signal = http.post("/signals", &stop).ok();
        Self { a_loop: text(&a_loop["id"]), signal: text(&signal["id"]), ..self }
    }

    /// Adds a job in its own lane, so that jobs do not wait for each other.
    fn with_job(self, http: &mut Http, word: &str) -> Self {
        let job =
            json!({"lane": self.issue, "tool": word, "slots": 1, "timeout": "60s", "host": word, "run": self.run});
        Self { job: text(&http.post("/jobs", &job).ok()["id"]), ..self }
    }

    /// Ids of entities that do not exist.
    fn none() -> Self {
        let [issue, agent, session, run, runtime, job, repo, snapshot, learning, reference, a_loop, signal, token] =
            ["pn", "ag", "se", "run", "rt", "job", "repo", "snap", "ln", "rf", "lp", "sg", "tok"]
                .map(|kind| format!("{kind}-00000000"));
        let (other, other_learning, project) = (issue.clone(), learning.clone(), OWN_PROJECT.into());
        Self {
            issue,
            other,
            agent,
            session,
            run,
            runtime,
            job,
            repo,
            snapshot,
            learning,
            other_learning,
            reference,
            a_loop,
            signal,
            token,
            project,
        }
    }
}

pub(crate) const OWN_PROJECT: &str = "web";
pub(crate) const FOREIGN_PROJECT: &str = "api";
const MISSING_PROJECT: &str = "zzz";

impl TwoProjects {
    pub(crate) fn on(team: Team) -> Self {
        team.project(OWN_PROJECT);
        team.project(FOREIGN_PROJECT);
        let own = ROLES.iter().map(|role| team.token(OWN_PROJECT, role)).collect();
        let (foreign, operator) = (team.token(FOREIGN_PROJECT, "admin"), team.operator());
        let server = team.serve();
        let mut http = server.client(&foreign);
        let made = EntityIds::create(&mut http, SECRET).with_loop(&mut http, SECRET).with_job(&mut http, SECRET);
        let comment = json!({"text": format!("said of the {SECRET}")});
        server.client(&foreign).post(&format!("/issues/{}/comments", made.issue), &comment).ok();
        let foreign_entities = EntityIds { token: foreign.id.clone(), project: FOREIGN_PROJECT.into(), ..made };
        Self { team, server, own, foreign, operator, foreign_entities }
    }

    /// Everything that can be read about the foreign project.
    fn foreign_state(&self) -> Vec<Value> {
        let mut http = self.server.client(&self.foreign);
        let issue = format!("/issues/{}", self.foreign_entities.issue);
        let entries = format!("/sessions/{}/entries?all=true", self.foreign_entities.agent);
        let paths = [
            "/issues",
            "/status",
            "/deps/cycles",
            &issue,
            &format!("{issue}/history"),
            "/log?after=0",
            "/agents",
            "/sessions",
            &entries,
            "/runs",
            "/repos",
            "/jobs",
            "/jobs/stats?tool=none",
            "/snapshots",
            "/kv",
            "/records",
            "/records/known",
            "/work",
            "/releases",
            "/changelog",
            "/skills",
            "/learnings?all=true",
            "/loops?all=true",
            "/signals",
            "/context",
            "/sync/changes",
            "/sync/peers",
        ];
        let mut all: Vec<Value> = paths.iter().map(|path| http.get(path).ok()).collect();
        all.push(self.team.direct(&["project", "list", "--all"]).ok_json());
        all.push(self.team.direct(&["token", "list", "--all", "--project", FOREIGN_PROJECT]).ok_json());
        all.push(self.team.direct(&["audit", "--project", FOREIGN_PROJECT]).ok_json());
        all
    }
}

/// A request for an operation.
pub(crate) struct OperationRequest {
    path: String,
    /// The id in the path, if there is one.
    id: String,
    pub(crate) fields: Map<String, Value>,
}

impl OperationRequest {
    pub(crate) fn of(entry: &Entry, about: &EntityIds) -> Self {
        let EntityIds {
            issue,
            other,
            agent,
            session,
            run,
            runtime,
            job,
            repo,
            snapshot,
            learning,
            other_learning,
            reference,
            a_loop,
            signal,
            token,
            project,
        } = about;
        let fields = match entry.name {
            "issue.create" => json!({"title": "made", "issue_type": "task"}),
            "issue.update" => json!({"priority": "p0"}),
            "issue.search" => json!({"q": "made"}),
            "triage.diff" => json!({"since": "1d"}),
            "event.list" => json!({"subject": issue, "type": "created"}),
            "dep.add" | "dep.remove" => json!({"issue_id": issue, "depends_on_id": other}),
            "comment.add" => json!({"text": "said"}),
            "issue.accept" => json!({"number": 1}),
            "label.rename" => json!({"old": issue, "new": "made"}),
            "link.add" => json!({"to": other}),
            "view.save" => json!({"name": issue, "query": "p0"}),
            "transcript.import" => {
                json!({"key": issue, "from": {"bytes": 0, "lines": 0}, "to": {"bytes": 1, "lines": 1}, "agents": []})
            }
            "ref.add" => json!({"target": "tracker:made"}),
            "conflict.resolve" => json!({"take": "kept"}),
            "agent.import" => {
                json!({"id": "from-elsewhere", "type": "user", "lifecycle": "active", "sessions": [{"opened_by": "start"}]})
            }
            "batch" => json!({"operations": [{"op": "issue.show", "id": issue}]}),
            "project.create" => json!({"name": format!("new-{issue}")}),
            "token.create" => json!({"project": project, "role": "viewer"}),
            "agent.create" => json!({"type": "user", "parent": agent}),
            "agent.update" => json!({"stats": {"a": 1}}),
            "agent.delete" => json!({"force": true}),
            "session.list" => json!({"agent": agent}),
            "session.prune" => json!({"older_than": "30d"}),
            "session.search" => json!({"q": "made", "agent": agent}),
            "session.compact" => json!({"summary": "in short"}),
            "session.append" => json!({"entries": [{"type": "note", "text": "made"}]}),
            "repo.add" => json!({"vcs": "git", "remote_url": "https://example.test/made"}),
            "run.start" => json!({"repo": repo}),
            "run.update" => json!({"mux_window": 1}),
            "run.finish" => json!({"status": "succeeded"}),
            "run.list" => json!({"repo": repo}),
            "job.start" => json!({"lane": "net", "tool": "made", "slots": 1000, "timeout": "60s", "run": run}),
            "job.take" => json!({"slots": 1}),
            "job.update" => json!({"process": {"pid": 1}}),
            "job.finish" => json!({"exit_code": 0, "output": "made"}),
            "job.settle" => json!({"host": "made", "lost": [job]}),
            "job.import" => json!({"records": [{"id": issue, "tool_name": "made", "lane": "net", "started_at": 1}]}),
            "job.list" => json!({"run": run}),
            "snapshot.create" => json!({"provider": "git", "host": "box", "root": "/r", "repo": repo, "run": run}),
            "snapshot.list" => json!({"repo": repo}),
            "snapshot.restore" => json!({"safety": snapshot}),
            "kv.get" | "kv.delete" => json!({"scope": "user", "key": issue}),
            "kv.set" => json!({"scope": "user", "key": issue, "value": "made too"}),
            "record.put" => json!({"id": issue, "data": {"is": "made too"}}),
            "record.get" | "record.delete" => json!({"id": issue}),
            "record.query" | "record.count" => json!({"where": "is=made"}),
            "record.index" => json!({"fields": ["also"]}),
            "record.apply" => json!({"changes": [{"delete": {"collection": "known", "id": issue}}]}),
            "work.start" => json!({"what": issue}),
            "work.current" => json!({"actor": "made"}),
            "work.step.list" => json!({"actor": "made", "issue": other}),
            "work.resume" => json!({"issue": other, "take": true}),
            "work.pause" | "work.done" | "work.step.done" => json!({"issue": other}),
            "work.step.add" => json!({"issue": other, "steps": ["made"]}),
            "release.ship" => json!({"name": "made", "version": "1", "issues": [issue]}),
            "skill.set" => json!({"name": issue, "skills": ["made"]}),
            "skill.remove" => json!({"name": issue}),
            "skill.import" => json!({"mappings": {issue: ["made"]}}),
            "learning.remember" => json!({"text": "found out", "issue": issue, "supersedes": learning}),
            "learning.take" => json!({"records": [{"taskId": issue, "learnings": {"gotchas": ["taken"]}}]}),
            "learning.recall" => json!({"q": "made"}),
            "learning.list" => json!({"issue": issue}),
            "learning.agree" => json!({"other": other_learning}),
            "learning.supersede" => json!({"by": other_learning}),
            "learning.merge" => json!({"into": other_learning}),
            "learning.about" => json!({"files": ["made.rs"]}),
            "learning.move_files" => json!({"moves": [{"from": "made.rs", "to": "moved.rs"}]}),
            "learning.remember_all" => json!({"learnings": [{"text": "found out too", "issue": issue}]}),
            "distill.propose" | "distill.prompt" => json!({"issue": issue}),
            "sync.take" => json!({"entries": [], "peer": {"store_id": issue, "turn": 0}}),
            "sync.pending" => json!({"peer": issue, "limit": 1}),
            "sync.changes" => json!({"after": issue, "limit": 1}),
            "sync.peers" => json!({"peer": issue, "limit": 1}),
            "import.records" => json!({"from": "prjct", "records": [{"kind": "issue", "id": issue, "title": "made",
                "issue_type": "task", "priority": "p2", "origin": {"file": "f", "hash": "h"}}]}),
            "loop.create" => {
                json!({"loop_type": "code", "prompt_path": "p", "validation_command": "true", "parent": a_loop, "issue": issue})
            }
            "loop.take" => {
                json!({"records": [{"id": format!("from-{issue}"), "loop_type": "code", "status": "failed"}]})
            }
            "loop.take_files" => json!({"id": a_loop, "parts": [{"path": "stdout.log", "text": "made"}]}),
            "loop.list" => json!({"parent": a_loop}),
            "loop.claim" => json!({"type": "plan"}),
            "signal.send" => json!({"signal_type": "info", "to": a_loop}),
            "signal.take" => json!({"records": [{"id": format!("from-{issue}"), "signal_type": "info"}]}),
            "signal.list" => json!({"for": a_loop}),
            "signal.ack" => json!({"as": a_loop}),
            "lock.acquire" | "lock.release" | "lock.status" => json!({"name": issue}),
            "run.event" => json!({"type": "made", "data": {"is": issue}}),
            "harness.set" => json!({"harness": "made@1", "metadata": {"is": issue}}),
            "runtime.set" => json!({"metadata": {"is": issue}}),
            "workspace.create" => json!({"name": format!("for {issue}")}),
            _ => json!({}),
        };
        let Value::Object(fields) = fields else { unreachable!("an object") };
        let id = match entry.route.path.split('/').nth(1) {
            Some("tokens") => token,
            Some("agents") => agent,
            Some("sessions") => session,
            Some("runs") => run,
            Some("runtimes") => runtime,
            Some("jobs") => job,
            Some("repos") => repo,
            Some("snapshots") => snapshot,
            Some("learnings") => learning,
            Some("refs") => reference,
            Some("loops") => a_loop,
            Some("signals") => signal,
            _ => issue,
        };
        let name = if entry.name == "view.remove" { issue } else { project };
        let path = entry.route.path.replace("{id}", id).replace("{to}", other).replace("{name}", name);
        let path = path.replace("{collection}", "known");
        Self { path, id: id.clone(), fields }
    }

    pub(crate) fn send(&self, http: &mut Http, entry: &Entry) -> Reply {
        if matches!(entry.route.method, Method::Get | Method::Delete) {
            let pairs: Vec<String> =
                self.fields.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
            let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
            return http.ask(entry.route.method.as_str(), &format!("{}{query}", self.path)).reply();
        }
        http.ask(entry.route.method.as_str(), &self.path).body(&Value::Object(self.fields.clone())).reply()
    }
}

/// Formats a value for a query string.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Creates entities in a state in which the operation succeeds.
pub(crate) fn prepare(admin: &mut Http, entry: &Entry) -> EntityIds {
    let mut entities = EntityIds::create(admin, "made");
    if ["loop.", "signal."].iter().any(|noun| entry.name.starts_with(noun)) {
        entities = entities.with_loop(admin, "made");
    }
    if entry.name.starts_with("job.") {
        entities = entities.with_job(admin, "made");
    }
    if entry.name == "repo.remove" {
        let elsewhere = json!({"vcs": "git", "remote_url": format!("https://example.test/{}", entities.issue)});
        entities.repo = text(&admin.post("/repos", &elsewhere).ok()["id"]);
    }
    let EntityIds { issue, other, a_loop, .. } = &entities;
    let mut moved = |moves: &[&str]| {
        moves.iter().for_each(|step| drop(admin.post(&format!("/loops/{a_loop}/{step}"), &json!({})).ok()));
    };
    match entry.name {
        "loop.pause" | "loop.resume" | "loop.rebase" | "loop.iterate" | "loop.submit" | "loop.complete" => {
            moved(&["start"]);
        }
        "loop.approve" | "loop.reject" => moved(&["start", "submit"]),
        "loop.archive" => moved(&["fail"]),
        // The active session can be neither archived nor deleted.
        "session.archive" | "session.delete" => {
            let agent = &entities.agent;
            admin.post(&format!("/agents/{agent}/reset"), &json!({})).ok();
        }
        "issue.reopen" => drop(admin.post(&format!("/issues/{issue}/close"), &json!({})).ok()),
        "issue.heartbeat" | "issue.release" => {
            let claim = json!({"claim": true, "ttl": "1h"});
            admin.ask("PATCH", &format!("/issues/{issue}")).body(&claim).reply().ok();
        }
        "issue.accept" | "label.rename" => {
            let changes = json!({"acceptance": ["made"], "add_labels": [issue]});
            admin.ask("PATCH", &format!("/issues/{issue}")).body(&changes).reply().ok();
        }
        "link.remove" => drop(admin.post(&format!("/issues/{issue}/links"), &json!({"to": other})).ok()),
        "view.remove" => drop(admin.post("/views", &json!({"name": issue, "query": "p0"})).ok()),
        "kv.get" | "kv.delete" => {
            admin.post("/kv", &json!({"scope": "user", "key": issue, "value": "made"})).ok();
        }
        "skill.remove" => drop(admin.post("/skills", &json!({"name": issue, "skills": ["made"]})).ok()),
        "dep.remove" => drop(admin.post("/deps", &json!({"issue_id": issue, "depends_on_id": other})).ok()),
        _ => {}
    }
    entities
}

pub(crate) fn access_of(role: &str) -> Access {
    match role {
        "viewer" => Access::Read,
        "agent" => Access::Write,
        "maintainer" => Access::Maintain,
        "admin" => Access::Admin,
        _ => Access::Operate,
    }
}

/// The parts of a response that must not depend on the name of a project or entity.
fn comparable(reply: &Reply, name: &str) -> (u16, Vec<(String, String)>, String) {
    let mut headers = reply.headers.clone();
    headers.retain(|(name, _)| name != "x-request-id" && name != "date");
    (reply.status, headers, reply.body.replace(name, "NAME"))
}

fn roles_decide_which_operations_are_allowed(projects: &TwoProjects) {
    let mut admin = projects.server.client(&projects.own[3]);
    for entry in catalog() {
        let mut spare = None;
        for (role, token) in ROLES.iter().zip(&projects.own) {
            let context = format!("{role}: {entry:?}");
            let entities = spare.take().unwrap_or_else(|| {
                let mut entities = prepare(&mut admin, entry);
                entities.token = projects.team.token(OWN_PROJECT, "viewer").id;
                if entry.name == "project.archive" {
                    entities.project = format!("old-{}", entities.issue);
                    projects.team.project(&entities.project);
                }
                entities
            });
            if ["undo", "redo"].contains(&entry.name) && access_of(role) >= entry.access {
                create(&mut projects.server.client(token), "a mistake of one's own");
            }
            if entry.name == "redo" && access_of(role) >= entry.access {
                projects.server.client(token).post("/undo", &json!({})).ok();
            }
            let request = OperationRequest::of(entry, &entities);
            let reply = request.send(&mut projects.server.client(token), entry);
            // After a refusal or a read, the entities can be used again.
            if access_of(role) < entry.access || entry.access == Access::Read {
                spare = Some(entities);
            }
            if access_of(role) < entry.access {
                reply.refused(403, "forbidden");
                continue;
            }
            // File operations depend on the store, not on the role.
            let of_files = ["store.export", "store.import", "store.backup", "store.backups", "record.compact"];
            let unsupported = of_files.contains(&entry.name) && reply.status == 501;
            let known = (200..300).contains(&reply.status) || unsupported;
            // A store without files has no conflicts.
            let code = if entry.name == "conflict.resolve" { "not_found" } else { "invalid_input" };
            assert!(known || reply.json()["code"] == code, "{context}: {reply:?}");
            let foreign = entry.scope == Scope::Server || !reply.body.contains(SECRET);
            assert!(foreign, "{context}: {reply:?}");
        }
    }
}

fn foreign_project_looks_like_a_missing_one(projects: &TwoProjects) {
    let before = projects.foreign_state();
    for entry in catalog() {
        for (role, token) in ROLES.iter().zip(&projects.own) {
            let context = format!("{role}: {entry:?}");
            let at = |project: &str| {
                let request = OperationRequest::of(entry, &projects.foreign_entities);
                let url = projects.server.project_url(project);
                request.send(&mut Http::to(&url).token(&token.secret), entry)
            };
            let (foreign, missing) = (at(FOREIGN_PROJECT), at(MISSING_PROJECT));
            foreign.refused(404, "not_found");
            assert_eq!(comparable(&foreign, FOREIGN_PROJECT), comparable(&missing, MISSING_PROJECT), "{context}");
            assert!(!foreign.body.contains(SECRET), "{context}: {foreign:?}");
        }
    }
    assert_eq!(before, projects.foreign_state(), "nothing has changed there");
}

/// In the own project, ids of the foreign project behave like unknown ids.
fn ids_of_another_project_are_not_found(projects: &TwoProjects) {
    let before = projects.foreign_state();
    let foreign_entities =
        EntityIds { token: "tok-00000000".into(), project: OWN_PROJECT.into(), ..projects.foreign_entities.clone() };
    for entry in catalog().iter().filter(|entry| entry.scope == Scope::Store) {
        let mut http = projects.server.client(&projects.own[3]);
        let (their, nobodys) =
            (OperationRequest::of(entry, &foreign_entities), OperationRequest::of(entry, &EntityIds::none()));
        let (foreign, none) = (their.send(&mut http, entry), nobodys.send(&mut http, entry));
        assert_eq!(foreign.status, none.status, "{entry:?}");
        assert!(!foreign.body.contains(SECRET), "{entry:?}: {foreign:?}");
        if entry.route.path.contains("{id}") {
            foreign.refused(404, "not_found");
            assert_eq!(comparable(&foreign, &their.id), comparable(&none, &nobodys.id), "{entry:?}");
        }
    }
    assert_eq!(before, projects.foreign_state(), "nothing has changed there");
}

/// The event stream and the OpenAPI document are routes, but not operations.
fn events_and_documents_stay_within_the_project(projects: &TwoProjects) {
    for token in &projects.own {
        let mut foreign = Http::to(&projects.server.project_url(FOREIGN_PROJECT)).token(&token.secret);
        let mut missing = Http::to(&projects.server.project_url(MISSING_PROJECT)).token(&token.secret);
        for path in ["/events?after=0", "/openapi.json", "/", "", "/nothing/here"] {
            let (foreign, missing) = (foreign.get(path), missing.get(path));
            foreign.refused(404, "not_found");
            assert_eq!(comparable(&foreign, FOREIGN_PROJECT), comparable(&missing, MISSING_PROJECT), "{path}");
        }
        for tricky in [
            format!("/p/{OWN_PROJECT}/../{FOREIGN_PROJECT}/issues"),
            format!("/p/{OWN_PROJECT}/..%2f{FOREIGN_PROJECT}/issues"),
            format!("/p//{FOREIGN_PROJECT}/issues"),
            "/p/%61pi/issues".to_owned(),
            format!("/p/{}/issues", FOREIGN_PROJECT.to_uppercase()),
            format!("/p/{FOREIGN_PROJECT}%00/issues"),
            format!("//p/{FOREIGN_PROJECT}/issues"),
        ] {
            let reply = projects.server.root(token).get(&tricky);
            assert_eq!(reply.status, 404, "{tricky}: {reply:?}");
            assert!(!reply.body.contains(SECRET), "{tricky}: {reply:?}");
        }
    }
}

/// An operation in a batch needs the same role as outside.
fn batch_grants_no_extra_rights(projects: &TwoProjects) {
    let issue = create(&mut projects.server.client(&projects.own[3]), "kept");
    let delete = json!({"op": "issue.delete", "id": issue, "force": true});
    let batch = json!({"operations": [{"op": "issue.create", "title": "undone", "issue_type": "task"}, delete]});
    for (role, token) in ROLES.iter().zip(&projects.own).take(2) {
        let reply = projects.server.client(token).post("/batch", &batch);
        reply.refused(403, "forbidden");
        let left = projects.server.client(token).get("/issues/search?q=undone").ok();
        assert_eq!(left, json!([]), "{role}: all or nothing");
    }
    for name in catalog().iter().filter(|entry| entry.access >= Access::Admin).map(|entry| entry.name) {
        let batch = json!({"operations": [{"op": name, "name": "evil", "project": OWN_PROJECT, "role": "admin"}]});
        for token in &projects.own {
            let reply = projects.server.client(token).post("/batch", &batch);
            assert!([400, 403].contains(&reply.status), "{name}: {reply:?}");
        }
    }
    projects.server.client(&projects.own[2]).post("/batch", &batch).ok();
}

/// An agent can undo only what its token did, whatever actor it names; a maintainer can undo everything.
fn undoing_changes_of_others_needs_a_maintainer(projects: &TwoProjects) {
    let named = |token: usize, actor: &str| projects.server.client(&projects.own[token]).with("Pensa-Actor", actor);
    let others = create(&mut named(3, "ana"), "of somebody else");
    let event = named(3, "ana").get(&format!("/issues/{others}/history")).ok()[0]["id"].clone();
    for actor in ["ben", "ana"] {
        for selected in [json!({"any": true}), json!({"event": event}), json!({"by": "ana"}), json!({"since": "1h"})] {
            named(1, actor).post("/undo", &selected).refused(403, "forbidden");
        }
    }
    let own = create(&mut named(1, "ben"), "of one's own");
    create(&mut named(3, "ana"), "later, of somebody else");
    named(1, "ana").post("/undo", &json!({})).refused(404, "not_found");
    named(1, "ben").post("/undo", &json!({"any": true})).refused(403, "forbidden");
    named(1, "ben").post("/undo", &json!({})).ok();
    named(1, "ben").get(&format!("/issues/{own}")).refused(404, "not_found");
    named(1, "ben").get(&format!("/issues/{others}")).ok();
    named(2, "mia").post("/undo", &json!({"by": "ana"})).ok();
    named(2, "mia").get(&format!("/issues/{others}")).refused(404, "not_found");
    let batch = json!({"operations": [{"op": "undo"}]});
    named(3, "ana").post("/batch", &batch).refused(400, "invalid_input");
}

/// Server operations are at the root, for operators and, within their own project, for admins. Project operations are
/// not.
fn server_root_is_for_operators_and_for_admins_of_their_own_project(projects: &TwoProjects) {
    let everybody = ROLES.iter().zip(&projects.own).map(|(role, token)| (*role, token));
    let everybody: Vec<_> = everybody.chain([("operator", &projects.operator)]).collect();
    for entry in catalog() {
        for (role, token) in &everybody {
            let target = format!("root-{}-{}", entry.name.replace('.', "-"), role);
            projects.team.project(&target);
            let victim = projects.team.token(&target, "viewer");
            let fresh = format!("fresh-{role}");
            let entities = EntityIds {
                issue: fresh.clone(),
                other: fresh,
                token: victim.id,
                project: target,
                ..EntityIds::none()
            };
            let request = OperationRequest::of(entry, &entities);
            let reply = request.send(&mut projects.server.root(token), entry);
            let names_another = ["token.create", "token.revoke"].contains(&entry.name);
            match entry.scope {
                _ if access_of(role) < entry.access => drop(reply.refused(403, "forbidden")),
                Scope::Server if *role == "admin" && names_another => drop(reply.refused(404, "not_found")),
                Scope::Server => drop(reply.ok()),
                Scope::Store => drop(reply.refused(404, "not_found")),
            }
        }
    }
    for (_, token) in &everybody {
        projects.server.root(token).get("/events").refused(404, "not_found");
        projects.server.root(token).get("/openapi.json").ok();
    }
}

macro_rules! on_both_databases {
    ($($test:ident,)*) => {$(
        mod $test {
            use crate::fixture::Team;

            #[test]
            fn postgres() {
                super::$test(&super::TwoProjects::on(Team::on_postgres()));
            }

            #[test]
            fn sqlite() {
                super::$test(&super::TwoProjects::on(Team::on_sqlite()));
            }
        }
    )*};
}

on_both_databases! {
    roles_decide_which_operations_are_allowed,
    foreign_project_looks_like_a_missing_one,
    ids_of_another_project_are_not_found,
    events_and_documents_stay_within_the_project,
    batch_grants_no_extra_rights,
    undoing_changes_of_others_needs_a_maintainer,
    server_root_is_for_operators_and_for_admins_of_their_own_project,
}
