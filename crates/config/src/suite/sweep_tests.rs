//! Tests the points of a sweep and their order.

use std::collections::BTreeSet;

use model::{Bytes, Op, SizeProfile, SweepAxis, Test};
use proptest::prelude::*;

use crate::catalog::document::TomlSource;
use crate::suite::suite_file;

/// Returns the tests of a suite that has one test with this sweep.
fn tests(sweep: &str, phase: &str, profile: SizeProfile) -> Result<Vec<Test>, String> {
    let text = format!(
        "name = \"s\"\ntitle = \"S\"\nsource = \"a test\"\n[[test]]\nname = \"s\"\n\
         title = \"S\"\nrationale = \"R\"\nspace = \"1 TiB\"\n[test.sweep]\n{sweep}\n\
         [[test.phase]]\nname = \"p\"\n{phase}\n"
    );
    let source = TomlSource { file: "s.toml", text: &text };
    let suite = suite_file::read(source, profile, None);
    suite.map(|(suite, _)| suite.tests).map_err(|e| e.to_string())
}

const WRITE: &str = "op = \"write\"\nfile = \"f\"\nsize = \"$size\"\nblock = \"$block\"\n\
                     cache = \"warm\"\nends = \"call\"";

#[test]
fn each_sweep_point_is_a_separate_test() {
    let sweep = "size = [\"64 KiB\", \"1 MiB\"]\nblock = { from = \"16 KiB\", to = \"256 KiB\", times = 4 }";
    let tests = tests(sweep, WRITE, SizeProfile::Smoke).unwrap();
    let names: Vec<&str> = tests.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(
        names,
        ["s-64k-16k", "s-64k-64k", "s-1m-16k", "s-1m-64k", "s-1m-256k"],
        "a request of 256 KiB is in no file of 64 KiB"
    );
    let point = tests[2].sweep.as_ref().unwrap();
    assert_eq!((point.sweep.as_str(), point.at[&SweepAxis::Size]), ("s", 1 << 20));
    let Op::Io(io) = &tests[2].phases[0].op else { panic!("no data operation") };
    assert_eq!((io.size, io.block), (Some(Bytes::mib(1)), Bytes::kib(16)));
    assert_eq!(tests[2].title, "S: size 1 MiB, block 16 KiB");
}

#[test]
fn an_axis_may_differ_by_profile() {
    let sweep = "size = { smoke = [\"1 MiB\"], quick = [\"1 MiB\", \"2 MiB\"], \
                 standard = { from = \"1 MiB\", to = \"4 MiB\", times = 2 }, study = [\"8 MiB\"] }\n\
                 block = [\"4 KiB\"]";
    let points = |profile| tests(sweep, WRITE, profile).unwrap().len();
    assert_eq!(SizeProfile::SIZES.map(points), [1, 2, 3, 1]);
}

#[test]
fn products_and_quotients_follow_the_point() {
    let phase = "op = \"write\"\nfile = \"f\"\nsize = \"$size / $threads\"\nblock = \"4 KiB\"\n\
                 align = \"2 * $stride\"\nthreads = \"$threads\"\nsharing = \"own\"\n\
                 cache = \"warm\"\nends = \"call\"";
    let sweep = "size = [\"1 MiB\"]\nthreads = [1, 4]\nstride = [\"8 KiB\"]";
    let tests = tests(sweep, phase, SizeProfile::Quick).unwrap();
    assert_eq!(tests[1].name, "s-1m-8k-4t");
    let Op::Io(io) = &tests[1].phases[0].op else { panic!("no data operation") };
    assert_eq!((io.size, io.align, io.threads), (Some(Bytes::kib(256)), Some(Bytes::kib(16)), 4));
}

#[test]
fn phases_with_strides_beyond_the_file_are_omitted() {
    let phases = format!(
        "{WRITE}\n[[test.phase]]\nname = \"strided\"\nop = \"read-stride\"\nfile = \"f\"\n\
         block = \"$block\"\nstride = \"17 * $block\"\ncache = \"warm\"\nends = \"call\""
    );
    let sweep = "size = [\"64 KiB\", \"1 MiB\"]\nblock = [\"8 KiB\"]";
    let tests = tests(sweep, &phases, SizeProfile::Smoke).unwrap();
    let phases: Vec<usize> = tests.iter().map(|t| t.phases.len()).collect();
    assert_eq!(phases, [1, 2]);
}

#[test]
fn the_number_of_disks_is_an_axis_and_no_parameter() {
    let phase = "op = \"write\"\nfile = \"f\"\nsize = \"1 MiB\"\nblock = \"64 KiB\"\n\
                 cache = \"warm\"\nends = \"fsync\"";
    let swept = tests("disks = [1, 2, 7]", phase, SizeProfile::Smoke).unwrap();
    let names: Vec<(&str, Option<u32>)> =
        swept.iter().map(|t| (t.name.as_str(), t.disks())).collect();
    assert_eq!(names, [("s-1x", Some(1)), ("s-2x", Some(2)), ("s-7x", Some(7))]);
    assert_eq!(swept[1].title, "S: disks 2");
    let error = tests("disks = [1, 9]", phase, SizeProfile::Smoke).unwrap_err();
    assert!(error.contains("a whole number from 1 to 8"), "{error}");
    let error = tests("disks = [2]", &phase.replace("1 MiB", "$disks"), SizeProfile::Smoke);
    assert!(error.unwrap_err().contains("no parameters"));
}

proptest! {
    #[test]
    fn points_are_unique_in_rising_order_and_hold_their_requests(
        from in 0u32..12, sizes in 1u32..8, first in 0u32..12, blocks in 1u32..8,
    ) {
        let kib = |exponent: u32| format!("\"{} KiB\"", 1u64 << exponent);
        let range = |from: u32, steps: u32| {
            format!("{{ from = {}, to = {}, times = 2 }}", kib(from), kib(from + steps - 1))
        };
        let sweep = format!("size = {}\nblock = {}", range(from, sizes), range(first, blocks));
        let expected = (from..from + sizes)
            .flat_map(|s| (first..first + blocks).map(move |b| (s, b)))
            .filter(|(s, b)| b <= s)
            .count();
        match tests(&sweep, WRITE, SizeProfile::Study) {
            Err(error) => {
                prop_assert_eq!(expected, 0);
                prop_assert!(error.contains("no point"));
            }
            Ok(tests) => {
                prop_assert_eq!(tests.len(), expected);
                let at = |t: &Test, axis| t.sweep.as_ref().unwrap().at[&axis];
                let pairs: Vec<(u64, u64)> =
                    tests.iter().map(|t| (at(t, SweepAxis::Size), at(t, SweepAxis::Block))).collect();
                prop_assert!(pairs.is_sorted() && pairs.iter().all(|(size, block)| block <= size));
                let names: BTreeSet<&str> = tests.iter().map(|t| t.name.as_str()).collect();
                prop_assert_eq!(names.len(), tests.len());
                prop_assert!(names.iter().all(|name| model::check_name(name).is_ok()));
            }
        }
    }
}
