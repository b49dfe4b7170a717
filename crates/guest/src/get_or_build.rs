//! The guest of a recipe: the one in the cache, where it is there and whole, or a new one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::Bytes;

use crate::build::{Build, PACKAGES};
use crate::build_dir::{self, BuildDir};
use crate::build_index::{self, BuildIndexEntry};
use crate::manifest::{Manifest, damaged};
use crate::mirrors::AptListKind;
use crate::package_selection::{self, PackageSelection};
use crate::{Guest, GuestError, Recipe, cache, hash};

/// Where a guest lies while it is made.
const GUEST: &str = "guest";
/// What making a guest takes: packages, their content, and what is built of it.
const ROOM: Bytes = Bytes::mib(1024);
/// What it takes more for each driver that comes as source.
const ROOM_OF_ADD_ON: Bytes = Bytes::mib(512);

impl Guest {
    /// The guest of this recipe and of the packages that apt has now: the one in the cache, or a new one. What is
    /// damaged is removed. `say` hears what is being done, where anything is. Only one process makes something
    /// in a cache at a time; others wait for it.
    ///
    /// # Errors
    /// When `stop` rises; when apt, dpkg, a compiler that is needed or an unpacker is not there or fails; when
    /// there is no room, or somebody else can write into the cache.
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
            let making = GuestBuild {
                recipe,
                cache,
                state: &hash::apt_state_hash(),
                workshop,
            };
            making.guest(say)
        })
    }

    /// The guest of this recipe and of the packages that apt has now, where it was made before. What a killed process
    /// has left of another is removed; whoever lets `stop` rise does not wait for that.
    ///
    /// # Errors
    /// When it is damaged, or somebody else can write into the cache.
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

/// The file that says which guest a recipe comes to, as long as apt is as it is.
fn file_of(recipe: &Recipe, cache: &Path, state: &str) -> PathBuf {
    build_index::entry_path(&(package_selection::request_text(recipe) + state), cache)
}

/// The guest that an answer names, where it is there: all of it is looked at.
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

/// The making of a guest.
struct GuestBuild<'a> {
    recipe: &'a Recipe,
    cache: &'a Path,
    /// That of apt.
    state: &'a str,
    workshop: &'a BuildDir<'a>,
}

impl GuestBuild<'_> {
    fn guest(&self, say: &mut dyn FnMut(&str)) -> Result<Guest, GuestError> {
        let Self { recipe, cache, .. } = self;
        let file = file_of(recipe, cache, self.state);
        match BuildIndexEntry::read(&file) {
            // Another process may have made it meanwhile.
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
        let lists = AptListKind::Packages.directory();
        let kept_lists = cache.join(lists);
        let order = PackageSelection::of(recipe, &kept_lists, self.state, self.workshop, say)?;
        let name = build_index::guest_name(&order.text(recipe));
        // apt's lists may have changed, and what they say of these packages not.
        if let Some(answer) = BuildIndexEntry::about(&name, cache)
            && let Some(guest) = self.whole(&answer, say)?
        {
            answer.write(&file, self.workshop)?;
            return Ok(guest);
        }
        let made = self.workshop.place(GUEST);
        let kept_packages = cache.join(PACKAGES);
        Build::new(recipe, &order, &made, self.workshop).run(&kept_packages, say)?;
        let manifest = Manifest::of(&made)?.write()?;
        // From here on everything is whole, and nothing takes long.
        self.workshop.programs().check_stop()?;
        if self.workshop.place(lists).exists() {
            self.workshop.install(lists, &kept_lists)?;
        }
        self.workshop.install(PACKAGES, &kept_packages)?;
        self.workshop.install(GUEST, &cache.join(&name))?;
        let answer = BuildIndexEntry {
            guest: name,
            manifest,
        };
        answer.write(&file, self.workshop)?;
        taken(recipe, cache, &answer)?.ok_or_else(|| {
            let directory = cache.join(&answer.guest);
            damaged(&directory, "it is gone as soon as it was made".to_owned())
        })
    }

    /// The guest that an answer names; nothing where it is not there any more. What is damaged is removed.
    fn whole(
        &self,
        answer: &BuildIndexEntry,
        say: &mut dyn FnMut(&str),
    ) -> Result<Option<Guest>, GuestError> {
        match taken(self.recipe, self.cache, answer) {
            Err(GuestError::Damaged { directory, what }) => {
                let shown = directory.display();
                say(&format!(
                    "the guest in {shown} is damaged ({what}): making it again"
                ));
                build_index::remove_entries(&answer.guest, self.cache, self.workshop)?;
                self.workshop.remove(&directory)?;
                Ok(None)
            }
            other => other,
        }
    }
}
