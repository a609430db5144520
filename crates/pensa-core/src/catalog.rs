//! The list of all operations. What a surface serves, it derives from this list.

/// Calls `$with!` with the path of every operation, separated by commas.
#[macro_export]
macro_rules! for_each_op {
    ($with:ident) => {
        $with! {
            $crate::ops::issue::Create,
            $crate::ops::issue::Update,
            $crate::ops::issue::Close,
            $crate::ops::issue::Reopen,
            $crate::ops::issue::Release,
            $crate::ops::issue::Heartbeat,
            $crate::ops::issue::Delete,
            $crate::ops::issue::Show,
            $crate::ops::issue::List,
            $crate::ops::issue::Ready,
            $crate::ops::issue::Blocked,
            $crate::ops::issue::Search,
            $crate::ops::issue::Count,
            $crate::ops::issue::History,
            $crate::ops::store::Status,
            $crate::ops::dep::Add,
            $crate::ops::dep::Remove,
            $crate::ops::dep::List,
            $crate::ops::dep::Tree,
            $crate::ops::dep::Cycles,
            $crate::ops::comment::Add,
            $crate::ops::comment::List,
            $crate::ops::store::Export,
            $crate::ops::store::Import,
            $crate::ops::conflict::List,
            $crate::ops::conflict::Resolve,
            $crate::ops::store::Doctor,
            $crate::ops::backup::Backup,
            $crate::ops::backup::Backups,
            $crate::ops::backup::Restore,
            $crate::ops::store::Where,
            $crate::ops::store::Info,
            $crate::ops::batch::Batch,
            $crate::ops::undo::Undo,
            $crate::ops::project::Create,
            $crate::ops::project::List,
            $crate::ops::project::Archive,
            $crate::ops::token::Create,
            $crate::ops::token::List,
            $crate::ops::token::Revoke,
            $crate::ops::audit::Audit,
        }
    };
}
