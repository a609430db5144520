//! Renders the page of agents: claims, leases, runs, jobs, loops and signals.
