//! Renders the page of one issue.
