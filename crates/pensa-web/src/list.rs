//! Renders the list of issues, with columns and bulk edit.
