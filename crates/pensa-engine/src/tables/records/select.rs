//! Finds the records that a query matches: through an index on a filtered or sorting field if one exists, else by a
//! scan.
//!
//! An index only reduces the rows that are read. The filters are always checked on the record itself, so the answer is
//! the same with any indexes and on any database.

use pensa_core::Result;
use pensa_core::record::filter::{self, Filter, Keys};
use pensa_core::record::{Cursor, Order, Record};

use super::{COLUMNS, Collection, FieldIndex, read};
use crate::db::{Param, Tx};

/// Most records in one answer.
const MAX_RECORDS: usize = 10_000;
/// An answer ends once its documents have this many bytes.
const MAX_BYTES: usize = 8 << 20;
/// Bytes of a record besides its document.
const ENVELOPE_BYTES: usize = 100;
/// Rows read per statement when the answer may be complete before all are read.
const ROWS_PER_QUERY: usize = 128;
/// Up to this many matching records are read and sorted in memory instead of walking the sorting index.
const MAX_SORTED_IN_MEMORY: i64 = 500;

/// Filters, order, limit and starting point of a query.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query {
    pub(crate) filters: Vec<Filter>,
    pub(crate) order: Order,
    pub(crate) limit: Option<usize>,
    pub(crate) after: Option<Cursor>,
}

/// Records, and the cursor to continue from if there may be more.
#[derive(Debug)]
pub(crate) struct SelectedRecords {
    pub(crate) records: Vec<Record>,
    pub(crate) next: Option<Cursor>,
}

/// A row's key in the index being read, and the id of its record.
type IndexPosition = (String, String);

/// A record that the index found; the filters decide whether it matches.
struct IndexedRecord {
    /// Approximate size in the answer.
    bytes: usize,
    record: Record,
}

/// How rows are read.
struct ReadPlan<'c> {
    /// The index to read, limited to these keys; without one, all records by id.
    index: Option<(&'c FieldIndex, Keys)>,
    /// Other indexes that exclude rows.
    probes: Vec<(i64, Vec<String>)>,
    descending: bool,
    /// Whether the rows arrive in the requested order.
    is_sorted: bool,
    /// Whether every row matches, without checking filters.
    is_exact: bool,
}

impl Collection {
    pub(crate) fn select(&self, tx: &Tx<'_>, query: &Query) -> Result<SelectedRecords> {
        filter::check_all(&query.filters)?;
        query.after.as_ref().map_or(Ok(()), |after| after.check(&query.order))?;
        let plan = self.plan(tx, query)?;
        let mut results = ResultPage::new(query);
        if results.limit == 0 {
            return Ok(SelectedRecords { records: Vec::new(), next: None });
        }
        let mut position = query.after.as_ref().filter(|_| plan.is_sorted).map(|at| (at.key.clone(), at.id.clone()));
        loop {
            let rows = if plan.is_sorted && plan.is_exact { results.remaining() + 1 } else { ROWS_PER_QUERY };
            let (page, next) = plan.page(self, tx, position.as_ref(), rows.min(ROWS_PER_QUERY))?;
            position = next;
            results.expect(page.len());
            for row in page {
                if filter::all_match(&query.filters, &row.record) && !results.add(row, plan.is_sorted) {
                    return Ok(results.finish(true));
                }
            }
            if position.is_none() {
                return Ok(results.finish(false));
            }
        }
    }

