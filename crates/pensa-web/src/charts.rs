//! Renders the page of charts, each with its data as a table.
