//! Recall by meaning: what has a vector is found by it, on every database, and what has changed is not.

use std::sync::Arc;

use pensa_core::Result;
use pensa_core::agent::Agent;
use pensa_core::ops::learning::{Forget, Recall, Remember};
use pensa_core::ops::session::Append;
use pensa_core::ops::undo::Undo;
use pensa_core::ops::{agent, issue};
use pensa_engine::{Embedder, QueryEmbedder, VectorReport};
use serde_json::{Value, json};

use crate::conformance;
use crate::world::World;

/// Knows two meanings.
#[derive(Debug)]
struct Synonyms;

const ALL: usize = usize::MAX;

fn meaning(text: &str) -> Vec<f32> {
    let has = |words: [&str; 2]| f32::from(u8::from(words.iter().any(|word| text.contains(word))));
    let vector = [has(["car", "automobile"]), has(["dog", "hound"]), 0.0];
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(1.0);
    vector.map(|value| value / length).to_vec()
}

impl Embedder for Synonyms {
    fn id(&self) -> &'static str {
        "synonyms"
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| meaning(text)).collect())
    }
}

impl QueryEmbedder for Synonyms {
    fn embed_query(&self, query: &str) -> Option<(String, Vec<f32>)> {
        Some(("synonyms".to_owned(), meaning(query)))
    }
}

fn with_meaning(mut world: World) -> World {
    world.engine = world.engine.with_embedder(Some(Arc::new(Synonyms)));
    world
}

fn update(world: &World) -> (usize, usize) {
    let VectorReport { embedded, removed } = world.engine.update_vectors(&Synonyms, ALL, 2).expect("an update");
    (embedded, removed)
}

fn remember(world: &World, actor: &str, text: &str) -> String {
    world.advance(1);
    world.json::<Remember>(actor, json!({ "text": text })).expect("remembered").learning.id.to_string()
}

fn ids(world: &World, fields: Value) -> Vec<String> {
    let hits = world.json::<Recall>("a", fields).expect("an answer");
    hits.iter().map(|hit| hit.id.to_string()).collect()
}

conformance! {
    fn texts_of_every_kind_are_found_by_meaning_and_filters_come_first(world: World) {
        let world = with_meaning(world);
        let oil = remember(&world, "ana", "the automobile needs oil");
        let other = remember(&world, "ben", "an automobile of ben");
        let bug = world.task("automobile does not start").id;
        let talker: Agent = world.json::<agent::Create>("a", json!({"type": "user", "name": "t"})).expect("an agent");
        let said = json!({"id": talker.id, "entries": [{"type": "user_message", "text": "which automobile?"}]});
        let said = world.json::<Append>("a", said).expect("appended").first.to_string();
        assert!(ids(&world, json!({"q": "car"})).is_empty(), "no vectors yet");
        assert_eq!(update(&world), (4, 0));
        assert_eq!(update(&world), (0, 0));
        let mut found = ids(&world, json!({"q": "car"}));
        found.sort();
        let mut wanted = vec![oil.clone(), other.clone(), bug.to_string()];
        wanted.sort();
        assert_eq!(found, wanted);
        assert_eq!(ids(&world, json!({"q": "car", "in": "sessions"})), [said]);
        assert_eq!(ids(&world, json!({"q": "car", "by": "ben", "in": "learnings"})), [other.as_str()]);
        assert_eq!(ids(&world, json!({"q": "car oil", "in": "learnings"}))[0], oil, "words and meaning");
        assert!(ids(&world, json!({"q": "dog"})).is_empty());
        world.engine.remove_vectors("synonyms").expect("removed");
        assert!(ids(&world, json!({"q": "car"})).is_empty());
    }

    fn a_vector_counts_only_for_the_text_it_was_computed_from(world: World) {
        let world = with_meaning(world);
        let bug = world.task("automobile").id;
        let learning = remember(&world, "ana", "an automobile needs oil");
        update(&world);
        world.json::<issue::Update>("a", json!({"id": bug, "title": "hound"})).expect("changed");
        world.json::<Forget>("a", json!({"id": learning})).expect("forgotten");
        assert!(ids(&world, json!({"q": "car"})).is_empty());
        assert!(ids(&world, json!({"q": "dog"})).is_empty());
        world.json::<Undo>("a", json!({})).expect("taken back");
        assert_eq!(ids(&world, json!({"q": "car"})), [learning.as_str()], "as it was before");
        assert_eq!(update(&world), (1, 1));
        assert_eq!(ids(&world, json!({"q": "dog"})), [bug.to_string()]);
    }

    fn many_texts_fill_blocks_and_are_ranked_by_nearness(world: World) {
        let world = with_meaning(world);
        let near = remember(&world, "ana", "automobile first");
        let talker: Agent = world.json::<agent::Create>("a", json!({"type": "user", "name": "t"})).expect("an agent");
        let entries: Vec<Value> = (0..600)
            .map(|n| json!({"type": "user_message", "text": format!("hound and automobile {n}")}))
            .collect();
        world.json::<Append>("a", json!({"id": talker.id, "entries": entries})).expect("appended");
        let half = world.engine.update_vectors(&Synonyms, 300, 1).expect("a part").embedded;
        assert_eq!((half, update(&world)), (300, (301, 0)));
        assert_eq!(world.engine.vector_counts().expect("counts")["synonyms"], 601);
        let found = ids(&world, json!({"q": "car", "in": "learnings,sessions", "limit": 5}));
        assert_eq!((found.len(), &found[0]), (5, &near));
    }
}
