//! How records look.

use pensa_core::json;
use pensa_core::ops::record::{Applied, Collection, Compacted, Counted, Deleted, Indexed};
use pensa_core::record::Record;

use super::agents::brief;
use super::{Render, Screen};

impl Render for Record {
    fn render(&self, screen: &mut Screen) {
        screen.id(&self.id).plain(&format!(" rev {} ", self.rev)).faint(&self.updated_at.to_string()).end();
        for (name, value) in &self.data {
            screen.plain("  ").text(name).plain(": ");
            match value.as_str() {
                Some(text) => screen.text(text).end(),
                None => screen.text(&json::to_line(value).unwrap_or_default()).end(),
            }
        }
    }

    fn ids(&self) -> Vec<String> {
        vec![self.id.clone()]
    }
}

impl Render for Vec<Record> {
    fn render(&self, screen: &mut Screen) {
        for record in self {
            let data = json::to_line(&record.data).unwrap_or_default();
            screen.id(&record.id).plain(" ").text(&brief(&data)).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|record| record.id.clone()).collect()
    }
}

impl Render for Counted {
    fn render(&self, screen: &mut Screen) {
        screen.plain(&self.count.to_string()).end();
    }

    fn ids(&self) -> Vec<String> {
        vec![self.count.to_string()]
    }
}

impl Render for Deleted {
    fn render(&self, screen: &mut Screen) {
        match self.ids.as_slice() {
            [id] => screen.plain("deleted ").id(id).end(),
            ids => screen.plain(&format!("deleted {} records", ids.len())).end(),
        }
    }

    fn ids(&self) -> Vec<String> {
        self.ids.clone()
    }
}

fn collection_line(collection: &Collection, screen: &mut Screen) {
    screen.id(&collection.collection).plain(&format!(" {} records", collection.records));
    if !collection.indexes.is_empty() {
        screen.plain(", by ").text(&collection.indexes.join(", "));
    }
    screen.end();
}

impl Render for Vec<Collection> {
    fn render(&self, screen: &mut Screen) {
        self.iter().for_each(|collection| collection_line(collection, screen));
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|collection| collection.collection.clone()).collect()
    }
}

impl Render for Indexed {
    fn render(&self, screen: &mut Screen) {
        collection_line(&self.collection, screen);
    }

    fn ids(&self) -> Vec<String> {
        self.collection.indexes.clone()
    }
}

impl Render for Vec<Applied> {
    fn render(&self, screen: &mut Screen) {
        for applied in self {
            let became = applied.rev.map_or_else(|| " deleted".to_owned(), |rev| format!(" rev {rev}"));
            screen.id(&applied.id).plain(&became).end();
        }
    }

    fn ids(&self) -> Vec<String> {
        self.iter().map(|applied| applied.id.clone()).collect()
    }
}

impl Render for Compacted {
    fn render(&self, screen: &mut Screen) {
        let Self { collections, bytes_before, bytes } = self;
        screen.plain(&format!("{collections} collections, {bytes_before} bytes before, {bytes} now")).end();
    }

    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
}
