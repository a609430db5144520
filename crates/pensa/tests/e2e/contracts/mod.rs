//! What users and other programs see, held by snapshots: it changes on purpose, or not at all.
//!
//! What it means is left to the other tests. CONTRIBUTING.md says how a contract is changed.

mod described;
mod mask;
mod operations;
mod script;
mod surfaces;

/// Compares with `snapshots/NAME.snap`.
#[track_caller]
fn unchanged(name: &str, shown: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, shown));
}
