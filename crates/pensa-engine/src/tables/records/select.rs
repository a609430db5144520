//! Finds the records that a question means: by an index where a tested or sorting field has one, else by looking at all.
//!
//! An index only narrows down what is looked at. Whether a record is meant is always for its filters to say, so that the
//! answer is the same with any indexes and on any database.

use pensa_core::Result;
use pensa_core::record::filter::{self, Filter, Keys};
use pensa_core::record::{Cursor, Order, Record};

use super::{COLUMNS, Collection, Declared, read};
use crate::db::{Param, Tx};

/// Most records of one answer.
const MAX_RECORDS: usize = 10_000;
/// An answer with documents of so many bytes is enough.
const MAX_BYTES: usize = 8 << 20;
/// What a record is besides its document, in bytes.
const ENVELOPE: usize = 100;
/// How many rows are asked for at once where not all of them may be wanted.
const ROWS_AT_ONCE: usize = 128;
/// So few records are read and sorted here rather than sought in the order that is wanted.
const FEW: i64 = 500;

/// Which records are wanted, in which order, how many, and from where on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query {
    pub(crate) filters: Vec<Filter>,
    pub(crate) order: Order,
    pub(crate) limit: Option<usize>,
    pub(crate) after: Option<Cursor>,
}

/// Records, and where to go on if there may be more.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) records: Vec<Record>,
    pub(crate) next: Option<Cursor>,
}

/// The key of a row in the index that it was read off, and the id of its record.
type Place = (String, String);

/// A record that may be meant.
struct Candidate {
    /// About how much of an answer it is.
    bytes: usize,
    record: Record,
}

/// Rows that are read, in their order.
struct Plan<'c> {
    /// The index that they are read off, with the keys that are wanted; without one, the records by their ids.
    index: Option<(&'c Declared, Keys)>,
    /// Other indexes that leave out rows.
    probes: Vec<(i64, Vec<String>)>,
    descending: bool,
    /// Whether the rows come in the order that is wanted.
    is_sorted: bool,
    /// Whether each row is wanted.
    is_exact: bool,
}

impl Collection {
    pub(crate) fn select(&self, tx: &Tx<'_>, query: &Query) -> Result<Found> {
        filter::check_all(&query.filters)?;
        query.after.as_ref().map_or(Ok(()), |after| after.check(&query.order))?;
        let plan = self.plan(tx, query)?;
        let mut picked = Picked::new(query);
        if picked.limit == 0 {
            return Ok(Found { records: Vec::new(), next: None });
        }
        let mut place = query.after.as_ref().filter(|_| plan.is_sorted).map(|at| (at.key.clone(), at.id.clone()));
        loop {
            let rows = if plan.is_sorted && plan.is_exact { picked.missing() + 1 } else { ROWS_AT_ONCE };
            let (page, next) = plan.page(self, tx, place.as_ref(), rows.min(ROWS_AT_ONCE))?;
            place = next;
            picked.expect(page.len());
            for row in page {
                if filter::all_match(&query.filters, &row.record) && !picked.take(row, plan.is_sorted) {
                    return Ok(picked.finish(true));
                }
            }
            if place.is_none() {
                return Ok(picked.finish(false));
            }
        }
    }

