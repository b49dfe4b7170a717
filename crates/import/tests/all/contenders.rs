//! A contender has the name that the input states. Rounds of one contender are of one place.

use import::{InputFormat, NameSource, NamingOptions, ParsedInput, merge, read};

fn found(format: InputFormat, text: &str, from: Option<NameSource>) -> Result<ParsedInput, String> {
    let naming = NamingOptions { otherwise: "file".to_owned(), from, ..NamingOptions::default() };
    read(format, text.as_bytes(), &naming).map_err(|error| error.to_string())
}

fn contenders(found: &ParsedInput) -> Vec<&str> {
    found.reported.contenders.iter().map(|one| one.name.as_str()).collect()
}

fn iozone(file: &str) -> String {
    format!(
        "Command line used: iozone -s 64 -r 4 -f {file}\nkB  reclen    write\n64       4   400000\n\n"
    )
}

#[test]
fn files_in_one_directory_are_not_taken_for_one_contender() {
    let both = iozone("/testlun/ext9") + &iozone("/testlun/zfs9");
    let error = found(InputFormat::Iozone, &both, None).unwrap_err();
    assert!(error.contains("`/testlun/ext9` and `/testlun/zfs9`"), "{error}");
    let each = found(InputFormat::Iozone, &both, Some(NameSource::Path)).unwrap();
    assert_eq!(contenders(&each), ["/testlun/ext9", "/testlun/zfs9"]);
    let again = iozone("/testlun/ext9").repeat(2);
    let again = found(InputFormat::Iozone, &again, None).unwrap();
    assert_eq!(contenders(&again), ["/testlun"]);
    assert_eq!(again.reported.figures.len(), 2);
    let parts = [iozone("/testlun/ext9"), iozone("/testlun/zfs9")];
    let parts = parts.map(|text| found(InputFormat::Iozone, &text, None).unwrap());
    assert!(merge(parts.to_vec()).is_err());
}

#[test]
fn the_fact_that_must_name_a_contender_must_be_stated() {
    let text = "Throughput 205.664 MB/sec 4 procs\n";
    for from in NameSource::ALL {
        let error = found(InputFormat::Dbench, text, Some(from)).unwrap_err();
        assert!(error.contains(&format!("the file states no {from}")), "{error}");
    }
    let found = found(InputFormat::Dbench, text, None).unwrap();
    assert_eq!(contenders(&found), ["file"]);
    let told = found.assumptions();
    assert!(told[0].starts_with("contenders are named file after the input file;"), "{told:?}");
}
