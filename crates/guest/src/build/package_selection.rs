//! Packages to download for a recipe: apt's answers, as names of packages grouped by purpose.

use std::collections::BTreeSet;
use std::path::Path;

use crate::build::build_dir::BuildDir;
use crate::build::driver;
use crate::build::mirrors::{self, AptListKind};
use crate::build::packages::{self, Apt, Package};
use crate::build::rebuild::{self, Rebuild};
use crate::build::recipe::DkmsPackage;
use crate::build::toolchain::Toolchain;
use crate::{GuestError, Recipe};

/// Version of the build process. It changes whenever the same packages result in a different guest.
pub const VERSION: u32 = 7;
/// Package with one static program that provides `mount`, `umount`, `sh` and others.
pub const TOOLS: &str = "busybox-static";

/// Returns the complete request as text. This text and apt's answers determine the guest.
pub fn request_text(recipe: &Recipe) -> String {
    let rebuilds = rebuild::description(&rebuild::required_by(&recipe.modules));
    let driver = driver::description();
    format!("{VERSION}\n{recipe:?}\n{rebuilds}{driver}")
}

/// Packages to download, by purpose.
pub struct PackageSelection<'a> {
    /// The apt that downloads them.
    pub apt: Apt<'a>,
    /// Package of the kernel.
    pub kernel: String,
    /// Packages with the files of the kernel, itself among them.
    pub kernel_parts: Vec<String>,
    /// Packages of the kernel headers.
    pub headers: Vec<String>,
    /// Package of the kernel source, if it is needed.
    pub source: Option<String>,
    /// Modules to build from the kernel source.
    pub rebuilds: Vec<&'static Rebuild>,
    /// Packages of programs, with all their dependencies.
    pub programs: Vec<String>,
    /// Drivers distributed as source, each with the packages of its programs.
    pub add_ons: Vec<(DkmsPackage, Vec<String>)>,
    /// All packages of this machine's release, with the versions that apt would download.
    pub packages: Vec<Package>,
    /// The packages of a newer release, if the kernel is from one.
    pub newer: Option<NewerPackages<'a>>,
    /// The compiler.
    compiler: String,
}

/// Packages of a newer release of Debian.
pub struct NewerPackages<'a> {
    /// The apt that downloads them.
    pub apt: Apt<'a>,
    /// The kernel with its headers and its source.
    pub kernel: Vec<Package>,
    /// The compiler of the kernel's modules, with its dependencies.
    pub toolchain: Vec<Package>,
}

impl<'a> PackageSelection<'a> {
    /// Queries apt. `state` is the state of its lists. The cache keeps separate lists, used if this
    /// machine's apt does not know all packages or a mirror is specified.
    pub fn of(
        recipe: &Recipe,
        cache: &Path,
        state: &str,
        workshop: &'a BuildDir<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        let apt = choose(recipe, cache, state, workshop, say)?;
        let newer = newer_apt(recipe, cache, state, workshop, say)?;
        let of_kernel = newer.as_ref().unwrap_or(&apt);
        let kernel = match &recipe.kernel {
            Some(release) => of_kernel.kernel(release)?,
            None => of_kernel.newest_kernel()?,
        };
        let source = source_of(&kernel);
        let known = apt.filter_known(&named(recipe).collect())?;
        let knows_source = !of_kernel.filter_known(&BTreeSet::from([&*source]))?.is_empty();
        // The source package contains only the source of the newest kernel of its series. A full
        // release is used unchanged, to be compared with others.
        let has_source = match &recipe.kernel {
            _ if !knows_source => false,
            None => true,
            Some(release) => {
                packages::is_series(release) && of_kernel.have_one_version(&kernel, &source)?
            }
        };
        let rebuilds = match has_source {
            true => rebuild::required_by(&recipe.modules),
            false => Vec::new(),
        };
        let kernel_parts = of_kernel.kernel_parts(&kernel)?;
        let headers = headers_of(of_kernel, &kernel)?;
        let mut add_ons = Vec::new();
        for add_on in &recipe.add_ons {
            add_ons.push((add_on.clone(), programs_of(&apt, add_on)?));
        }
        let programs = programs(&apt, recipe, &known)?;
        let mut order = Self {
            programs,
            add_ons,
            source: (!rebuilds.is_empty()).then_some(source),
            packages: Vec::new(),
            newer: None,
            apt,
            kernel,
            kernel_parts,
            headers,
            rebuilds,
            compiler: String::new(),
        };
        match newer.zip(recipe.newer.as_ref()) {
            Some((apt, release)) => {
                let kernel = apt.resolve(&order.kernel_names())?;
                let toolchain = apt.with_dependencies(&Toolchain::packages(release))?;
                let toolchain = apt.resolve(&toolchain.iter().map(String::as_str).collect())?;
                let compiler = toolchain.iter().find(|one| one.name() == release.compiler);
                order.compiler = compiler.map_or_else(String::new, |one| one.file.clone());
                order.packages = order.apt.resolve(&order.program_names())?;
                order.newer = Some(NewerPackages { apt, kernel, toolchain });
            }
            None => {
                order.compiler =
                    rebuild::compiler(workshop.programs(), !recipe.add_ons.is_empty())?;
                let all = order.program_names().into_iter().chain(order.kernel_names());
                order.packages = order.apt.resolve(&all.collect())?;
            }
        }
        Ok(order)
    }