    /// How many records a question means, whatever its limit.
    pub(crate) fn count(&self, tx: &Tx<'_>, filters: &[Filter]) -> Result<i64> {
        filter::check_all(filters)?;
        let query = Query { filters: filters.to_vec(), ..Query::default() };
        let plan = self.plan(tx, &query)?;
        if plan.is_exact && plan.probes.is_empty() {
            return plan.count(self, tx, i64::MAX);
        }
        let (mut count, mut place) = (0, None);
        loop {
            let (page, next) = plan.page(self, tx, place.as_ref(), ROWS_AT_ONCE)?;
            place = next;
            count += page.iter().filter(|row| filter::all_match(filters, &row.record)).count();
            if place.is_none() {
                return Ok(i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
    }

    /// The best way to the records that are wanted.
    fn plan(&self, tx: &Tx<'_>, query: &Query) -> Result<Plan<'_>> {
        let order = &query.order;
        let best = self.narrowest(&query.filters);
        let by_filter = |(index, keys): (&'_ Declared, Keys)| {
            let has_one_key = matches!(&keys, Keys::AnyOf(keys) if keys.len() == 1);
            // Rows of one key come by their ids, and are all alike to an order by that field.
            has_one_key && (order.is_by_id() || order.field == index.field)
        };
        if let Some((index, keys)) = best.clone()
            && by_filter((index, keys.clone()))
        {
            return Ok(self.through(Some((index, keys)), query, true));
        }
        let Some(sorting) = self.index_of(&order.field) else {
            let scan = self.through(None, query, order.is_by_id());
            // By their ids, records may be found soon; else all that may be meant are looked at anyway.
            return match best {
                Some(best) if !order.is_by_id() || self.are_few(tx, &best)? => {
                    Ok(self.through(Some(best), query, false))
                }
                _ => Ok(scan),
            };
        };
        if let Some(best) = best.filter(|(index, _)| index.id != sorting.id)
            && self.are_few(tx, &best)?
        {
            return Ok(self.through(Some(best), query, false));
        }
        let own = query.filters.iter().filter(|filter| filter.field == sorting.field).map(Filter::keys);
        let keys = own.min_by_key(rank).unwrap_or(Keys::Any);
        Ok(self.through(Some((sorting, keys)), query, true))
    }

    /// Reads rows off an index, or all, leaving out what other indexes tell.
    fn through<'c>(&'c self, index: Option<(&'c Declared, Keys)>, query: &Query, is_sorted: bool) -> Plan<'c> {
        let driving = index.as_ref().map(|(index, _)| index.id);
        let mut probes = Vec::new();
        let mut is_exact = true;
        let mut is_driven = false;
        for filter in &query.filters {
            let of = self.index_of(&filter.field).map(|index| index.id);
            let keys = filter.keys();
            let drives = of.is_some() && of == driving && index.as_ref().is_some_and(|(_, own)| *own == keys);
            is_exact &= drives && filter.is_told_by_keys() && !is_driven;
            is_driven |= drives;
            if let (Some(id), Keys::AnyOf(keys), true) = (of, keys, of != driving && driving.is_some()) {
                probes.push((id, keys));
            }
        }
        Plan { index, probes, descending: query.order.descending, is_sorted, is_exact }
    }

    /// The tested field with an index that is likely to leave the fewest records.
    fn narrowest(&self, filters: &[Filter]) -> Option<(&Declared, Keys)> {
        let tested = filters.iter().filter_map(|filter| Some((self.index_of(&filter.field)?, filter.keys())));
        tested.filter(|(_, keys)| *keys != Keys::Any).min_by_key(|(_, keys)| rank(keys))
    }

    fn are_few(&self, tx: &Tx<'_>, (index, keys): &(&Declared, Keys)) -> Result<bool> {
        let plan = Plan {
            index: Some((*index, keys.clone())),
            probes: Vec::new(),
            descending: false,
            is_sorted: false,
            is_exact: false,
        };
        Ok(plan.count(self, tx, FEW + 1)? <= FEW)
    }
}

/// The smaller, the fewer records have one of the keys; as a guess.
fn rank(keys: &Keys) -> usize {
    match keys {
        Keys::AnyOf(keys) => keys.len(),
        Keys::Between(_) => 2000,
        Keys::Any => 4000,
    }
}

/// SQL under construction: conditions, and the values of their places.
#[derive(Default)]
struct Conditions {
    texts: Vec<String>,
    values: Vec<Param<'static>>,
}

impl Conditions {
    fn place(&mut self, value: impl Into<Param<'static>>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn among(&mut self, column: &str, keys: &Keys) {
        match keys {
            Keys::Any => {}
            Keys::AnyOf(keys) if keys.len() == 1 => {
                let place = self.place(keys[0].clone());
                self.texts.push(format!("{column} = {place}"));
            }
            Keys::AnyOf(keys) if keys.is_empty() => self.texts.push("1 = 0".to_owned()),
            Keys::AnyOf(keys) => {
                let places: Vec<String> = keys.iter().map(|key| self.place(key.clone())).collect();
                self.texts.push(format!("{column} IN ({})", places.join(", ")));
            }
            Keys::Between((from, to)) => {
                let (from, to) = (self.place(from.clone()), self.place(to.clone()));
                self.texts.push(format!("{column} >= {from} AND {column} < {to}"));
            }
        }
    }
}

impl Plan<'_> {
    /// The rows after a place, and where to go on if there may be more.
    fn page(
        &self,
        collection: &Collection,
        tx: &Tx<'_>,
        after: Option<&Place>,
        rows: usize,
    ) -> Result<(Vec<Candidate>, Option<Place>)> {
        let (mut conditions, mut place) = (Conditions::default(), None);
        let name = conditions.place(collection.name.clone());
        let (way, past) = if self.descending && self.is_sorted { ("DESC", "<") } else { ("ASC", ">") };
        let has_one_key = matches!(&self.index, Some((_, Keys::AnyOf(keys))) if keys.len() == 1);
        let (from, key, order) = match &self.index {
            None => {
                conditions.texts.push(format!("r.collection = {name}"));
                if let Some((_, id)) = after {
                    let id = conditions.place(id.clone());
                    conditions.texts.push(format!("r.id {past} {id}"));
                }
                ("records r".to_owned(), "r.id", format!("r.id {way}"))
            }
            Some((index, keys)) => {
                let id = conditions.place(index.id);
                conditions.texts.push(format!("d.index_id = {id}"));
                conditions.among("d.k", keys);
                match after {
                    // All are of the same key, whatever the order that the place is of.
                    Some((_, id)) if has_one_key => {
                        let id = conditions.place(id.clone());
                        conditions.texts.push(format!("d.record_id {past} {id}"));
                    }
                    Some((key, id)) => {
                        let (key, id) = (conditions.place(key.clone()), conditions.place(id.clone()));
                        conditions.texts.push(format!("(d.k, d.record_id) {past} ({key}, {id})"));
                    }
                    None => {}
                }
                let from = format!("record_keys d JOIN records r ON r.collection = {name} AND r.id = d.record_id");
                let order =
                    if has_one_key { format!("d.record_id {way}") } else { format!("d.k {way}, d.record_id {way}") };
                (from, "d.k", order)
            }
        };
        for (index, keys) in &self.probes {
            let mut own = Conditions { values: std::mem::take(&mut conditions.values), texts: Vec::new() };
            let id = own.place(*index);
            own.among("p.k", &Keys::AnyOf(keys.clone()));
            let exists = format!(
                "EXISTS (SELECT 1 FROM record_keys p WHERE p.index_id = {id} AND {} AND p.record_id = d.record_id)",
                own.texts.join(" AND ")
            );
            conditions.values = own.values;
            conditions.texts.push(exists);
        }
        let limit = conditions.place(i64::try_from(rows).unwrap_or(i64::MAX));
        let sql = format!(
            "SELECT {COLUMNS}, {key} FROM {from} WHERE {} ORDER BY {order} LIMIT CAST({limit} AS BIGINT)",
            conditions.texts.join(" AND ")
        );
        let mut found = Vec::with_capacity(rows);
        tx.for_each(&sql, &conditions.values, |row| {
            found.push(Candidate { bytes: row.str(4)?.len() + ENVELOPE, record: read(row)? });
            if found.len() == rows {
                place = Some((row.text(5)?, row.text(1)?));
            }
            Ok(())
        })?;
        Ok((found, place))
    }

    /// How many rows there are, as far as `most`.
    fn count(&self, collection: &Collection, tx: &Tx<'_>, most: i64) -> Result<i64> {
        let mut conditions = Conditions::default();
        let from = match &self.index {
            None => {
                let name = conditions.place(collection.name.clone());
                conditions.texts.push(format!("r.collection = {name}"));
                "records r"
            }
            Some((index, keys)) => {
                let id = conditions.place(index.id);
                conditions.texts.push(format!("d.index_id = {id}"));
                conditions.among("d.k", keys);
                "record_keys d"
            }
        };
        let most = conditions.place(most);
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT 1 FROM {from} WHERE {} LIMIT CAST({most} AS BIGINT)) AS counted",
            conditions.texts.join(" AND ")
        );
        Ok(tx.query_one(&sql, &conditions.values, |row| row.int(0))?.unwrap_or_default())
    }
}

/// The records of an answer, while they are being gathered.
struct Picked<'q> {
    query: &'q Query,
    limit: usize,
    bytes: usize,
    /// With their places in the order that is wanted, if they do not come in that order.
    some: Vec<((String, String), usize, Record)>,
    /// Whether some were left out that come later.
    has_more: bool,
}

impl<'q> Picked<'q> {
    fn new(query: &'q Query) -> Self {
        let limit = query.limit.unwrap_or(MAX_RECORDS).min(MAX_RECORDS);
        Self { query, limit, bytes: 0, some: Vec::new(), has_more: false }
    }

