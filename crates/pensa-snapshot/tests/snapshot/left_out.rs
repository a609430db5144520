//! Providers that this build does not have: `cargo test -p pensa-snapshot --no-default-features`.

use pensa_core::Code;
use pensa_snapshot::Provider::{Btrfs, Overlay, Zfs};

use crate::kit::{Ground, apart};

apart!(a_provider_that_was_left_out_is_refused_with_the_name_of_its_feature, Plain, {
    let ground = Ground::new();
    ground.write("a", "one");
    for provider in [Btrfs, Overlay, Zfs] {
        let refused = ground.create(provider, "snap-1").expect_err("left out");
        assert_eq!(refused.code, Code::Unsupported, "{refused}");
        assert!(refused.hint.is_some_and(|hint| hint.contains(&format!("--features {provider}"))));
        assert_eq!(ground.leftovers(), [""; 0]);
    }
});