    /// The number of records that match all filters.
    pub(crate) fn count(&self, tx: &Tx<'_>, filters: &[Filter]) -> Result<i64> {
        filter::check_all(filters)?;
        let query = Query { filters: filters.to_vec(), ..Query::default() };
        let plan = self.plan(tx, &query)?;
        if plan.is_exact && plan.probes.is_empty() {
            return plan.count(self, tx, i64::MAX);
        }
        let (mut count, mut position) = (0, None);
        loop {
            let (page, next) = plan.page(self, tx, position.as_ref(), ROWS_PER_QUERY)?;
            position = next;
            count += page.iter().filter(|row| filter::all_match(filters, &row.record)).count();
            if position.is_none() {
                return Ok(i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
    }

    /// Chooses the cheapest way to the matching records.
    fn plan(&self, tx: &Tx<'_>, query: &Query) -> Result<ReadPlan<'_>> {
        let order = &query.order;
        let best = self.narrowest(&query.filters);
        let by_filter = |(index, keys): (&'_ FieldIndex, Keys)| {
            let has_one_key = matches!(&keys, Keys::AnyOf(keys) if keys.len() == 1);
            // Rows with one key come ordered by id, and an order by that field sees them as equal.
            has_one_key && (order.is_by_id() || order.field == index.field)
        };
        if let Some((index, keys)) = best.clone()
            && by_filter((index, keys.clone()))
        {
            return Ok(self.plan_with(Some((index, keys)), query, true));
        }
        let Some(sorting) = self.index_of(&order.field) else {
            let scan = self.plan_with(None, query, order.is_by_id());
            // A scan in id order may fill the limit early; any other order reads all matching records anyway.
            return match best {
                Some(best) if !order.is_by_id() || self.is_small(tx, &best)? => {
                    Ok(self.plan_with(Some(best), query, false))
                }
                _ => Ok(scan),
            };
        };
        if let Some(best) = best.filter(|(index, _)| index.id != sorting.id)
            && self.is_small(tx, &best)?
        {
            return Ok(self.plan_with(Some(best), query, false));
        }
        let own = query.filters.iter().filter(|filter| filter.field == sorting.field).map(Filter::keys);
        let keys = own.min_by_key(estimated_rows).unwrap_or(Keys::Any);
        Ok(self.plan_with(Some((sorting, keys)), query, true))
    }

    /// Reads an index, or all records, and excludes rows through the other indexes.
    fn plan_with<'c>(&'c self, index: Option<(&'c FieldIndex, Keys)>, query: &Query, is_sorted: bool) -> ReadPlan<'c> {
        let driving_id = index.as_ref().map(|(index, _)| index.id);
        let mut probes = Vec::new();
        let mut is_exact = true;
        let mut is_driven = false;
        for filter in &query.filters {
            let of = self.index_of(&filter.field).map(|index| index.id);
            let keys = filter.keys();
            let drives = of.is_some() && of == driving_id && index.as_ref().is_some_and(|(_, own)| *own == keys);
            is_exact &= drives && filter.is_decided_by_keys() && !is_driven;
            is_driven |= drives;
            if let (Some(id), Keys::AnyOf(keys), true) = (of, keys, of != driving_id && driving_id.is_some()) {
                probes.push((id, keys));
            }
        }
        ReadPlan { index, probes, descending: query.order.descending, is_sorted, is_exact }
    }

    /// The indexed filter that probably leaves the fewest records.
    fn narrowest(&self, filters: &[Filter]) -> Option<(&FieldIndex, Keys)> {
        let tested = filters.iter().filter_map(|filter| Some((self.index_of(&filter.field)?, filter.keys())));
        tested.filter(|(_, keys)| *keys != Keys::Any).min_by_key(|(_, keys)| estimated_rows(keys))
    }

    fn is_small(&self, tx: &Tx<'_>, (index, keys): &(&FieldIndex, Keys)) -> Result<bool> {
        let plan = ReadPlan {
            index: Some((*index, keys.clone())),
            probes: Vec::new(),
            descending: false,
            is_sorted: false,
            is_exact: false,
        };
        Ok(plan.count(self, tx, MAX_SORTED_IN_MEMORY + 1)? <= MAX_SORTED_IN_MEMORY)
    }
}

/// Estimates how many records have one of the keys; only the order of the results matters.
fn estimated_rows(keys: &Keys) -> usize {
    match keys {
        Keys::AnyOf(keys) => keys.len(),
        Keys::Between(_) => 2000,
        Keys::Any => 4000,
    }
}

/// SQL under construction: conditions and their parameters.
#[derive(Default)]
struct Conditions {
    texts: Vec<String>,
    values: Vec<Param<'static>>,
}

impl Conditions {
    fn param(&mut self, value: impl Into<Param<'static>>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn key_in(&mut self, column: &str, keys: &Keys) {
        match keys {
            Keys::Any => {}
            Keys::AnyOf(keys) if keys.len() == 1 => {
                let value = self.param(keys[0].clone());
                self.texts.push(format!("{column} = {value}"));
            }
            Keys::AnyOf(keys) if keys.is_empty() => self.texts.push("1 = 0".to_owned()),
            Keys::AnyOf(keys) => {
                let values: Vec<String> = keys.iter().map(|key| self.param(key.clone())).collect();
                self.texts.push(format!("{column} IN ({})", values.join(", ")));
            }
            Keys::Between((from, to)) => {
                let (from, to) = (self.param(from.clone()), self.param(to.clone()));
                self.texts.push(format!("{column} >= {from} AND {column} < {to}"));
            }
        }
    }
}

impl ReadPlan<'_> {
    /// The rows after a position, and where to continue if there may be more.
    fn page(
        &self,
        collection: &Collection,
        tx: &Tx<'_>,
        after: Option<&IndexPosition>,
        rows: usize,
    ) -> Result<(Vec<IndexedRecord>, Option<IndexPosition>)> {
        let (mut conditions, mut position) = (Conditions::default(), None);
        let name = conditions.param(collection.name.clone());
        let (direction, beyond) = if self.descending && self.is_sorted { ("DESC", "<") } else { ("ASC", ">") };
        let has_one_key = matches!(&self.index, Some((_, Keys::AnyOf(keys))) if keys.len() == 1);
        let (from, key, order) = match &self.index {
            None => {
                conditions.texts.push(format!("r.collection = {name}"));
                if let Some((_, id)) = after {
                    let id = conditions.param(id.clone());
                    conditions.texts.push(format!("r.id {beyond} {id}"));
                }
                ("records r".to_owned(), "r.id", format!("r.id {direction}"))
            }
            Some((index, keys)) => {
                let id = conditions.param(index.id);
                conditions.texts.push(format!("d.index_id = {id}"));
                conditions.key_in("d.k", keys);
                match after {
                    // All rows have the same key, so the id alone is the position.
                    Some((_, id)) if has_one_key => {
                        let id = conditions.param(id.clone());
                        conditions.texts.push(format!("d.record_id {beyond} {id}"));
                    }
                    Some((key, id)) => {
                        let (key, id) = (conditions.param(key.clone()), conditions.param(id.clone()));
                        conditions.texts.push(format!("(d.k, d.record_id) {beyond} ({key}, {id})"));
                    }
                    None => {}
                }
                let from = format!("record_keys d JOIN records r ON r.collection = {name} AND r.id = d.record_id");
                let order = if has_one_key {
                    format!("d.record_id {direction}")
                } else {
                    format!("d.k {direction}, d.record_id {direction}")
                };
                (from, "d.k", order)
            }
        };
        for (index, keys) in &self.probes {
            let mut own = Conditions { values: std::mem::take(&mut conditions.values), texts: Vec::new() };
            let id = own.param(*index);
            own.key_in("p.k", &Keys::AnyOf(keys.clone()));
            let exists = format!(
                "EXISTS (SELECT 1 FROM record_keys p WHERE p.index_id = {id} AND {} AND p.record_id = d.record_id)",
                own.texts.join(" AND ")
            );
            conditions.values = own.values;
            conditions.texts.push(exists);
        }
        let limit = conditions.param(i64::try_from(rows).unwrap_or(i64::MAX));
        let sql = format!(
            "SELECT {COLUMNS}, {key} FROM {from} WHERE {} ORDER BY {order} LIMIT CAST({limit} AS BIGINT)",
            conditions.texts.join(" AND ")
        );
        let mut found = Vec::with_capacity(rows);
        tx.for_each(&sql, &conditions.values, |row| {
            found.push(IndexedRecord { bytes: row.str(4)?.len() + ENVELOPE_BYTES, record: read(row)? });
            if found.len() == rows {
                position = Some((row.text(5)?, row.text(1)?));
            }
            Ok(())
        })?;
        Ok((found, position))
    }

    /// The number of rows, counted up to `most`.
    fn count(&self, collection: &Collection, tx: &Tx<'_>, most: i64) -> Result<i64> {
        let mut conditions = Conditions::default();
        let from = match &self.index {
            None => {
                let name = conditions.param(collection.name.clone());
                conditions.texts.push(format!("r.collection = {name}"));
                "records r"
            }
            Some((index, keys)) => {
                let id = conditions.param(index.id);
                conditions.texts.push(format!("d.index_id = {id}"));
                conditions.key_in("d.k", keys);
                "record_keys d"
            }
        };
        let most = conditions.param(most);
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT 1 FROM {from} WHERE {} LIMIT CAST({most} AS BIGINT)) AS counted",
            conditions.texts.join(" AND ")
        );
        Ok(tx.query_one(&sql, &conditions.values, |row| row.int(0))?.unwrap_or_default())
    }
}

/// Collects the records of an answer.
struct ResultPage<'q> {
    query: &'q Query,
    limit: usize,
    bytes: usize,
    /// Sort key, size and record; the sort key is empty if rows arrive in the requested order.
    records: Vec<((String, String), usize, Record)>,
    /// Whether later records were dropped.
    has_more: bool,
}

impl<'q> ResultPage<'q> {
    fn new(query: &'q Query) -> Self {
        let limit = query.limit.unwrap_or(MAX_RECORDS).min(MAX_RECORDS);
        Self { query, limit, bytes: 0, records: Vec::new(), has_more: false }
    }