    fn kernel_names(&self) -> BTreeSet<&str> {
        let names = self.headers.iter().chain(&self.source).chain(&self.kernel_parts);
        names.map(String::as_str).collect()
    }

    fn program_names(&self) -> BTreeSet<&str> {
        let add_ons = self.add_ons.iter();
        let add_ons =
            add_ons.flat_map(|(add_on, programs)| programs.iter().chain([&add_on.source]));
        let names = self.programs.iter().chain(add_ons);
        names.map(String::as_str).chain([TOOLS]).collect()
    }

    /// Returns the packages of the guest: of this machine's release, and the kernel of a newer one.
    fn all_packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().chain(self.newer.iter().flat_map(|newer| &newer.kernel))
    }

    /// Returns all inputs of the guest, one per line.
    pub fn text(&self, recipe: &Recipe) -> String {
        let modules = recipe.modules.join(" ");
        let programs = [&recipe.programs[..], &recipe.files[..]].concat().join(" ");
        let compiler = &self.compiler;
        let mut text = format!("{VERSION}\n{modules}\n{programs}\n{compiler}\n");
        text += &driver::description();
        text += &rebuild::description(&self.rebuilds);
        for (add_on, _) in &self.add_ons {
            text += &format!("{}\n", add_on.name);
        }
        for package in self.all_packages() {
            text += &format!("{} {}\n", package.file, package.digest);
        }
        text
    }

    /// Returns all inputs of modules with this description, which are built for the kernel from its
    /// headers and from the `source` package, if any.
    pub fn module_inputs(&self, description: &str, source: Option<&String>) -> String {
        let names = self.kernel_parts.iter().chain(&self.headers).chain(source);
        let prefixes: Vec<String> = names.map(|name| format!("{name}_")).collect();
        let mut text = format!("{VERSION}\n{}\n{description}", self.compiler);
        for Package { file, digest, .. } in self.all_packages() {
            if prefixes.iter().any(|prefix| file.starts_with(prefix)) {
                text += &format!("{file} {digest}\n");
            }
        }
        text
    }

    /// Returns the release of the kernel package.
    pub fn release(&self) -> &str {
        release_of(&self.kernel)
    }
}

/// Returns this machine's apt if it knows every package, otherwise an apt with all components of
/// Debian or of the mirror of the recipe. Without a mirror, it has Debian's backports if a kernel is
/// named that this machine's apt does not know.
fn choose<'a>(
    recipe: &Recipe,
    cache: &Path,
    state: &str,
    workshop: &'a BuildDir<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Apt<'a>, GuestError> {
    let own = Apt::system(workshop.programs());
    let mirror = recipe.mirror.as_deref();
    let is_known = |release: &String| own.kernel(release).is_ok();
    let is_newer =
        mirror.is_none() && recipe.newer.is_none() && !recipe.kernel.as_ref().is_none_or(is_known);
    let names: BTreeSet<&str> = named(recipe).collect();
    if mirror.is_none() && !is_newer && own.filter_known(&names)? == names {
        return Ok(own);
    }
    let kind = if is_newer { AptListKind::Backports } else { AptListKind::Packages };
    let kept = cache.join(kind.directory());
    match mirrors::separate_apt(kind, &[], mirror, &kept, state, workshop, say) {
        // Continue with the packages that this machine's apt knows.
        Err(error) if mirror.is_none() && !matches!(error, GuestError::Interrupted { .. }) => {
            say(&format!("some packages are omitted: {error}"));
            Ok(own)
        }
        other => other,
    }
}

/// Returns the apt of the newer release that has the kernel, if this machine's release has no such
/// kernel.
fn newer_apt<'a>(
    recipe: &Recipe,
    cache: &Path,
    state: &str,
    workshop: &'a BuildDir<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Option<Apt<'a>>, GuestError> {
    let Some(newer) = &recipe.newer else { return Ok(None) };
    if let Some(add_on) = recipe.add_ons.first() {
        return Err(GuestError::UnexpectedOutput(format!(
            "cannot build the driver of {} for a kernel of a newer release of Debian: use another kernel",
            add_on.name
        )));
    }
    let kind = AptListKind::Newer;
    let (kept, mirror) = (cache.join(kind.directory()), recipe.mirror.as_deref());
    mirrors::separate_apt(kind, &newer.suites, mirror, &kept, state, workshop, say).map(Some)
}

/// Returns the names of all packages in a recipe.
fn named(recipe: &Recipe) -> impl Iterator<Item = &str> {
    let of_add_ons = recipe.add_ons.iter();
    let of_add_ons = of_add_ons.flat_map(|add_on| add_on.packages.iter().chain([&add_on.source]));
    let all = recipe.packages.iter().flatten().chain(of_add_ons);
    all.map(String::as_str)
}

