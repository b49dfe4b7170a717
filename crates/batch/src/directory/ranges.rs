//! Formats numbers as ranges for `sbatch --array`.

/// Formats sorted numbers, with consecutive ones as a range: `0-7,9`.
pub fn ranges(numbers: &[u32]) -> String {
    let follows = |a: &u32, b: &u32| a.checked_add(1) == Some(*b);
    let words = numbers.chunk_by(follows).map(|chunk| match chunk {
        [first, .., last] => format!("{first}-{last}"),
        one => one.iter().map(ToString::to_string).collect(),
    });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }
}
