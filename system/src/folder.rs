//! Folders that no other user can write to, for programs that are downloaded and then run.
//!
//! The trusted users are the process's own user, root, and the owner of `/`, who can replace everything below it. On
//! systems other than Unix a folder is created but not checked: there a user's folders belong to the user alone.

use std::env;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use unix as os;

#[cfg(not(unix))]
use elsewhere as os;

/// Returns the user's folder for files that outlive a checkout, such as downloaded tools and locks: `warpwright` in
/// `XDG_CACHE_HOME` or in `.cache` of the home folder, or, for a user without a home folder, the user's own folder among
/// the temporary files. The folder may not exist; [`private`] creates it.
pub fn of_user() -> PathBuf {
    of_user_in(
        env::var_os("XDG_CACHE_HOME").map(PathBuf::from),
        env::home_dir(),
    )
}

fn of_user_in(cache: Option<PathBuf>, home: Option<PathBuf>) -> PathBuf {
    // A relative path would name a different folder in every working directory.
    cache
        .filter(|folder| folder.is_absolute())
        .or_else(|| {
            home.filter(|folder| folder.is_absolute())
                .map(|home| home.join(".cache"))
        })
        .map_or_else(|| temporary(""), |folder| folder.join("warpwright"))
}

/// Returns the path of a folder `name` for the user's temporary files. It lies in the shared temporary folder, so its name
/// contains the user. [`private`] creates it, and refuses one that another user created.
pub fn temporary(name: &str) -> PathBuf {
    let parts = ["warpwright", &os::user(), name];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    env::temp_dir().join(parts.join("-"))
}

/// Creates the folder at `path` if it is missing, checks it, and returns its path without symbolic links.
///
/// # Errors
/// One line, without the operation, if another user could write to the folder, replace it, or created it.
pub fn private(path: &Path) -> Result<PathBuf, String> {
    let path = std::path::absolute(path).map_err(|error| format!("{}: {error}", path.display()))?;
    os::private(&path)
}

/// Checks that everything from the folder, which [`private`] returned, down to the file is as private as the folder.
///
/// # Errors
/// One line, without the operation.
pub fn check_below(folder: &Path, file: &Path) -> Result<(), String> {
    os::check_below(folder, file)
}

