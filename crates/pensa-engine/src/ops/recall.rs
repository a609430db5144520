//! Recall: finds what was written, by words.
//!
//! Documents are ranked by the index, the best of them again by their texts. Then every further ranking has its say, and
//! what one source may have of the answer is bounded.

use std::collections::{BTreeMap, HashMap, HashSet};

use pensa_core::id::{AgentId, IssueId, SessionId};
use pensa_core::learning::Learning;
use pensa_core::learning::recall::{Hit, check_budget};
use pensa_core::ops::learning::Recall;
use pensa_core::recall::rerank::{Nearness, Reader, tokens};
use pensa_core::recall::search::{Filter, Postings, Query, Scored, Tuning, admitted, rarity, search};
use pensa_core::recall::vector::{ByteVector, Fusion, VectorKey};
use pensa_core::recall::words::{Tokenizer, Word, same_file_words, tag_word};
use pensa_core::recall::{
    self, Document, ExplainedTerm, Explanation, Field, HitId, Neighbour, Recalled, RecalledLearning, Sourced, TextKind,
    diverse, key_of, short_hash, snippet,
};
use pensa_core::{Code, Error, Result, Timestamp, learning as rules, text};

use crate::context::Context;
use crate::db::Tx;
use crate::execute::Execute;
use crate::store::StoreLocation;
use crate::tables::recall::{RecallIndex, documents};
use crate::tables::{agents, entries, learnings, sessions, vectors};

/// Results by default, and at most.
const DEFAULT_RECALLED: u32 = 10;
const MAX_RECALLED: u32 = 200;
/// Commits that are searched, newest first.
const MAX_COMMITS: usize = 5_000;
/// A shorter entry comes with those around it.
const SHORT_ENTRY: usize = 200;
/// Bytes of an entry shown beside a result.
const NEIGHBOUR_BYTES: usize = 240;

impl Execute for Recall {
    fn execute(&self, cx: &Context<'_>, tx: &Tx<'_>) -> Result<Vec<Recalled>> {
        let words = self.q.as_deref().unwrap_or_default();
        text::fits_block("query", words)?;
        let (tags, files) = (rules::check_tags(&self.tags)?, rules::check_files(&self.files)?);
        if words.trim().is_empty() && tags.is_empty() && files.is_empty() && self.by.is_none() && self.since.is_none() {
            return Err(Error::invalid("nothing to recall by").hint("give words, --tag, --file, --by or --since"));
        }
        let budget = self.max_tokens.map(check_budget).transpose()?;
        // Before the first statement: until then the transaction holds nothing.
        let meaning = cx.embedder.as_ref().filter(|_| !words.trim().is_empty()).and_then(|it| it.embed_query(words));
        let kinds = self.kinds()?;
        let commits = if kinds.contains(&TextKind::Commit) { commits(cx.store)? } else { Vec::new() };
        let mut must: Vec<Vec<Word>> = tags.iter().map(|tag| vec![tag_word(tag)]).collect();
        if !files.is_empty() {
            must.push(files.iter().flat_map(|file| same_file_words(file)).collect());
        }
        let filter = Filter {
            kinds,
            since: self.since.map(|since| since.as_of(cx.now).as_millis()),
            actors: self.by.as_deref().map(|by| actors(tx, by)).transpose()?,
            must,
        };
        let limit = self.limit.unwrap_or(DEFAULT_RECALLED).min(MAX_RECALLED) as usize;
        let mut session = RecallSession::open(tx, words, filter, &commits, cx.now)?;
        session.meaning = meaning.map(|(model, vector)| (model, ByteVector::new(&vector)));
        let found = session.best(limit)?;
        let hits = found.iter().map(|one| session.hit(one, self.explain)).collect::<Result<Vec<_>>>()?;
        budget.map_or(Ok(hits.clone()), |budget| recall::within(hits, budget))
    }
}

