//! All operations, one module per entity, and the list of them from which every interface is derived.
//!
//! The doc comment of an operation is its help text, so it is written for users.

pub mod agent;
pub mod audit;
pub mod backup;
pub mod batch;
pub mod briefing;
pub mod comment;
pub mod conflict;
pub mod cost;
pub mod dep;
pub mod distill;
pub mod event;
pub mod gc;
pub mod import;
pub mod issue;
pub mod job;
pub mod kv;
pub mod label;
pub mod learning;
pub mod link;
pub mod lock;
pub mod loops;
pub mod next;
pub mod project;
pub mod record;
pub mod recover;
pub mod refs;
pub mod release;
pub mod repo;
pub mod run;
pub mod session;
pub mod signal;
pub mod skill;
pub mod snapshot;
pub mod store;
pub mod sync;
pub mod token;
pub mod trace;
pub mod tracker;
pub mod transcript;
pub mod triage;
pub mod undo;
pub mod upkeep;
pub mod view;
pub mod work;

/// Calls `$with!` with the path of every operation, separated by commas.
#[macro_export]
macro_rules! for_each_op {
    ($with:ident) => {
        $crate::for_each_op! { $with:
            issue {
                Create Update Close Accept Reopen Release Heartbeat Delete Show List Ready Blocked Search Count Children
                History
            }
            next { ClaimNext }
            label { List Rename }
            link { Add List Remove }
            view { Save List Remove }
            trace { Trace }
            cost { Cost }
            triage { Insights Plan Why Impact Diff Graph Chart }
            event { List }
            store { Status }
            dep { Add Remove List Tree Cycles }
            comment { Add List }
            refs { Add List Remove }
            store { Export Import }
            conflict { List Resolve }
            store { Doctor }
            gc { Gc Space }
            backup { Backup Backups Restore }
            store { Where Info }
            batch { Batch }
            undo { Undo Redo List }
            project { Create List Archive }
            token { Create List Revoke }
            audit { Audit }
            agent { Create List Show Update Sleep Wake Kill Delete Import }
            session { List Search Show Archive Delete Prune Reset Compact Append History Context }
            repo { Add List Show Remove CreateWorkspace ListWorkspaces }
            run { Start Update Finish List Show Events AddEvent Harnesses SetHarness Runtimes SetRuntime }
            snapshot { Create List Show Restore Delete }
            job { Start TakeSlot Update Finish Cancel FailLostJobs Import List Stats Show }
            kv { Get Set List Delete }
            record { Put Get Query Count Delete Collections Index Apply Compact }
            work { Start Current Pause Resume Done AddSteps FinishStep Steps List }
            release { Ship List Changelog }
            skill { Set List Remove Import }
            learning { Remember ImportLearnings Recall List Show Verify Forget }
            upkeep { Useful Conflicts Agree Supersede Merge Review Files About MoveFiles Stats }
            distill { Distill Prompt RememberAll }
            loops {
                Create ImportLoops ImportLoopFiles List Show Tree Claim Start Pause Resume Rebase Iterate Submit Approve
                Reject Complete Fail Invalidate Archive
            }
            recover { Recover }
            signal { Send ImportSignals List Show Ack Prune }
            lock { Acquire Release Status List }
            briefing { Brief }
            sync { Changes ApplyRecords Pending Peers }
            import { Records }
            transcript { ImportTranscript }
            tracker { ImportIssues ExportIssues }
        }
    };
    ($with:ident: $($module:ident { $($op:ident)* })*) => {
        $with! { $($($crate::ops::$module::$op,)*)* }
    };
}

/// Calls `$with!` with every entity that is attached to issues: its module in [`ops`](crate::ops), its type and the type
/// of its id. Each has the operations `Add`, `List` and `Remove`.
#[macro_export]
macro_rules! for_each_attached {
    ($with:ident) => {
        $with! { refs Ref RefId, }
    };
}