    /// Makes room for so many more.
    fn expect(&mut self, more: usize) {
        self.some.reserve(more);
    }

    fn missing(&self) -> usize {
        self.limit - self.some.len()
    }

    /// Takes a record in; says whether another may be wanted.
    fn take(&mut self, candidate: Candidate, is_sorted: bool) -> bool {
        let Candidate { bytes, record, .. } = candidate;
        if is_sorted {
            if self.some.len() >= self.limit || self.bytes >= MAX_BYTES {
                return false;
            }
            self.bytes += bytes;
            self.some.push(((String::new(), String::new()), bytes, record));
            return true;
        }
        let place = self.query.order.place(&record);
        if self
            .query
            .after
            .as_ref()
            .is_some_and(|after| !self.is_before(&(after.key.clone(), after.id.clone()), &place))
        {
            return true;
        }
        self.bytes += bytes;
        self.some.push((place, bytes, record));
        if self.some.len() >= 2 * self.limit + ROWS_AT_ONCE || self.bytes > 4 * MAX_BYTES {
            self.cut();
        }
        true
    }

    fn is_before(&self, one: &(String, String), other: &(String, String)) -> bool {
        if self.query.order.descending { one > other } else { one < other }
    }

    /// Leaves the first ones only.
    fn cut(&mut self) {
        self.some.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));
        if self.query.order.descending {
            self.some.reverse();
        }
        self.bytes = 0;
        let mut kept = 0;
        while kept < self.some.len().min(self.limit) && self.bytes < MAX_BYTES {
            self.bytes += self.some[kept].1;
            kept += 1;
        }
        self.has_more |= kept < self.some.len();
        self.some.truncate(kept);
    }

    fn finish(mut self, has_more: bool) -> Found {
        // Those that came in order have no places, and stay as they came.
        if self.some.first().is_some_and(|((_, id), ..)| !id.is_empty()) {
            self.cut();
        }
        let records: Vec<Record> = self.some.into_iter().map(|(_, _, record)| record).collect();
        let last = records.last().filter(|_| has_more || self.has_more);
        let next = last.map(|last| {
            let (key, id) = self.query.order.place(last);
            Cursor::after(&self.query.order, key, id)
        });
        Found { records, next }
    }
}
