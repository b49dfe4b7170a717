//! `fsarena run --guest-kernel 7.3,6.12`: runs each contender in guests with the newest kernel that
//! has it.
//!
//! Results on different kernels are not one comparison. So each kernel gets a campaign, with the same
//! reference in each, and no report ranks contenders across kernels.

use campaign::run::StopFlag;
use campaign::store::CampaignId;
use config::{Catalog, ContenderEntry, Settings};
use model::{BackendKind, Filesystem, LinuxVersion, Nanos};

use crate::args::cli::GlobalArgs;
use crate::args::execution_args::ExecutionArgs;
use crate::args::guest_args::BuildOptions;
use crate::args::run_args::RunArgs;
use crate::commands::guest::{self, KernelShare};
use crate::output::exit::UsageError;
use crate::output::text::counted;
use crate::paths;
use crate::settings::resolve::ResolvedSettings;

/// The contender that runs on each kernel.
const REFERENCE: &str = "ext4";

/// A campaign on one kernel.
pub struct KernelCampaign {
    /// The options of the campaign.
    pub run: RunArgs,
    /// The kernel, if the command has several campaigns.
    pub kernel: Option<String>,
}

/// Returns the campaigns of a command line: one, or one for each kernel that the contenders need.
///
/// # Errors
/// Returns an error if the settings are invalid, or if none of the kernels has a contender.
pub fn campaigns(
    args: &RunArgs,
    globals: &GlobalArgs,
    stop: &StopFlag,
) -> anyhow::Result<Vec<KernelCampaign>> {
    let names_several = args.execution.build.guest_kernel.len() > 1;
    // The campaign file is read for each campaign, and a pipe can be read only once.
    let is_pipe = args.file.as_ref().is_some_and(|file| !file.is_file());
    if is_pipe && names_several {
        let why = "cannot read the campaign file from a pipe for several kernels: give a file, or one --guest-kernel";
        return Err(UsageError(why.to_owned()).into());
    }
    let names_contenders = args.file.is_some() || !args.settings.contenders.is_empty();
    if is_pipe || !names_several && !names_contenders {
        return Ok(vec![KernelCampaign { run: args.clone(), kernel: None }]);
    }
    divided(args, &paths::catalog(globals)?, storage::debian_release(), stop)
}

fn divided(
    args: &RunArgs,
    catalog: &Catalog,
    debian: Option<u32>,
    stop: &StopFlag,
) -> anyhow::Result<Vec<KernelCampaign>> {
    let asked = ResolvedSettings::resolve(args, catalog, stop)?;
    let named = &asked.settings.contenders;
    let contenders = named.iter().map(|entry| entry.contender(catalog));
    let contenders = contenders.collect::<Result<Vec<_>, _>>()?;
    let filesystems: Vec<&Filesystem> = match contenders.is_empty() {
        true => asked.usual_filesystems(catalog),
        false => contenders.iter().map(|contender| &contender.filesystem).collect(),
    };
    let shares = match asked.backend {
        BackendKind::Vm => {
            guest::divide(&args.execution.build, &filesystems, catalog.kernels(), debian)?
        }
        BackendKind::Loop | BackendKind::Dir | BackendKind::Imported => None,
    };
    let Some(shares) = shares else {
        return Ok(vec![KernelCampaign { run: args.clone(), kernel: None }]);
    };
    let budget = asked.settings.budget;
    let shared = SharedSettings { args, catalog, named, budget, filesystems: &filesystems };
    shares.iter().map(|share| shared.campaign(share, shares.len())).collect()
}

/// Settings that the campaigns on several kernels share.
struct SharedSettings<'a> {
    args: &'a RunArgs,
    catalog: &'a Catalog,
    named: &'a [ContenderEntry],
    budget: Option<Nanos>,
    filesystems: &'a [&'a Filesystem],
}