/// The best learnings for words, and for the issues and files that they may be linked with.
pub(crate) fn recalled(tx: &Tx<'_>, words: &str, issues: &[IssueId], now: Timestamp, limit: usize) -> Result<Vec<Hit>> {
    if !learnings::is_any(tx)? {
        return Ok(Vec::new());
    }
    let filter = Filter { kinds: vec![TextKind::Learning], ..Filter::default() };
    let mut session = RecallSession::open(tx, words, filter, &[], now)?;
    session.query.add_links(issues.iter().map(IssueId::as_str));
    if session.query.terms.is_empty() {
        return Ok(Vec::new());
    }
    let found = session.best(limit)?;
    let hits = found.iter().map(|one| session.hit(one, false)).collect::<Result<Vec<_>>>()?;
    Ok(hits.into_iter().filter_map(Recalled::into_learning).collect())
}

/// Hashes of the actors and agents with a name.
fn actors(tx: &Tx<'_>, name: &str) -> Result<Vec<u32>> {
    let agents = agents::candidates(tx, name).unwrap_or_default();
    Ok(agents.iter().map(|agent| short_hash(agent.id.as_str())).chain([short_hash(name)]).collect())
}

/// The messages of the newest commits of the store's repository.
fn commits(store: &StoreLocation) -> Result<Vec<Document>> {
    let refused = |error: Error| {
        Error::new(Code::Unsupported, format!("no commits: {}", error.message)).hint("--in without commits")
    };
    let repo = store.dir().map(|dir| dir.project_dir().to_owned()).map_err(refused)?;
    let found = pensa_git::commits(&repo, MAX_COMMITS).map_err(refused)?;
    let document = |commit: pensa_git::CommitMessage| {
        let (title, body) = commit.message.split_once('\n').unwrap_or((&commit.message, ""));
        Some(Document {
            kind: TextKind::Commit,
            id: commit.id,
            at: Timestamp::from_millis(commit.seconds.saturating_mul(1000)).ok()?,
            actor: commit.author,
            group: None,
            title: Some(title.to_owned()),
            body: body.trim().to_owned(),
            tags: Vec::new(),
            files: Vec::new(),
            links: Vec::new(),
            impact: 1,
        })
    };
    Ok(found.into_iter().filter_map(document).collect())
}

/// A document that may be a result.
#[derive(Debug)]
struct Candidate {
    /// Its number in the index
    number: u32,
    document: Document,
    /// Set if it is a learning
    learning: Option<Learning>,
    tokens: Vec<recall::words::Token>,
    near: Nearness,
    lexical: f64,
    scored: Scored,
    /// How much of the ranking by words counts: all of it without a model
    share: f64,
    /// Its place by meaning
    near_place: Option<usize>,
    /// What meaning contributed
    vector: f64,
}

impl Candidate {
    fn score(&self) -> f64 {
        self.lexical + self.vector
    }

    /// Whose share of the answer is bounded.
    fn sourced(&self, tuning: &Tuning) -> Sourced {
        let (document, score) = (&self.document, self.score());
        match (document.kind, &document.group) {
            (TextKind::Session, Some(session)) => {
                Sourced { source: key_of(TextKind::Issue, session), score, repeated: tuning.repeated }
            }
            _ => Sourced { source: key_of(TextKind::Learning, &document.actor), score, repeated: 1.0 },
        }
    }
}

/// A search on one state of the store.
struct RecallSession<'t, 'c> {
    tx: &'t Tx<'c>,
    index: RecallIndex,
    query: Query,
    filter: Filter,
    tuning: Tuning,
    tokenizer: Tokenizer,
    commits: BTreeMap<String, Document>,
    now: Timestamp,
    visible: HashMap<String, bool>,
    /// The query as a model understands it, with the model's id
    meaning: Option<(String, ByteVector)>,
}

