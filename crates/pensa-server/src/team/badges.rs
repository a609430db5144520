//! Shows badges and charts of projects to everybody. What was drawn is kept for a minute, so that visitors of a README
//! cost the database nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::response::{IntoResponse, Response};
use pensa_core::ops::project::List;
use pensa_core::project::Project;
use pensa_core::{Error, Op, Result};
use pensa_engine::{Caller, entry};

use super::state::ServerState;
use crate::dispatch::unexpected;
use crate::embed::{Embed, picture};
use crate::response::Refusal;

/// How long a drawing is shown, also one of a project that is not there.
const DRAWING_TTL: Duration = Duration::from_secs(60);
/// Drawings that are kept; then all are drawn again.
const MAX_KEPT: usize = 4_096;

/// The time of a drawing, and it; `None` without such a project.
type KeptDrawing = (Instant, Option<String>);

#[derive(Debug)]
pub(super) struct PublicBadges {
    server: Arc<ServerState>,
    kept: Mutex<HashMap<String, KeptDrawing>>,
    /// One is drawn at a time.
    drawing: tokio::sync::Mutex<()>,
}

impl PublicBadges {
    pub(super) fn new(server: Arc<ServerState>) -> Self {
        Self { server, kept: Mutex::default(), drawing: tokio::sync::Mutex::new(()) }
    }

    pub(super) async fn answer(&self, project: &str, embed: Embed) -> Response {
        match self.drawing(project, embed).await {
            Ok(Some(svg)) => picture(svg),
            Ok(None) => Refusal::from(Error::not_found("project", project)).into_response(),
            Err(error) => Refusal::from(error).into_response(),
        }
    }

    async fn drawing(&self, project: &str, embed: Embed) -> Result<Option<String>> {
        let key = format!("{project} {embed:?}");
        if let Some(kept) = self.kept(&key) {
            return Ok(kept);
        }
        let _one = self.drawing.lock().await;
        if let Some(kept) = self.kept(&key) {
            return Ok(kept);
        }
        let drawn = match self.project(project).await? {
            Some(project) => Some(embed.draw(&*self.server.store(&project).await?).await?),
            None => None,
        };
        let mut kept = lock(&self.kept);
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(key, (Instant::now(), drawn.clone()));
        Ok(drawn)
    }

    fn kept(&self, key: &str) -> Option<Option<String>> {
        let kept = lock(&self.kept);
        kept.get(key).filter(|(at, _)| at.elapsed() < DRAWING_TTL).map(|(_, drawing)| drawing.clone())
    }

    async fn project(&self, name: &str) -> Result<Option<Project>> {
        let input = serde_json::to_value(List { all: false }).map_err(Error::internal)?;
        let entry = entry(List::NAME).ok_or_else(unexpected)?;
        let answer = self.server.run_in_control(entry, Caller::local("pn serve"), input).await?;
        let projects: Vec<Project> = serde_json::from_slice(&answer).map_err(Error::internal)?;
        Ok(projects.into_iter().find(|project| project.name.as_str() == name))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