impl SharedSettings<'_> {
    /// Returns the campaign on one of several kernels, with its share of the time.
    fn campaign(&self, share: &KernelShare, kernels: usize) -> anyhow::Result<KernelCampaign> {
        let args = self.args;
        let settings = &args.settings;
        let (mut contenders, mut among) = (Vec::new(), Vec::new());
        if self.named.is_empty() {
            among = share.members.iter().map(|&at| self.filesystems[at].name.clone()).collect();
            if kernels > 1 && !among.iter().any(|name| name == REFERENCE) {
                among.push(REFERENCE.to_owned());
            }
        } else {
            contenders = share.members.iter().map(|&at| self.named[at].clone()).collect();
            if kernels > 1 && !self.has_reference(&contenders)? {
                contenders.push(ContenderEntry::Spec(REFERENCE.to_owned()));
            }
        }
        let parts = u64::try_from(kernels).unwrap_or(u64::MAX);
        let budget = self.budget.map(|budget| Nanos(budget.0 / parts));
        let build = BuildOptions {
            guest_kernel: vec![share.kernel.clone()],
            ..args.execution.build.clone()
        };
        Ok(KernelCampaign {
            run: RunArgs {
                settings: Settings { contenders, budget, ..settings.clone() },
                execution: ExecutionArgs { build, ..args.execution.clone() },
                among,
                ..args.clone()
            },
            kernel: (kernels > 1).then(|| share.kernel.clone()),
        })
    }

    fn has_reference(&self, contenders: &[ContenderEntry]) -> anyhow::Result<bool> {
        for entry in contenders {
            if entry.contender(self.catalog)?.name == REFERENCE {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns a note before the campaigns: why there are several, or which named kernels are not used.
pub fn announcement(args: &RunArgs, campaigns: &[KernelCampaign]) -> Option<String> {
    let named = &args.execution.build.guest_kernel;
    match campaigns {
        [one] => {
            let used = &one.run.execution.build.guest_kernel;
            let unused: Vec<&str> =
                named.iter().filter(|kernel| !used.contains(kernel)).map(String::as_str).collect();
            (!unused.is_empty()).then(|| {
                format!(
                    "Linux {} has all contenders, so {} is not used; to compare kernels, run a campaign with each \
                     --guest-kernel, then `fsarena compare`",
                    used.join(", "),
                    unused.join(", ")
                )
            })
        }
        several => {
            let each = several.iter().map(|one| one.kernel.as_deref().unwrap_or_default());
            let each: Vec<&str> = each.collect();
            Some(format!(
                "no kernel has all contenders: {} follow, on Linux {}, with {REFERENCE} in each",
                counted(several.len() as u64, "campaign"),
                each.join(" and ")
            ))
        }
    }
}

impl KernelCampaign {
    /// Returns a note about a campaign that did not start, because the user interrupted an earlier one.
    pub fn not_started(&self) -> String {
        let contenders = self.run.settings.contenders.iter().map(ContenderEntry::name);
        let names = contenders.chain(self.run.among.iter().map(String::as_str));
        let named: Vec<String> =
            names.map(|name| format!(" -c {}", model::shell_quote(name))).collect();
        let kernel = self.kernel.as_deref().unwrap_or_default();
        format!(
            "the campaign on Linux {kernel} was not started: the same command with only{} and --guest-kernel {kernel} runs it",
            named.concat()
        )
    }
}

/// Returns the text after all campaigns: which kernel each had, and why they are not ranked
/// together.
pub fn summary(campaigns: &[(KernelCampaign, CampaignId)]) -> String {
    let kernel = |one: &KernelCampaign| one.kernel.as_ref()?.parse::<LinuxVersion>().ok();
    let mut campaigns: Vec<&(KernelCampaign, CampaignId)> = campaigns.iter().collect();
    campaigns.sort_by_key(|(one, _)| kernel(one));
    let each = campaigns.iter().map(|(one, id)| {
        let kernel = one.kernel.as_deref().unwrap_or_default();
        format!("campaign {id} ran on Linux {kernel}")
    });
    let each: Vec<String> = each.collect();
    let compare = match &campaigns[..] {
        [(_, first), .., (_, last)] => {
            format!(
                " {REFERENCE} ran on each: `fsarena compare {first} {last}` shows what the kernel changes."
            )
        }
        _ => String::new(),
    };
    format!("Kernels: {}. Filesystems are not ranked across kernels.{compare}", each.join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use clap::Parser;

    use super::*;
    use crate::args::cli::{Cli, Command};

    /// Returns the kernel, the contenders and the budget of each campaign of a command line on
    /// Debian 13.
    fn planned(options: &str) -> Vec<(Option<String>, Vec<String>, Option<Nanos>)> {
        let words = ["fsarena", "run", "--backend", "vm"].into_iter();
        let cli = Cli::try_parse_from(words.chain(options.split_whitespace())).unwrap();
        let Some(Command::Run(args)) = cli.command else { panic!("{options}") };
        let catalog = Catalog::builtin().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let campaigns = divided(&args, &catalog, Some(13), &stop).unwrap();
        let each = campaigns.into_iter().map(|KernelCampaign { run, kernel }| {
            let named = run.settings.contenders.iter().map(|entry| entry.name().to_owned());
            assert!(kernel.is_none() || run.execution.build.guest_kernel == kernel.as_slice());
            (kernel, named.chain(run.among).collect(), run.settings.budget)
        });
        each.collect()
    }

    #[test]
    fn each_kernel_has_a_campaign_with_the_reference_and_its_share_of_the_budget() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let budget = |seconds: u64| Some(Nanos(seconds * 1_000_000_000));
        let both = "-c xfs -c bcachefs -c ntfs-kernel";
        let two = [(Some("7.3".to_owned()), names("xfs ntfs-kernel ext4"), budget(300))];
        let two = [&two[..], &[(Some("6.12".to_owned()), names("bcachefs ext4"), budget(300))]];
        let two = two.concat();
        assert_eq!(planned(&format!("{both} --budget 10min --guest-kernel 6.12,7.3")), two);
        assert_eq!(planned(&format!("{both} --budget 10min")), two);
        // The reference has the name that the user sees, and is not added a second time.
        let own = planned("-c ext4 -c bcachefs -c e=ext4:noatime --guest-kernel 6.1,6.12,7.3");
        assert_eq!(own[0], (Some("7.3".to_owned()), names("ext4 e=ext4:noatime"), None));
        assert_eq!(own[1], (Some("6.12".to_owned()), names("bcachefs ext4"), None));
        // One kernel with all contenders needs no second campaign.
        assert_eq!(planned("-c xfs -c bcachefs"), [(None, names("xfs bcachefs"), None)]);
        let one = planned("-c xfs --guest-kernel 6.1,6.12");
        assert_eq!(one, [(None, names("xfs"), None)]);
    }

    #[test]
    fn the_summary_compares_the_reference_from_the_oldest_to_the_newest_kernel() {
        let on = |kernel: &str| KernelCampaign {
            run: RunArgs::default(),
            kernel: Some(kernel.to_owned()),
        };
        let campaigns = [(on("6.12"), CampaignId(1)), (on("6.1"), CampaignId(2))];
        let text = summary(&campaigns);
        assert!(
            text.starts_with("Kernels: campaign 2 ran on Linux 6.1, campaign 1 ran on Linux 6.12."),
            "{text}"
        );
        assert!(text.contains("`fsarena compare 2 1`"), "{text}");
        let mut left = on("6.12");
        left.run.settings.contenders = vec![ContenderEntry::Spec("jfs:ro".to_owned())];
        let note = left.not_started();
        assert!(note.ends_with("with only -c jfs:ro and --guest-kernel 6.12 runs it"), "{note}");
        let mut left = on("6.12");
        left.run.among = vec!["ext4".to_owned()];
        assert!(left.not_started().contains("with only -c ext4 and"), "{}", left.not_started());
        let [both, one] = [vec![on("6.12"), on("7.3")], vec![on("6.12")]];
        let mut args = RunArgs::default();
        assert!(announcement(&args, &both).unwrap().contains("on Linux 6.12 and 7.3, with ext4"));
        assert_eq!(announcement(&args, &one), None);
        args.execution.build.guest_kernel = vec!["6.1".to_owned()];
        assert!(announcement(&args, &one).unwrap().contains("so 6.1 is not used"));
    }

    #[test]
    fn without_names_the_newest_kernel_has_all_and_others_have_the_rest() {
        let found = planned("-s tree --guest-kernel 6.12,7.3");
        let of = |kernel: &str| {
            let found = found.iter().find(|(at, ..)| at.as_deref() == Some(kernel));
            found.map(|(_, names, _)| names.clone()).unwrap_or_default()
        };
        assert!(of("7.3").contains(&"ext4".to_owned()) && of("7.3").len() > 20, "{found:?}");
        let rest = of("6.12");
        assert!(rest.contains(&"reiserfs-3.6".to_owned()), "{rest:?}");
        assert!(rest.contains(&"ext4".to_owned()) && rest.len() < 8, "{rest:?}");
    }
}