/// Requests all packages together. If they conflict, each set is requested separately.
fn programs(
    apt: &Apt<'_>,
    recipe: &Recipe,
    known: &BTreeSet<&str>,
) -> Result<Vec<String>, GuestError> {
    let set = |set: &Vec<String>| -> Vec<String> {
        let names = set.iter().filter(|name| known.contains(name.as_str()));
        names.cloned().collect()
    };
    let sets: Vec<Vec<String>> = recipe.packages.iter().map(set).collect();
    let all: BTreeSet<&str> = sets.iter().flatten().map(String::as_str).collect();
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let all: Vec<&str> = all.into_iter().collect();
    if let Ok(names) = apt.with_dependencies(&all) {
        return Ok(names);
    }
    let mut names = BTreeSet::new();
    for set in sets.iter().filter(|set| !set.is_empty()) {
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        names.extend(apt.with_dependencies(&set)?);
    }
    Ok(names.into_iter().collect())
}

fn programs_of(apt: &Apt<'_>, add_on: &DkmsPackage) -> Result<Vec<String>, GuestError> {
    let names: Vec<&str> = add_on.packages.iter().map(String::as_str).collect();
    match names.is_empty() {
        true => Ok(Vec::new()),
        false => apt.with_dependencies(&names),
    }
}

/// Returns the headers and their dependencies, except for the compiler: this machine's is used.
fn headers_of(apt: &Apt<'_>, kernel: &str) -> Result<Vec<String>, GuestError> {
    let headers = format!("linux-headers-{}", release_of(kernel));
    let needed = apt.depends(&headers)?.into_iter();
    let needed = needed.filter(|name| {
        ["linux-headers-", "linux-kbuild-"].iter().any(|prefix| name.starts_with(prefix))
    });
    Ok(needed.chain([headers.clone()]).collect())
}

/// Returns the release of a kernel package: `linux-image-6.1.0-1-amd64` contains `6.1.0-1-amd64`.
fn release_of(kernel: &str) -> &str {
    kernel.strip_prefix("linux-image-").unwrap_or(kernel)
}

/// Returns the source package of a kernel package: `linux-source-6.1` for
/// `linux-image-6.1.0-1-amd64`.
fn source_of(kernel: &str) -> String {
    let numbers: Vec<&str> = release_of(kernel).split('.').take(2).collect();
    format!("linux-source-{}", numbers.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_runner::ProcessRunner;
    use std::sync::LazyLock;

    /// A runner for tests that never run a program.
    static NONE: LazyLock<ProcessRunner> = LazyLock::new(ProcessRunner::default);

    fn order(digest: &str) -> PackageSelection<'static> {
        PackageSelection {
            apt: Apt::system(&NONE),
            kernel: "linux-image-6.1.0-1-amd64".into(),
            kernel_parts: vec!["linux-image-6.1.0-1-amd64".into()],
            headers: Vec::new(),
            source: None,
            rebuilds: Vec::new(),
            programs: vec!["jfsutils".into()],
            add_ons: Vec::new(),
            packages: vec![Package {
                file: "linux.deb".into(),
                digest: digest.into(),
                size: model::Bytes(1),
            }],
            newer: None,
            compiler: String::new(),
        }
    }

    fn recipe(module: &str) -> Recipe {
        Recipe { modules: vec![module.to_owned()], ..Recipe::default() }
    }

    #[test]
    fn guest_name_depends_on_all_inputs() {
        let compiled = PackageSelection { compiler: "gcc 12".into(), ..order("1") };
        let rebuilt =
            PackageSelection { rebuilds: rebuild::required_by(&["ufs".into()]), ..order("1") };
        let texts = [
            order("1").text(&recipe("affs")),
            order("1").text(&recipe("hpfs")),
            order("2").text(&recipe("affs")),
            compiled.text(&recipe("affs")),
            rebuilt.text(&recipe("affs")),
        ];
        for (index, one) in texts.iter().enumerate() {
            assert!(!texts[..index].contains(one), "{index}");
        }
        assert_eq!(texts[0], order("1").text(&recipe("affs")));
    }

    #[test]
    fn a_change_to_a_drivers_source_is_another_question() {
        let question = request_text(&recipe("ufs"));
        assert!(question.contains("CONFIG_UFS_FS_WRITE"), "{question}");
        assert_ne!(question, super::request_text(&recipe("jfs")));
    }

    #[test]
    fn a_kernels_package_names_those_of_its_source_and_headers() {
        assert_eq!(source_of("linux-image-6.1.0-56-amd64"), "linux-source-6.1");
        assert_eq!(source_of("linux-image-6.12.48+deb13-amd64"), "linux-source-6.12");
        assert_eq!(order("1").release(), "6.1.0-1-amd64");
    }

    #[test]
    fn packages_of_programs_and_of_the_kernel_are_requested() {
        let order = order("1");
        let names: Vec<&str> = order.program_names().into_iter().collect();
        assert_eq!(names, [TOOLS, "jfsutils"]);
        let names: Vec<&str> = order.kernel_names().into_iter().collect();
        assert_eq!(names, ["linux-image-6.1.0-1-amd64"]);
    }
}
