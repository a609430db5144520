//! Renders the page of the log.
