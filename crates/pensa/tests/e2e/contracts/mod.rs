//! Snapshots of everything that users and other programs see, so that it changes only on purpose.
//!
//! CONTRIBUTING.md explains how to change a contract.

mod described;
mod mask;
mod operations;
pub(crate) mod script;
mod surfaces;

/// Compares with `snapshots/NAME.snap`.
#[track_caller]
fn unchanged(name: &str, shown: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, shown));
}
