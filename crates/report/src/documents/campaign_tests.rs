//! Tests of the report of a campaign on a terminal and in Markdown.

use model::CampaignResults;
use stats::{analyse, fixture};

use super::*;

mod on_a_terminal {
    use super::*;
    use crate::render::{DocumentOptions, terminal};
    use crate::text::sanitize::width;

    fn shown(results: &CampaignResults, width: usize, colour: bool) -> String {
        let report = campaign_report(results, &analyse(results), Detail::Brief);
        terminal(&report, &DocumentOptions { colour, ..DocumentOptions::terminal(width) })
    }

    #[test]
    fn a_small_campaign() {
        insta::assert_snapshot!(shown(&fixture::plain(), 80, false));
    }

    #[test]
    fn shares_of_the_raw_device_and_the_sign_of_overhead() {
        insta::assert_snapshot!(shown(&fixture::calibrated(), 80, false));
    }

    #[test]
    fn a_real_campaign_in_blocks() {
        insta::assert_snapshot!(shown(&fixture::realistic(), 100, false));
    }

    #[test]
    fn sweeps_are_condensed_with_their_borders() {
        insta::assert_snapshot!(shown(&fixture::swept(), 100, false));
    }

    #[test]
    fn roles_are_shown_below_their_mix_with_and_without_the_others() {
        insta::assert_snapshot!(shown(&fixture::mixed(), 100, false));
    }

    #[test]
    fn hostile_names_and_every_status() {
        insta::assert_snapshot!(shown(&fixture::hostile(), 120, false));
    }

    /// A table without values is omitted, with its heading.
    #[test]
    fn no_table_of_groups_without_known_groups() {
        let numbers = ["ext4", "xfs"].map(|name| {
            model::ImportedResult::single_value(name, "made", "step", model::Metric::Elapsed, 2.0)
        });
        let reported = model::ImportedCampaign {
            name: "made".to_owned(),
            program: "made".to_owned(),
            source: "made".to_owned(),
            started: None,
            environment: model::Environment::default(),
            contenders: Vec::new(),
            figures: numbers.into(),
        };
        let text = shown(&reported.into_results("made").unwrap(), 80, false);
        let names = text.lines().filter(|line| line.contains("ext4") && line.contains("xfs"));
        assert_eq!(names.count(), 1, "{text}");
        assert!(!text.contains("With 95 % confidence"), "{text}");
        assert!(!text.contains("semantics"), "{text}");
    }

    #[test]
    fn no_line_of_the_table_is_wider_than_the_terminal() {
        for terminal in [40, 60, 80, 100, 200] {
            let text = shown(&fixture::realistic(), terminal, false);
            let table = text.split("\nFailures and missing features:").next().unwrap();
            let widest = table.lines().skip(2).map(width).max().unwrap();
            assert!(widest <= terminal.max(60), "{terminal}: {widest}\n{table}");
        }
    }

    #[test]
    fn colour_does_not_change_the_text() {
        let results = fixture::plain();
        let coloured = shown(&results, 120, true);
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            plain += before;
            rest = after.split_once('m').unwrap().1;
        }
        plain += rest;
        assert!(coloured.contains("\x1b[1;32m"), "best is green");
        assert!(coloured.contains("\x1b[31m"), "worst is red");
        let trimmed =
            |text: &str| -> Vec<String> { text.lines().map(|l| l.trim_end().to_owned()).collect() };
        assert_eq!(trimmed(&plain), trimmed(&shown(&results, 120, false)));
    }

    #[test]
    fn text_from_outside_cannot_move_the_cursor() {
        let text = shown(&fixture::hostile(), 120, false);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
        assert!(!text.contains('\u{202e}'));
    }
}

mod in_markdown {
    use super::*;
    use crate::render::markdown;

    fn shown(results: &CampaignResults) -> String {
        markdown(&campaign_report(results, &analyse(results), Detail::Full))
    }

    #[test]
    fn a_small_campaign() {
        insta::assert_snapshot!(shown(&fixture::plain()));
    }

    #[test]
    fn a_calibrated_campaign() {
        insta::assert_snapshot!(shown(&fixture::calibrated()));
    }

    #[test]
    fn sweeps_are_condensed_with_their_borders() {
        insta::assert_snapshot!(shown(&fixture::swept()));
    }

    #[test]
    fn hostile_names_and_every_status() {
        insta::assert_snapshot!(shown(&fixture::hostile()));
    }

    #[test]
    fn study_has_title_and_claims_and_nothing_unstated() {
        let catalog = config::Catalog::builtin().unwrap();
        let study = catalog.study("debian-file-server-2006").unwrap();
        let study = Study::read(&study).unwrap().unwrap();
        let reported = study.reported(&catalog).unwrap();
        let results = reported.into_results("published").unwrap();
        let report = study_report(&study, &results, &analyse(&results), Detail::Full);
        let text = markdown(&report);
        let head = "# Filesystems (ext3, reiser, xfs, jfs) comparison on Debian Etch\n\n40 claims, judged by its own figures: ";
        assert!(text.starts_with(head), "{text}");
        for said in [
            "(fsarena study claims debian-file-server-2006).\n\n28 figures are printed as ranges",
            "- **Rounds:** one number each, without a spread\n",
            "- **Processor:** Intel Celeron 533\n- **Main memory:** 512 MB\n",
            "| unmount | ms ↓ |",
            "| all minor-faults |",
            "? may be as good as the best: one number each does not say",
            "reiserfs came first before xfs (1.41×), ext3 (1.86×) and jfs (1.89×), but one number each does not show \
             how far they vary.",
            "- **space when empty:** no other needs less disk than xfs.",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        for not in [
            "rounds to say",
            "seldom",
            "- fsarena:",
            "Attached",
            "0 ×",
            "not tried",
            "whoever",
            "1 round",
        ] {
            assert!(!text.contains(not), "{not}: {text}");
        }
    }

    #[test]
    fn no_html_and_no_stray_column_gets_through() {
        let text = shown(&fixture::hostile());
        assert!(!text.contains('<') && !text.contains("\u{1b}"));
        let mut columns = None;
        for line in text.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            let expected = *columns.get_or_insert(bars);
            if line.starts_with('|') && expected > 0 {
                assert!(bars == expected, "{line}");
            }
            columns = line.starts_with('|').then_some(bars);
        }
    }
}

#[test]
fn directories_have_their_filesystem_options_and_device() {
    let mut results = fixture::plain();
    let found = "/srv/fast on ext4 on /dev/sda1 (931.5 GiB), options rw,noatime";
    results.environments.last_mut().unwrap().conditions =
        vec![model::HostSetting::new("directory fast", found)];
    let analysis = analyse(&results);
    let report = campaign_report(&results, &analysis, Detail::Brief);
    let text = crate::render::terminal(&report, &crate::DocumentOptions::FILE);
    assert!(text.contains(&format!("fast: {found}")), "{text}");
}
