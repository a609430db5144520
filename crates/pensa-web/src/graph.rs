//! Renders the page of the dependency graph.