/// Removes other users' write permission from everything in the folder, which a program that unpacked it may have granted.
///
/// # Errors
/// The file that could not be read or changed.
pub fn take_from_others(folder: &Path) -> Result<(), String> {
    os::take_from_others(folder)
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::fs::{self, DirBuilder, Metadata, Permissions};
    use std::io::ErrorKind;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    use std::path::{Path, PathBuf};

    /// The mode bits that let the group or others write.
    const OTHERS_WRITE: u32 = 0o022;
    /// The sticky bit. In a folder with this bit, users can only rename or remove their own files.
    const STICKY: u32 = 0o1000;

    fn own_user() -> u32 {
        // SAFETY: the function takes no arguments and cannot fail.
        unsafe { libc::geteuid() }
    }

    pub(super) fn user() -> String {
        own_user().to_string()
    }

    pub(super) fn private(path: &Path) -> Result<PathBuf, String> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(format!(
                "{}: a folder below another is required",
                path.display()
            ));
        };
        let path = existing(parent)?.join(name);
        make(&path)?;
        check(&path, &look(&path)?, Kind::Folder)?;
        Ok(path)
    }

    /// Returns a parent folder of a private one without symbolic links. Creates it if it is missing.
    fn existing(path: &Path) -> Result<PathBuf, String> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            _ => {
                let real =
                    fs::canonicalize(path).map_err(|e| format!("{}: {e}", path.display()))?;
                // Links are resolved, and the checks apply to the folders that they lead to.
                for folder in real.ancestors() {
                    check(folder, &look(folder)?, Kind::OnTheWay)?;
                }
                return Ok(real);
            }
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(format!(
                "{}: an existing folder is required",
                path.display()
            ));
        };
        let path = existing(parent)?.join(name);
        make(&path)?;
        check(&path, &look(&path)?, Kind::OnTheWay)?;
        Ok(path)
    }

    fn make(path: &Path) -> Result<(), String> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(format!("creating {}: {error}", path.display()))
            }
            _ => Ok(()),
        }
    }

    fn look(path: &Path) -> Result<Metadata, String> {
        fs::symlink_metadata(path).map_err(|error| format!("{}: {error}", path.display()))
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Kind {
        /// A folder above the private one. Others may write to it if they can only change their own files.
        OnTheWay,
        Folder,
        File,
    }

    fn check(path: &Path, found: &Metadata, kind: Kind) -> Result<(), String> {
        // The owner of `/` can replace everything. In a container this may be an unmapped user.
        let root = fs::metadata("/").map_or(0, |root| root.uid());
        verdict(
            (found.uid(), found.mode(), found.file_type().is_symlink()),
            [own_user(), 0, root],
            kind,
        )
        .and_then(|()| match kind {
            Kind::File if !found.is_file() => Err("it is no regular file".to_owned()),
            Kind::Folder | Kind::OnTheWay if !found.is_dir() => Err("it is no folder".to_owned()),
            _ => Ok(()),
        })
        .map_err(|reason| {
            format!(
                "{}: one that nobody else can write to or replace is required: {reason}",
                shown(path)
            )
        })
    }

    /// Returns why a folder or file with this owner and mode, or a link, is refused.
    fn verdict(
        (owner, mode, link): (u32, u32, bool),
        trusted: [u32; 3],
        kind: Kind,
    ) -> Result<(), String> {
        if link {
            return Err("it is a symbolic link".to_owned());
        }
        if !trusted.contains(&owner) {
            return Err(format!(
                "it belongs to user {owner}, this process to user {}",
                trusted[0]
            ));
        }
        let harmless = kind == Kind::OnTheWay && mode & STICKY != 0;
        if mode & OTHERS_WRITE != 0 && !harmless {
            return Err(format!(
                "its mode is {:o}, which `chmod go-w` mends if all in it is yours",
                mode & 0o7777
            ));
        }
        Ok(())
    }

    /// Returns the path in one line, with unusual characters escaped.
    fn shown(path: &Path) -> String {
        let text = path.to_string_lossy();
        if text.contains(char::is_control) {
            format!("{text:?}")
        } else {
            text.into_owned()
        }
    }

    pub(super) fn check_below(folder: &Path, file: &Path) -> Result<(), String> {
        let below = file.strip_prefix(folder).map_err(|_| {
            format!(
                "{}: a file in {} is required",
                file.display(),
                folder.display()
            )
        })?;
        let parts: Vec<&OsStr> = below.iter().collect();
        let mut path = folder.to_owned();
        for (index, part) in parts.iter().enumerate() {
            path.push(part);
            let last = index + 1 == parts.len();
            let kind = if last { Kind::File } else { Kind::Folder };
            check(&path, &look(&path)?, kind)?;
        }
        Ok(())
    }

    pub(super) fn take_from_others(folder: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let found = look(&path)?;
            if found.is_symlink() {
                continue;
            }
            let mode = found.mode() & 0o7777;
            if mode & OTHERS_WRITE != 0 {
                fs::set_permissions(&path, Permissions::from_mode(mode & !OTHERS_WRITE))
                    .map_err(|error| format!("{}: {error}", path.display()))?;
            }
            if found.is_dir() {
                take_from_others(&path)?;
            }
        }
        Ok(())
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn owners_modes_and_links_are_judged() {
            let trusted = [1000, 0, 0];
            let judge = |owner, mode, link, kind| verdict((owner, mode, link), trusted, kind);
            for kind in [Kind::OnTheWay, Kind::Folder, Kind::File] {
                assert_eq!(judge(1000, 0o755, false, kind), Ok(()));
                assert_eq!(judge(0, 0o755, false, kind), Ok(()));
                assert!(judge(1001, 0o700, false, kind).is_err());
                assert!(judge(1000, 0o775, false, kind).is_err());
                assert!(judge(1000, 0o757, false, kind).is_err());
                assert!(judge(1000, 0o755, true, kind).is_err());
            }
            assert_eq!(judge(0, 0o1777, false, Kind::OnTheWay), Ok(()));
            assert!(judge(0, 0o1777, false, Kind::Folder).is_err());
        }

        fn set_mode(path: &Path, mode: u32) {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }

        #[test]
        fn a_new_folder_is_its_owners_alone() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a/b/c");
            let made = super::super::private(&path).unwrap();
            for part in [&made, made.parent().unwrap()] {
                assert_eq!(look(part).unwrap().mode() & 0o7777, 0o700);
            }
            assert_eq!(super::super::private(&path), Ok(made));
        }

        #[test]
        fn a_folder_that_others_can_write_to_is_refused_in_one_line() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("tools");
            fs::create_dir(&path).unwrap();
            set_mode(&path, 0o777);
            let error = private(&path).unwrap_err();
            assert!(error.contains("its mode is 777"), "{error}");
            assert_eq!(error.lines().count(), 1);
            // A folder below it is no better, unless the sticky bit protects other users' files.
            assert!(private(&path.join("below")).is_err());
            set_mode(&path, 0o1777);
            assert!(private(&path).is_err());
            private(&path.join("below")).unwrap();
        }

        #[test]
        fn a_symbolic_link_is_refused_and_one_above_is_resolved() {
            let folder = tempfile::tempdir().unwrap();
            let (real, link) = (folder.path().join("real"), folder.path().join("link"));
            fs::create_dir(&real).unwrap();
            set_mode(&real, 0o700);
            std::os::unix::fs::symlink(&real, &link).unwrap();
            let error = private(&link).unwrap_err();
            assert!(error.contains("it is a symbolic link"), "{error}");
            let below = private(&link.join("below")).unwrap();
            assert_eq!(below, real.canonicalize().unwrap().join("below"));
            // A dangling link is not followed either.
            fs::remove_dir_all(&real).unwrap();
            assert!(private(&link.join("below")).is_err() && !real.exists());
        }

        #[test]
        fn a_file_is_checked_with_all_on_the_way_to_it() {
            let folder = tempfile::tempdir().unwrap();
            let package = private(&folder.path().join("package")).unwrap();
            let bin = package.join("nvidia/bin");
            fs::create_dir_all(&bin).unwrap();
            let program = bin.join("ptxas");
            fs::write(&program, "").unwrap();
            take_from_others(&package).unwrap();
            check_below(&package, &program).unwrap();
            for path in [&program, &bin] {
                let mode = look(path).unwrap().mode();
                set_mode(path, 0o777);
                assert!(check_below(&package, &program).is_err());
                take_from_others(&package).unwrap();
                assert_eq!(look(path).unwrap().mode() & OTHERS_WRITE, 0);
                check_below(&package, &program).unwrap();
                set_mode(path, mode & 0o7777);
            }
            let other = bin.join("other");
            std::os::unix::fs::symlink(&program, &other).unwrap();
            assert!(check_below(&package, &other).is_err());
            assert!(check_below(&package, &bin).is_err());
            assert!(check_below(&package, Path::new("/bin/sh")).is_err());
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::path::{Path, PathBuf};

    pub(super) fn user() -> String {
        String::new()
    }

    pub(super) fn private(path: &Path) -> Result<PathBuf, String> {
        std::fs::create_dir_all(path)
            .map_err(|error| format!("creating {}: {error}", path.display()))?;
        Ok(path.to_owned())
    }

    pub(super) fn check_below(_: &Path, _: &Path) -> Result<(), String> {
        Ok(())
    }

    pub(super) fn take_from_others(_: &Path) -> Result<(), String> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_folder_is_absolute_whatever_the_environment_says() {
        let path = |text: &str| Some(PathBuf::from(text));
        let root = std::path::absolute("/").unwrap();
        let (cache, home) = (root.join("c"), root.join("h"));
        let both = of_user_in(Some(cache.clone()), Some(home.clone()));
        assert_eq!(both, cache.join("warpwright"));
        for none in [None, path(""), path("relative")] {
            let found = of_user_in(none.clone(), Some(home.clone()));
            assert_eq!(found, home.join(".cache").join("warpwright"));
            assert_eq!(of_user_in(none.clone(), none), temporary(""));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_user_without_a_home_gets_a_folder_that_is_named_after_them() {
        let name = temporary("").file_name().unwrap().to_owned();
        assert_eq!(name.to_str().unwrap(), format!("warpwright-{}", os::user()));
        assert!(temporary("outside").to_string_lossy().ends_with("-outside"));
    }
}
