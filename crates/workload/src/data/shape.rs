//! The shape of a tree of files: directories, names and sizes from a seed; pure.

use std::path::PathBuf;

use model::{Bytes, SeededRng, TreeSpec};

use crate::files::names::tree_name;

/// Directories are nested no deeper than this.
const DEEPEST: usize = 8;

/// A file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// Path below the top of the tree.
    pub path: PathBuf,
    /// Its size.
    pub size: Bytes,
}

/// Directories and files of a tree, paths below its top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLayout {
    /// Directories, parents before children.
    pub directories: Vec<PathBuf>,
    /// Files.
    pub files: Vec<TreeFile>,
}

impl TreeLayout {
    /// Generates the tree of a seed.
    ///
    /// Sizes follow a bounded Pareto distribution whose exponent yields the requested mean: many
    /// small files and few large ones, as in real trees. The requested sum is exact if the bounds
    /// permit it.
    pub fn generate(spec: &TreeSpec, seed: u64) -> Self {
        let mut rng = SeededRng::substream(seed, "tree");
        let directories = directories(spec.directories as usize, &mut rng);
        let sizes = sizes(spec, &mut rng);
        let files = sizes
            .into_iter()
            .enumerate()
            .map(|(i, size)| {
                let parent = rng.below(directories.len() as u64 + 1) as usize;
                let parent = directories.get(parent).cloned().unwrap_or_default();
                TreeFile { path: parent.join(tree_name('f', i, &mut rng)), size: Bytes(size) }
            })
            .collect();
        Self { directories, files }
    }

    /// Entries below the top: directories and files.
    pub fn entries(&self) -> u64 {
        (self.directories.len() + self.files.len()) as u64
    }

    /// Bytes in all files together.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.size.0).sum()
    }
}

fn directories(count: usize, rng: &mut SeededRng) -> Vec<PathBuf> {
    let mut made: Vec<PathBuf> = Vec::with_capacity(count);
    for i in 0..count {
        // The place one past the last is the top itself.
        let parent = made.get(rng.below(made.len() as u64 + 1) as usize);
        let parent = parent.filter(|p| p.components().count() < DEEPEST).cloned();
        made.push(parent.unwrap_or_default().join(tree_name('d', i, rng)));
    }
    made
}

fn sizes(spec: &TreeSpec, rng: &mut SeededRng) -> Vec<u64> {
    if spec.files == 0 {
        return Vec::new();
    }
    let (low, high) = (spec.smallest.0.max(1) as f64, spec.largest.0.max(1) as f64);
    let mean = (spec.bytes.0 as f64 / spec.files as f64).clamp(low, high);
    let exponent = exponent_for_mean(mean, low, high);
    let mut sizes: Vec<u64> = (0..spec.files)
        .map(|_| quantile(rng.next_f64(), exponent, low, high).round() as u64)
        .collect();
    meet_sum(&mut sizes, spec);
    sizes
}

/// The `p`-quantile of the bounded Pareto distribution (density proportional to `x^(-a-1)`).
fn quantile(p: f64, a: f64, low: f64, high: f64) -> f64 {
    if a.abs() < 1e-9 {
        return low * (high / low).powf(p);
    }
    let (l, h) = (low.powf(-a), high.powf(-a));
    (l - p * (l - h)).powf(-1.0 / a).clamp(low, high)
}

/// Mean of the bounded Pareto distribution in closed form. The two removable singularities are
/// avoided by a small offset.
fn mean_of(a: f64, low: f64, high: f64) -> f64 {
    let a = if a.abs() < 1e-6 || (a - 1.0).abs() < 1e-6 { a + 2e-6 } else { a };
    let norm = (low.powf(-a) - high.powf(-a)) / a;
    (low.powf(1.0 - a) - high.powf(1.0 - a)) / ((a - 1.0) * norm)
}

/// The exponent that gives the mean, by bisection: the mean falls as the exponent grows.
fn exponent_for_mean(mean: f64, low: f64, high: f64) -> f64 {
    if high <= low {
        return 0.0;
    }
    let (mut few, mut many) = (-20.0, 20.0);
    for _ in 0..100 {
        let middle = f64::midpoint(few, many);
        if mean_of(middle, low, high) > mean {
            few = middle;
        } else {
            many = middle;
        }
    }
    f64::midpoint(few, many)
}

/// Moves sizes within their bounds until they add up.
fn meet_sum(sizes: &mut [u64], spec: &TreeSpec) {
    let mut sum: u64 = sizes.iter().sum();
    for size in sizes.iter_mut() {
        if sum < spec.bytes.0 {
            let more = (spec.bytes.0 - sum).min(spec.largest.0.saturating_sub(*size));
            *size += more;
            sum += more;
        } else {
            let less = (sum - spec.bytes.0).min(size.saturating_sub(spec.smallest.0));
            *size -= less;
            sum -= less;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    const PUBLISHED: TreeSpec = TreeSpec {
        files: 7_500,
        directories: 900,
        bytes: Bytes(1_900_000_000),
        smallest: Bytes(10_000),
        largest: Bytes(5_000_000),
    };

    #[test]
    fn the_published_tree_has_its_counts_and_its_spread() {
        let tree = TreeLayout::generate(&PUBLISHED, 1);
        assert_eq!((tree.files.len(), tree.directories.len()), (7_500, 900));
        assert_eq!(tree.bytes(), 1_900_000_000);
        let mut sizes: Vec<u64> = tree.files.iter().map(|f| f.size.0).collect();
        sizes.sort_unstable();
        assert!(sizes[0] >= 10_000 && sizes[7_499] <= 5_000_000);
        assert!(sizes[7_400] > 1_000_000, "some are large: {}", sizes[7_400]);
        assert!(sizes[3_750] < 253_000, "most are smaller than the mean: {}", sizes[3_750]);
    }

    proptest! {
        #[test]
        fn generated_trees_meet_their_specification(
            files in 0u64..300, directories in 0u64..60, seed: u64,
            smallest in 1u64..10_000, spread in 0u64..1_000_000, share in 0.0f64..1.0,
        ) {
            let largest = smallest + spread;
            let mean = smallest as f64 + share * spread as f64;
            let spec = TreeSpec {
                files, directories, bytes: Bytes((files as f64 * mean) as u64),
                smallest: Bytes(smallest), largest: Bytes(largest),
            };
            let tree = TreeLayout::generate(&spec, seed);
            prop_assert_eq!(tree.entries(), files + directories);
            prop_assert!(tree.files.iter().all(|f| (smallest..=largest).contains(&f.size.0)));
            prop_assert_eq!(tree.bytes(), spec.bytes.0.max(files * smallest));
            let mut known: HashSet<PathBuf> = HashSet::from([PathBuf::new()]);
            for directory in &tree.directories {
                prop_assert!(known.contains(directory.parent().unwrap()), "parents come first");
                prop_assert!(known.insert(directory.clone()));
            }
            for file in &tree.files {
                prop_assert!(known.contains(file.path.parent().unwrap()));
            }
            prop_assert_eq!(TreeLayout::generate(&spec, seed), tree);
        }
    }
}
