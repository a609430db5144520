//! Renders the page of insights.
