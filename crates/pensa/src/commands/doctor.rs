//! `pn doctor`: checks the store, and warns about disk space.

use pensa_core::Result;
use pensa_core::ops::store::{Doctor, Finding, Report, Severity};

use super::gc::{limits, warnings};
use crate::cli::GlobalOptions;
use crate::connect;
use crate::output::Output;
use crate::render::{Render, Screen};

pub(super) fn run(options: &GlobalOptions, output: Output, op: &Doctor) -> Result<()> {
    let client = connect::client(options)?;
    let mut report: Report = crate::progress::with_progress(output, || client.call(op))?;
    let findings = warnings(&client, limits(&*connect::config(options)?)?)?.into_iter().map(|message| Finding {
        check: "disk".into(),
        severity: Severity::Warning,
        message,
        issue_id: None,
        fixable: false,
    });
    report.findings.extend(findings);
    output.answer(&report)
}

impl Render for Report {
    fn render(&self, screen: &mut Screen) {
        for finding in &self.findings {
            let severity = match finding.severity {
                Severity::Info => "info",
                Severity::Warning => "warning",
                Severity::Error => "error",
            };
            screen.plain(&format!("{severity:<8}")).text(&finding.check).plain(": ").text(&finding.message).end();
        }
        for fix in &self.fixes_applied {
            screen.plain("fixed   ").text(fix).end();
        }
        if self.findings.is_empty() {
            screen.plain("all is well").end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.findings.iter().filter_map(|finding| finding.issue_id.as_ref()).map(ToString::to_string).collect()
    }
}
