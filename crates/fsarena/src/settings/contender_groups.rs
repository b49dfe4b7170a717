//! Groups of contenders defined by the user: `--group journaling=ext4,xfs`, or `[groups]` of a
//! campaign file.

use std::collections::BTreeSet;

use model::{Contender, ContenderGroup};

use crate::output::exit::UsageError;

/// Returns the groups with separate members.
///
/// # Errors
/// Returns an error if a member is not a contender, or if two groups have the same name.
pub fn groups(
    given: &[ContenderGroup],
    contenders: &[Contender],
) -> Result<Vec<ContenderGroup>, UsageError> {
    let names: Vec<&str> = contenders.iter().map(|c| c.name.as_str()).collect();
    let groups: Vec<_> = given.iter().map(|group| among(group, &names)).collect();
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

/// Splits the members of a group. Names of contenders may contain commas
/// (`ext4:noatime,data=journal`); the longest match is used.
fn among(group: &ContenderGroup, names: &[&str]) -> ContenderGroup {
    let mut members = Vec::new();
    for text in &group.members {
        let words: Vec<&str> = text.split(',').collect();
        let mut at = 0;
        while at < words.len() {
            let ends = (at + 1..=words.len()).rev();
            let known = ends
                .map(|end| (end, words[at..end].join(",")))
                .find(|(_, name)| names.contains(&name.as_str()));
            let (end, name) = known.unwrap_or_else(|| (at + 1, words[at].to_owned()));
            members.push(name);
            at = end;
        }
    }
    ContenderGroup { name: group.name.clone(), members }
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
        let typed = texts.iter().map(|text| {
            let (name, members) = text.split_once('=').unwrap();
            ContenderGroup { name: name.into(), members: vec![members.into()] }
        });
        let typed: Vec<ContenderGroup> = typed.collect();
        groups(&typed, &contenders()).map_err(|error| error.to_string())
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
}
