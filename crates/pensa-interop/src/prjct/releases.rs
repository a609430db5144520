//! Reads releases from `shipped.json`.

use std::collections::HashMap;

use pensa_core::Timestamp;
use pensa_core::id::{IssueId, ReleaseId};
use pensa_core::ops::import::{ImportItem, ImportRelease};
use pensa_core::release::check_version;
use pensa_core::work::WorkKind;
use serde_json::{Value, json};

use super::fields::{self, JsonFields};
use super::tasks::origin;
use super::{ProjectReader, RecordKind};

/// The version of releases without one.
const NO_VERSION: &str = "unversioned";

impl ProjectReader {
    pub(super) fn shipped(&mut self, file: &str, document: Value, written_at: Option<Timestamp>) {
        let names = ["shipped", "features"];
        let Some((shipped, written_at)) = self.list_entries(file, document, &names, written_at) else { return };
        let mut releases: Vec<ImportRelease> = Vec::new();
        let mut by_id: HashMap<ReleaseId, usize> = HashMap::new();
        for (what, shipped) in shipped {
            let Some((raw, fields)) = self.record(file, None, &what, shipped) else { continue };
            let release = release(file, &raw, fields, written_at);
            match by_id.get(&release.id) {
                None => {
                    by_id.insert(release.id.clone(), releases.len());
                    releases.push(release);
                }
                Some(at) if releases[*at].origin.hash != release.origin.hash => releases[*at].origin.also.push(raw),
                Some(_) => {}
            }
        }
        for release in releases {
            self.add_record(RecordKind::Releases, file, None, ImportItem::Release(release));
        }
    }
}

fn release(file: &str, raw: &JsonFields, mut fields: JsonFields, written_at: Option<Timestamp>) -> ImportRelease {
    let name = fields::text(&mut fields, &["name", "title", "description"]).unwrap_or_else(|| "unnamed".to_owned());
    let (name, more) = fields::headline(&name);
    let notes = more.or_else(|| fields::text(&mut fields, &["description"]));
    let version = fields.get("version").and_then(Value::as_str).map(str::trim).unwrap_or_default().to_owned();
    let version = match check_version(&version) {
        Ok(()) => {
            fields.shift_remove("version");
            version
        }
        Err(_) => NO_VERSION.to_owned(),
    };
    let shipped_at = fields::time(&mut fields, &["shippedAt", "date", "timestamp"]).or(written_at);
    ImportRelease {
        id: fields::id(&mut fields, &["id"])
            .unwrap_or_else(|| ReleaseId::from_hash(fields::hash(&json!([name, version, raw.get("shippedAt")])))),
        name,
        version,
        kind: fields::kind(&mut fields, &["type", "kind"]).unwrap_or(WorkKind::Feature),
        issues: tasks(raw),
        notes,
        shipped_at,
        origin: origin(file, raw, fields),
    }
}

/// The tasks of a release. The fields stay, because some tasks may not be imported.
fn tasks(raw: &JsonFields) -> Vec<IssueId> {
    let one = raw.get("taskId").into_iter();
    let many = raw.get("taskIds").and_then(Value::as_array).into_iter().flatten();
    one.chain(many).filter_map(fields::id_text).filter_map(|id| id.parse().ok()).take(1000).collect()
}