impl<'t, 'c> RecallSession<'t, 'c> {
    fn open(tx: &'t Tx<'c>, words: &str, filter: Filter, commits: &[Document], now: Timestamp) -> Result<Self> {
        let (tuning, mut tokenizer) = (Tuning::default(), Tokenizer::default());
        let query = Query::new(words, &mut tokenizer, &tuning);
        let index = RecallIndex::read(tx, commits)?;
        let commits = commits.iter().map(|commit| (commit.id.clone(), commit.clone())).collect();
        Ok(Self { tx, index, query, filter, tuning, tokenizer, commits, now, visible: HashMap::new(), meaning: None })
    }

    /// The best documents, best first.
    fn best(&mut self, limit: usize) -> Result<Vec<Candidate>> {
        let words: Vec<Word> = self.query.words().chain(self.filter.must.iter().flatten().copied()).collect();
        self.index.fetch(self.tx, words.into_iter())?;
        let has_nothing_to_find = self.query.terms.is_empty()
            && self.filter.must.is_empty()
            && self.filter.actors.is_none()
            && self.filter.since.is_none();
        if has_nothing_to_find && self.meaning.is_none() || limit == 0 {
            return Ok(Vec::new());
        }
        let mut wanted = self.tuning.candidates.max(limit * 2);
        let compared = match &self.meaning {
            Some((model, query)) => vectors::compare(self.tx, model, query)?,
            None => Vec::new(),
        };
        loop {
            let mut scored = if has_nothing_to_find {
                Vec::new()
            } else {
                search(&self.index, &self.query, &self.filter, &self.tuning, wanted)
            };
            let all = scored.len();
            let near = self.nearest(&compared, wanted);
            let known: HashSet<u32> = scored.iter().map(|one| one.number).collect();
            let only_near = near.keys().filter(|number| !known.contains(number));
            scored.extend(only_near.map(|number| Scored::unmatched(*number)));
            let all = all.max(near.len());
            let found = self.read(scored, &near)?;
            // Of what expired, or is hidden, the index knows nothing.
            if found.len() >= limit || all < wanted {
                return Ok(self.in_order(found, limit));
            }
            wanted *= 4;
        }
    }

