//! Provides the guest of a recipe: the one in the cache if it is intact, otherwise a new one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::Bytes;

use crate::build::build_dir::{self, BuildDir};
use crate::build::build_index::{self, BuildIndexEntry};
use crate::build::manifest::{Manifest, damaged};
use crate::build::mirrors::AptListKind;
use crate::build::module_cache::ModuleCache;
use crate::build::package_selection::{self, PackageSelection};
use crate::build::{Build, PACKAGES};
use crate::{Guest, GuestError, Recipe, cache, hash};

/// Name of a guest in the build directory.
const GUEST: &str = "guest";
/// State of apt in the question about the last guest of a recipe.
const ANY_STATE: &str = "any";
/// Space needed to build a guest: packages, their contents, and the output.
const ROOM: Bytes = Bytes::mib(1024);
/// Additional space for each driver that is built from source.
const ROOM_OF_ADD_ON: Bytes = Bytes::mib(512);

impl Guest {
    /// Returns the guest of this recipe and of apt's current packages, from the cache or newly
    /// built. Damaged guests are removed. `say` receives progress messages. Only one process builds
    /// in a cache at a time; others wait.
    ///
    /// # Errors
    /// Returns an error if `stop` becomes true, if apt, dpkg, a compiler or an unpacker is missing
    /// or fails, if the disk is full, or if another user can write to the cache.
    pub fn build(
        recipe: &Recipe,
        cache: &Path,
        stop: &Arc<AtomicBool>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, GuestError> {
        match Self::find(recipe, cache, stop) {
            Ok(Some(guest)) => return Ok(guest),
            Ok(None) | Err(GuestError::Damaged { .. }) => {}
            Err(other) => return Err(other),
        }
        BuildDir::open(cache, room(recipe), stop, say, |workshop, say| {
            let making = GuestBuild { recipe, cache, state: &hash::apt_state_hash(), workshop };
            making.guest(say)
        })
    }

    /// Returns the guest of this recipe and of apt's current packages if the cache contains it.
    /// Removes incomplete guests of killed processes, without delaying an interrupt.
    ///
    /// # Errors
    /// Returns an error if the guest is damaged, or if another user can write to the cache.
    pub fn find(
        recipe: &Recipe,
        cache: &Path,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, GuestError> {
        cache::require_ours(cache)?;
        build_dir::remove_stale(cache, stop);
        let file = file_of(recipe, cache, &hash::apt_state_hash());
        match BuildIndexEntry::read(&file) {
            Some(answer) => taken(recipe, cache, &answer),
            None => Ok(None),
        }
    }
}

fn room(recipe: &Recipe) -> Bytes {
    let add_ons = recipe.add_ons.len() as u64;
    Bytes(ROOM.0 + add_ons * ROOM_OF_ADD_ON.0)
}

/// Returns the file that maps a recipe and a state of apt to a guest.
fn file_of(recipe: &Recipe, cache: &Path, state: &str) -> PathBuf {
    build_index::entry_path(&(package_selection::request_text(recipe) + state), cache)
}

/// Opens the guest that an answer names, and verifies all its files. Returns `None` if it does not
/// exist.
fn taken(
    recipe: &Recipe,
    cache: &Path,
    answer: &BuildIndexEntry,
) -> Result<Option<Guest>, GuestError> {
    let directory = cache.join(&answer.guest);
    if directory.symlink_metadata().is_err() {
        return Ok(None);
    }
    let manifest = Manifest::check(&directory, &answer.manifest)?;
    Guest::open(&directory, recipe, manifest).map(Some)
}

/// A build of a guest.
struct GuestBuild<'a> {
    recipe: &'a Recipe,
    cache: &'a Path,
    /// State of apt's settings and lists.
    state: &'a str,
    workshop: &'a BuildDir<'a>,
}

impl GuestBuild<'_> {
    fn guest(&self, say: &mut dyn FnMut(&str)) -> Result<Guest, GuestError> {
        let Self { recipe, cache, .. } = self;
        let file = file_of(recipe, cache, self.state);
        match BuildIndexEntry::read(&file) {
            // A concurrent process may have built it since the first check.
            Some(answer) => {
                if let Some(guest) = self.whole(&answer, say)? {
                    return Ok(guest);
                }
            }
            None if file.symlink_metadata().is_ok() => {
                say(&format!("{} is damaged: making it again", file.display()));
            }
            None => {}
        }
        say("asking apt");
        let order = PackageSelection::of(recipe, cache, self.state, self.workshop, say);
        let order = match order {
            Err(error @ (GuestError::Failed { .. } | GuestError::Program { .. })) => {
                return self.last(say)?.ok_or(error);
            }
            order => order?,
        };
        let name = build_index::guest_name(&order.text(recipe));
        // Changed lists of apt may still contain the same versions of these packages.
        if let Some(answer) = BuildIndexEntry::about(&name, cache)
            && let Some(guest) = self.whole(&answer, say)?
        {
            self.write(&answer, &file)?;
            return Ok(guest);
        }
        let made = self.workshop.place(GUEST);
        let kept_packages = cache.join(PACKAGES);
        Build::new(recipe, &order, &made, self.workshop).run(&kept_packages, say)?;
        let manifest = Manifest::of(&made)?.write()?;
        // All files are complete, and the remaining steps are fast.
        self.workshop.programs().check_stop()?;
        for lists in AptListKind::OF_GUESTS.map(AptListKind::directory) {
            if self.workshop.place(lists).exists() {
                self.workshop.install(lists, &cache.join(lists))?;
            }
        }
        self.workshop.install(PACKAGES, &kept_packages)?;
        ModuleCache::new(cache).install(self.workshop)?;
        self.workshop.install(GUEST, &cache.join(&name))?;
        let answer = BuildIndexEntry { guest: name, manifest };
        self.write(&answer, &file)?;
        taken(recipe, cache, &answer)?.ok_or_else(|| {
            let directory = cache.join(&answer.guest);
            damaged(&directory, "it disappeared immediately after the build".to_owned())
        })
    }

    /// Stores an answer for this state of apt, and for machines on which apt knows no packages.
    fn write(&self, answer: &BuildIndexEntry, file: &Path) -> Result<(), GuestError> {
        answer.write(file, self.workshop)?;
        answer.write(&file_of(self.recipe, self.cache, ANY_STATE), self.workshop)
    }

    /// Returns the last guest of this recipe, for a machine without a network or without apt.
    fn last(&self, say: &mut dyn FnMut(&str)) -> Result<Option<Guest>, GuestError> {
        let file = file_of(self.recipe, self.cache, ANY_STATE);
        let Some(answer) = BuildIndexEntry::read(&file) else { return Ok(None) };
        let guest = self.whole(&answer, say)?;
        if guest.is_some() {
            say("apt knows no packages for a guest: the last one is used");
        }
        Ok(guest)
    }

    /// Opens the guest that an answer names. Returns `None` if it no longer exists. Removes a
    /// damaged guest.
    fn whole(
        &self,
        answer: &BuildIndexEntry,
        say: &mut dyn FnMut(&str),
    ) -> Result<Option<Guest>, GuestError> {
        match taken(self.recipe, self.cache, answer) {
            Err(GuestError::Damaged { directory, what }) => {
                let shown = directory.display();
                say(&format!("the guest in {shown} is damaged ({what}): making it again"));
                build_index::remove_entries(&answer.guest, self.cache, self.workshop)?;
                self.workshop.remove(&directory)?;
                Ok(None)
            }
            other => other,
        }
    }
}