    /// Reserves memory for more records.
    fn expect(&mut self, more: usize) {
        self.records.reserve(more);
    }

    fn remaining(&self) -> usize {
        self.limit - self.records.len()
    }

    /// Adds a record; returns whether another one fits.
    fn add(&mut self, candidate: IndexedRecord, is_sorted: bool) -> bool {
        let IndexedRecord { bytes, record, .. } = candidate;
        if is_sorted {
            if self.records.len() >= self.limit || self.bytes >= MAX_BYTES {
                return false;
            }
            self.bytes += bytes;
            self.records.push(((String::new(), String::new()), bytes, record));
            return true;
        }
        let position = self.query.order.sort_key(&record);
        if self
            .query
            .after
            .as_ref()
            .is_some_and(|after| !self.is_before(&(after.key.clone(), after.id.clone()), &position))
        {
            return true;
        }
        self.bytes += bytes;
        self.records.push((position, bytes, record));
        if self.records.len() >= 2 * self.limit + ROWS_PER_QUERY || self.bytes > 4 * MAX_BYTES {
            self.truncate_to_limit();
        }
        true
    }

    fn is_before(&self, one: &(String, String), other: &(String, String)) -> bool {
        if self.query.order.descending { one > other } else { one < other }
    }

    /// Sorts, and keeps only the first records up to the limits.
    fn truncate_to_limit(&mut self) {
        self.records.sort_unstable_by(|(a, ..), (b, ..)| a.cmp(b));
        if self.query.order.descending {
            self.records.reverse();
        }
        self.bytes = 0;
        let mut count = 0;
        while count < self.records.len().min(self.limit) && self.bytes < MAX_BYTES {
            self.bytes += self.records[count].1;
            count += 1;
        }
        self.has_more |= count < self.records.len();
        self.records.truncate(count);
    }

    fn finish(mut self, has_more: bool) -> SelectedRecords {
        // Rows that arrived in order have empty sort keys and must not be sorted.
        if self.records.first().is_some_and(|((_, id), ..)| !id.is_empty()) {
            self.truncate_to_limit();
        }
        let records: Vec<Record> = self.records.into_iter().map(|(_, _, record)| record).collect();
        let last = records.last().filter(|_| has_more || self.has_more);
        let next = last.map(|last| {
            let (key, id) = self.query.order.sort_key(last);
            Cursor::after(&self.query.order, key, id)
        });
        SelectedRecords { records, next }
    }
}