    /// The documents whose vectors are nearest to the query, with their places.
    fn nearest(&self, compared: &[(f32, VectorKey)], limit: usize) -> Nearest {
        if compared.is_empty() {
            return Nearest::new();
        }
        let admitted = admitted(&self.index, &self.filter, &self.tuning);
        let numbered = self.index.docs().iter().zip(0_u32..).zip(&admitted).filter(|(_, admitted)| **admitted);
        let numbers: HashMap<(TextKind, u64), u32> =
            numbered.map(|((doc, number), _)| ((doc.kind, doc.key), number)).collect();
        let near = compared.iter().filter(|(similarity, _)| *similarity > 0.0);
        let mut near: Vec<(f32, VectorKey, u32)> = near
            .filter_map(|(similarity, key)| Some((*similarity, *key, *numbers.get(&(key.kind, key.key))?)))
            .collect();
        let order = |a: &(f32, VectorKey, u32), b: &(f32, VectorKey, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if near.len() > limit {
            near.select_nth_unstable_by(limit, order);
            near.truncate(limit);
        }
        near.sort_unstable_by(order);
        near.into_iter().enumerate().map(|(place, (_, key, number))| (number, (place, key))).collect()
    }

    /// Reads the texts of documents. Those that may not be shown are left out.
    fn read(&mut self, scored: Vec<Scored>, near: &Nearest) -> Result<Vec<Candidate>> {
        let mut numbers: BTreeMap<(TextKind, String), Scored> = BTreeMap::new();
        for one in scored {
            let kind = self.index.docs()[one.number as usize].kind;
            numbers.insert((kind, self.index.id(self.tx, one.number)?), one);
        }
        let mut found = Vec::new();
        for kind in TextKind::ALL {
            let ids: Vec<&str> = numbers.keys().filter(|(of, _)| *of == kind).map(|(_, id)| id.as_str()).collect();
            if ids.is_empty() {
                continue;
            }
            let texts = match kind {
                TextKind::Commit => ids.iter().filter_map(|id| self.commits.get(*id).cloned()).collect(),
                _ => documents(self.tx, kind, &ids)?,
            };
            let mut learnings = match kind {
                TextKind::Learning => learnings::by_ids(self.tx, ids.iter().copied())?,
                _ => HashMap::new(),
            };
            for document in texts {
                let learning = learnings.remove(&document.id);
                if learning.as_ref().is_some_and(|learning| learning.has_expired(self.now))
                    || !self.is_visible(&document)?
                {
                    continue;
                }
                let Some(scored) = numbers.get(&(kind, document.id.clone())).cloned() else { continue };
                // A vector of what the text was before says nothing about it.
                let near = near.get(&scored.number).filter(|(_, key)| VectorKey::of(&document) == Some(*key));
                if near.is_none() && scored.prior == 0.0 {
                    continue;
                }
                let near_place = near.map(|(place, _)| *place);
                let tokens = tokens(&mut self.tokenizer, &document.text());
                found.push(Candidate {
                    number: scored.number,
                    document,
                    learning,
                    tokens,
                    near: Nearness::default(),
                    lexical: 0.0,
                    scored,
                    share: 1.0,
                    near_place,
                    vector: 0.0,
                });
            }
        }
        Ok(found)
    }

    /// Whether a document may be shown: sessions of deleted agents are hidden.
    fn is_visible(&mut self, document: &Document) -> Result<bool> {
        let (TextKind::Session, Some(session)) = (document.kind, &document.group) else { return Ok(true) };
        if let Some(known) = self.visible.get(session) {
            return Ok(*known);
        }
        let is_visible = sessions::get(self.tx, &session.parse()?)?.is_some();
        self.visible.insert(session.clone(), is_visible);
        Ok(is_visible)
    }

    /// Ranks candidates by all that is known, and bounds what one source may have.
    fn in_order(&self, mut found: Vec<Candidate>, limit: usize) -> Vec<Candidate> {
        let reader = Reader::new(&self.query, rarity(&self.query, found.iter().map(|one| &one.scored)));
        let top = found.iter().map(|one| one.scored.score).fold(0.0, f64::max).max(1e-9);
        for one in &mut found {
            one.near = reader.read(&one.tokens, self.tuning.window);
            one.lexical = self.tuning.blend(one.scored.score / top, one.near);
        }
        if self.meaning.is_some() {
            fuse(&mut found);
        }
        let order = |a: &Candidate, b: &Candidate| {
            let name = |one: &Candidate| (one.document.kind, self.index.docs()[one.number as usize].key);
            b.score().total_cmp(&a.score()).then_with(|| name(a).cmp(&name(b)))
        };
        found.sort_by(order);
        let sources: Vec<Sourced> = found.iter().map(|one| one.sourced(&self.tuning)).collect();
        let mut found: Vec<Option<Candidate>> = found.into_iter().map(Some).collect();
        diverse(&sources, limit).into_iter().filter_map(|at| found[at].take()).collect()
    }

    /// A result.
    fn hit(&mut self, one: &Candidate, explain: bool) -> Result<Recalled> {
        let Candidate { document, learning, .. } = one;
        let words: HashSet<Word> = self.query.words().collect();
        let is_session = document.kind == TextKind::Session;
        let id = match document.id.parse() {
            Ok(number) if is_session => HitId::Number(number),
            _ => HitId::Text(document.id.clone()),
        };
        let session: Option<SessionId> = match (is_session, &document.group, learning) {
            (true, Some(session), _) => Some(session.parse()?),
            (_, _, Some(learning)) => learning.session_id.clone(),
            _ => None,
        };
        let issue_id = match (document.kind, &document.group) {
            (TextKind::Comment, Some(issue)) => Some(issue.parse()?),
            _ => learning.as_ref().and_then(|learning| learning.issue_id.clone()),
        };
        Ok(Recalled {
            kind: document.kind,
            id,
            at: document.at,
            actor: self.actor(document)?,
            snippet: snippet(&document.text(), &one.tokens, &words, one.near),
            score: (one.score() * 1000.0).round() as i64,
            context: match (&session, is_session) {
                (Some(session), true) => self.around(session, document)?,
                _ => Vec::new(),
            },
            session_id: session,
            issue_id,
            learning: learning.clone().map(RecalledLearning::new),
            cut: false,
            explain: explain.then(|| self.explanation(one)),
        })
    }

    /// The name of who wrote it: of an entry, its agent.
    fn actor(&self, document: &Document) -> Result<String> {
        if document.kind != TextKind::Session {
            return Ok(document.actor.clone());
        }
        let agent = agents::get(self.tx, &document.actor.parse::<AgentId>()?)?;
        Ok(agent.and_then(|agent| agent.name).unwrap_or_else(|| document.actor.clone()))
    }

    /// The entries around a short one.
    fn around(&self, session: &SessionId, document: &Document) -> Result<Vec<Neighbour>> {
        if document.body.len() >= SHORT_ENTRY {
            return Ok(Vec::new());
        }
        let number = document.id.parse().unwrap_or_default();
        let mut around = Vec::new();
        for entry in entries::around(self.tx, session, number)? {
            let body = recall::documents::text_of_entry(&entry.data);
            let end = body.floor_char_boundary(NEIGHBOUR_BYTES);
            let more = if end < body.len() { "…" } else { "" };
            around.push(Neighbour {
                id: entry.id,
                at: entry.at,
                snippet: format!("{}{more}", text::printable_line(&body[..end])),
            });
        }
        Ok(around)
    }

    fn explanation(&self, one: &Candidate) -> Explanation {
        let near = self.nearness(one) * one.share;
        let top = one.scored.score.max(1e-9) / (one.lexical - near).max(1e-9);
        // Of a text found by meaning only, age and impact do not count.
        let prior = if one.scored.prior == 0.0 { 1.0 } else { one.scored.prior };
        let share = |score: f64| (score / top * 1000.0).round() / 1000.0;
        let term = |(term, score): &(u16, f64)| ExplainedTerm {
            term: self.query.terms[usize::from(*term)].text.clone(),
            score: share(score * one.scored.prior),
        };
        let mut fields: Vec<String> = Vec::new();
        for word in self.query.words() {
            self.index.for_each(word, &mut |number, counts| {
                if number == one.number {
                    let with = Field::ALL.into_iter().filter(|field| counts[*field as usize] > 0);
                    fields.extend(with.map(|field| field.as_str().to_owned()));
                }
            });
        }
        fields.sort();
        fields.dedup();
        Explanation {
            terms: one.scored.terms.iter().map(term).collect(),
            fields,
            recency: (prior * 1000.0).round() / 1000.0,
            nearness: (near * 1000.0).round() / 1000.0,
            vector: (one.vector * 1000.0).round() / 1000.0,
            links: share(one.scored.beside * one.scored.prior),
        }
    }

    fn nearness(&self, one: &Candidate) -> f64 {
        self.tuning.nearness(one.near)
    }
}

/// Documents near to a query: the place of each, and the text that its vector is of.
type Nearest = BTreeMap<u32, (usize, VectorKey)>;

/// Makes one ranking of those by words and by meaning.
fn fuse(found: &mut [Candidate]) {
    let fusion = Fusion::default();
    let mut by_words: Vec<usize> = (0..found.len()).filter(|at| found[*at].lexical > 0.0).collect();
    by_words.sort_by(|a, b| {
        let of = |at: usize| (found[at].document.kind, found[at].scored.number);
        found[*b].lexical.total_cmp(&found[*a].lexical).then_with(|| of(*a).cmp(&of(*b)))
    });
    let places: HashMap<usize, usize> = by_words.into_iter().enumerate().map(|(place, at)| (at, place)).collect();
    for (at, one) in found.iter_mut().enumerate() {
        let (words, meaning) = fusion.worth(places.get(&at).copied(), one.near_place);
        one.share = if one.lexical > 0.0 { words / one.lexical } else { 0.0 };
        (one.lexical, one.vector) = (words, meaning);
    }
}
