//! Renders the page of learnings.
