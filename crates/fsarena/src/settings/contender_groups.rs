//! Groups of contenders defined by the user: `--group journaling=ext4,xfs`, or `[groups]` of a
//! campaign file.

use std::collections::BTreeSet;

use model::{Contender, ContenderGroup, check_name};

use crate::output::exit::UsageError;

/// A group as typed: its name, and its members as one string, which can be split only with the
/// contenders' names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupArg {
    name: String,
    members: String,
}

/// Parses `NAME=CONTENDER,CONTENDER`.
pub fn typed(text: &str) -> Result<GroupArg, String> {
    let expected = || "expected NAME=CONTENDER,CONTENDER, such as journaling=ext4,xfs".to_owned();
    let (name, members) = text.split_once('=').ok_or_else(expected)?;
    check_name(name).map_err(|error| error.to_string())?;
    if members.is_empty() {
        return Err(expected());
    }
    Ok(GroupArg { name: name.to_owned(), members: members.to_owned() })
}

/// Returns the groups of a campaign: from the command line, else from the file.
///
/// # Errors
/// Returns an error if a member is not a contender, or if two groups have the same name.
pub fn groups(
    typed: &[GroupArg],
    filed: Vec<ContenderGroup>,
    contenders: &[Contender],
) -> Result<Vec<ContenderGroup>, UsageError> {
    let names: Vec<&str> = contenders.iter().map(|c| c.name.as_str()).collect();
    let groups = match typed.is_empty() {
        true => filed,
        false => typed.iter().map(|group| group.among(&names)).collect(),
    };
    let mut seen = BTreeSet::new();
    for group in &groups {
        let name = &group.name;
        if !seen.insert(name) {
            return Err(UsageError(format!("the group `{name}` is named twice")));
        }
        if names.contains(&name.as_str()) {
            let why = format!("the group `{name}` has the name of a contender; choose another");
            return Err(UsageError(why));
        }
        let mut members = BTreeSet::new();
        for member in &group.members {
            if !names.contains(&member.as_str()) {
                return Err(UsageError(format!(
                    "the group `{name}` has a member `{member}`, which does not compete; contenders: {}",
                    names.join(", ")
                )));
            }
            if !members.insert(member) {
                return Err(UsageError(format!("the group `{name}` names `{member}` twice")));
            }
        }
    }
    Ok(groups)
}

impl GroupArg {
    /// Splits the members of the group. Names of contenders may contain commas
    /// (`ext4:noatime,data=journal`); the longest match is used.
    fn among(&self, names: &[&str]) -> ContenderGroup {
        let words: Vec<&str> = self.members.split(',').collect();
        let (mut members, mut at) = (Vec::new(), 0);
        while at < words.len() {
            let ends = (at + 1..=words.len()).rev();
            let known = ends
                .map(|end| (end, words[at..end].join(",")))
                .find(|(_, name)| names.contains(&name.as_str()));
            let (end, name) = known.unwrap_or_else(|| (at + 1, words[at].to_owned()));
            members.push(name);
            at = end;
        }
        ContenderGroup { name: self.name.clone(), members }
    }
}

#[cfg(test)]
mod tests {
    use config::Catalog;

    use super::*;

    fn contenders() -> Vec<Contender> {
        let catalog = Catalog::builtin().unwrap();
        let specs = ["ext4", "ext4:noatime,data=journal", "xfs"];
        specs.map(|spec| catalog.contender(spec).unwrap()).into()
    }

    fn of(texts: &[&str]) -> Result<Vec<ContenderGroup>, String> {
        let typed: Vec<GroupArg> = texts.iter().map(|text| typed(text).unwrap()).collect();
        groups(&typed, Vec::new(), &contenders()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_with_commas_is_one_member() {
        let groups = of(&["journaling=ext4:noatime,data=journal,xfs", "plain=ext4"]).unwrap();
        assert_eq!(groups[0].members, ["ext4:noatime,data=journal", "xfs"]);
        assert_eq!((groups[1].name.as_str(), groups[1].members.len()), ("plain", 1));
    }

    #[test]
    fn unknown_group_member_is_reported_in_one_line() {
        assert_eq!(
            of(&["new=ext4,btrfs"]).unwrap_err(),
            "the group `new` has a member `btrfs`, which does not compete; contenders: ext4, \
             ext4:noatime,data=journal, xfs"
        );
        assert!(of(&["a=ext4,ext4"]).unwrap_err().contains("names `ext4` twice"));
        assert!(of(&["ext4=ext4,xfs"]).unwrap_err().contains("has the name of a contender"));
        assert!(of(&["a=ext4", "a=xfs"]).unwrap_err().contains("`a` is named twice"));
    }

    #[test]
    fn command_line_groups_override_those_of_the_file() {
        let filed = ContenderGroup { name: "filed".into(), members: vec!["xfs".into()] };
        let of = |texts: &[GroupArg]| groups(texts, vec![filed.clone()], &contenders()).unwrap();
        assert_eq!(of(&[])[0].name, "filed");
        assert_eq!(of(&[typed("mine=ext4").unwrap()])[0].name, "mine");
        for wrong in ["mine", "mine=", "=ext4", "A b=ext4"] {
            assert!(typed(wrong).is_err(), "{wrong}");
        }
    }
}
