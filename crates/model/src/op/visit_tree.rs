//! Operations that only read a tree: list it, find a name in it, verify every file.

use super::keys::{keyed, name, op_name};
use super::{FsState, ObjectKind, OpExecutor, OpInfo, OpName, WorkEstimate};
use crate::WorkloadCategory;

macro_rules! visits {
    ($($(#[$doc:meta])* $visit:ident $word:literal $perform:ident reads $reads:literal,)*) => {$(
        keyed! {
            $(#[$doc])*
            pub struct $visit {
                /// The tree.
                tree: String = name,
            }
        }

        impl OpInfo for $visit {
            fn op_names() -> &'static [OpName] {
                const { &[op_name::<Self>($word)] }
            }

            fn apply(&self, state: &mut FsState) -> WorkEstimate {
                let tree = state.find(ObjectKind::Tree, &self.tree);
                WorkEstimate::new(if $reads { tree.bytes } else { 0 }, 0, tree.entries)
            }

            fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
                executor.$perform(&self.tree)
            }

            fn group(&self) -> Option<WorkloadCategory> {
                Some(WorkloadCategory::Trees)
            }
        }
    )*};
}

visits! {
    /// List a tree with the attributes of every entry, like `ls -lR`.
    ListTree "list-tree" list_tree reads false,
    /// Search for a name in a tree, like `find -name`.
    FindInTree "find-in-tree" find_in_tree reads false,
    /// Read and verify every file of a tree.
    VerifyTree "verify-tree" verify_tree reads true,
}
