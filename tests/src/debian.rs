//! A Debian of a few tiny packages, with stub versions of apt, dpkg-deb and make. Guests are built
//! from it in a second and without a network. Each step of a build can be made to block.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Steps of a build, in order.
pub const STEPS: [&str; 5] = ["asking", "updating", "bringing", "unpacking", "building"];

const RELEASE: &str = "6.1.0-1-amd64";
/// Size of the unpacked kernel, in bytes.
const KERNEL_SIZE: usize = 3 << 20;
/// Timeout for an event that happens within a second or never.
const NEVER: Duration = Duration::from_secs(120);

/// Common beginning of all programs. A blocked program has started a child, which has started
/// another one.
const COMMON: &str = r#"#!/bin/sh
here=@HERE@
stand_still() {
    [ -e "$here/stop-at-$1" ] || return 0
    sh -c 'sleep 600; true' "$here" > /dev/null 2>&1 &
    echo "$1" > "$here/stands-still"
    while [ -e "$here/stop-at-$1" ]; do sleep 0.02; done
}
file_of() { ls "$here/pool" | grep "^$1_"; }
state=
while [ "$1" = -o ]; do
    case $2 in Dir::State=*) state=${2#*=} ;; esac
    shift 2
done
"#;
const APT_GET: &str = r#"
command=$1
shift
case $command-$1 in
indextargets-*) echo "Debian|http://mirror/debian/|bookworm" ;;
update-*)
    stand_still updating
    echo "update" >> "$here/calls"
    echo "lists" > "$state/lists/all" || exit 100
    ;;
install-*) echo "'http://mirror/x' $(file_of e2fsprogs) 1 " ;;
download---print-uris)
    shift
    for name; do
        file=$(file_of "$name")
        sum=$(sha256sum < "$here/pool/$file")
        echo "'http://mirror/$file' $file 1 SHA256:${sum%% *}"
    done
    ;;
download-*)
    stand_still bringing
    echo "download" >> "$here/calls"
    # Past `--quiet` and `-o APT::Sandbox::User=root`.
    shift 3
    for name; do
        file=$(file_of "$name")
        [ -e "$file" ] && [ "$(stat -c %s "$file")" = "$(stat -c %s "$here/pool/$file")" ] && continue
        echo "Get:1 http://mirror/debian bookworm/main amd64 $name amd64 1 [1 kB]"
        echo "bring $name" >> "$here/calls"
        cp "$here/pool/$file" . || exit 100
    done
    ;;
esac
"#;
const APT_CACHE: &str = r#"
case $1-$2 in
depends-linux-image-amd64) echo "  Depends: linux-image-@RELEASE@" ;;
pkgnames-)
    stand_still asking
    ls "$here/pool" | sed 's/_.*//'
    ;;
esac
"#;
const DPKG_DEB: &str = r#"
stand_still unpacking
exec /usr/bin/dpkg-deb "$@"
"#;
const MAKE: &str = r#"
[ "$1" = --version ] && exit
stand_still building
for word; do
    case $word in M=*)
        modules=ufs
        [ -e "${word#M=}/driver.c" ] && modules='fsarena_disk fsarena_disk_recorder'
        for module in $modules; do printf '\000depends=\000' > "${word#M=}/$module.ko"; done ;;
    esac
done
"#;

/// A simulated Debian in a directory.
#[derive(Debug)]
pub struct Debian {
    directory: PathBuf,
}

impl Debian {
    /// Creates a simulated Debian in a directory that does not exist yet.
    ///
    /// # Panics
    /// Panics if it cannot be created.
    pub fn new(directory: &Path) -> Self {
        let debian = Self { directory: directory.to_owned() };
        fs::create_dir_all(directory.join("pool")).unwrap();
        let programs = [
            ("apt-get", APT_GET),
            ("apt-cache", APT_CACHE),
            ("dpkg-deb", DPKG_DEB),
            ("make", MAKE),
        ];
        fs::create_dir(directory.join("bin")).unwrap();
        for (name, script) in programs {
            let script = format!("{COMMON}{script}");
            let script = script.replace("@HERE@", directory.to_str().unwrap());
            let file = directory.join("bin").join(name);
            fs::write(&file, script.replace("@RELEASE@", RELEASE)).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        debian.package("busybox-static", &[("bin/busybox", b"tools")]);
        debian.package("e2fsprogs", &[("sbin/mke2fs", b"a program")]);
        debian.package(&format!("linux-image-{RELEASE}"), &kernel());
        let headers = format!("usr/src/linux-headers-{RELEASE}/Makefile");
        debian.package(&format!("linux-headers-{RELEASE}"), &[(&headers, b"all:\n")]);
        let source = debian.source();
        let file = "usr/src/linux-source-6.1.tar.xz";
        debian.package("linux-source-6.1", &[(file, &source)]);
        debian
    }

    /// Makes a program use this Debian.
    pub fn for_program(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut with_ours = OsString::from(self.directory.join("bin"));
        with_ours.push(":");
        with_ours.push(path);
        command.env("PATH", with_ours);
    }

    /// Makes every program of apt fail.
    ///
    /// # Panics
    /// Panics if the directory no longer exists.
    pub fn break_apt(&self) {
        for name in ["apt-get", "apt-cache"] {
            fs::write(self.directory.join("bin").join(name), "#!/bin/sh\nexit 100\n").unwrap();
        }
    }

    /// Makes a step block when it starts.
    ///
    /// # Panics
    /// Panics if the directory no longer exists.
    pub fn pause_at(&self, step: &str) {
        let _ = fs::remove_file(self.directory.join("stands-still"));
        fs::write(self.directory.join(format!("stop-at-{step}")), "").unwrap();
    }

    /// Waits until a step blocks.
    ///
    /// # Panics
    /// Panics if no step blocks within two minutes.
    pub fn wait_for_stop(&self) {
        let start = Instant::now();
        while !self.directory.join("stands-still").exists() {
            assert!(start.elapsed() < NEVER, "no step is blocked");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Unblocks all steps.
    pub fn resume(&self) {
        for step in STEPS {
            let _ = fs::remove_file(self.directory.join(format!("stop-at-{step}")));
        }
    }

    /// Returns the calls of apt since the last call of this method, one per line.
    pub fn calls(&self) -> Vec<String> {
        let file = self.directory.join("calls");
        let calls = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(file);
        calls.lines().map(str::to_owned).collect()
    }

    /// Adds a package with these files to the pool.
    fn package<N: AsRef<str>, C: AsRef<[u8]>>(&self, name: &str, files: &[(N, C)]) {
        let tree = self.directory.join("tree");
        let control = format!(
            "Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: x\nDescription: x\n"
        );
        let control = [("DEBIAN/control", control.as_bytes())];
        let files = files.iter().map(|(name, content)| (name.as_ref(), content.as_ref()));
        for (name, content) in files.chain(control) {
            let file = tree.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, content).unwrap();
        }
        let mut build = Command::new("/usr/bin/dpkg-deb");
        build.args(["--root-owner-group", "--build"]).arg(&tree);
        build.arg(self.directory.join(format!("pool/{name}_1_amd64.deb")));
        assert!(build.stdout(Stdio::null()).status().unwrap().success());
        fs::remove_dir_all(tree).unwrap();
    }

    /// Returns the parts of the kernel's source from which UFS is built.
    fn source(&self) -> Vec<u8> {
        let tree = self.directory.join("linux-source-6.1/fs/ufs");
        fs::create_dir_all(&tree).unwrap();
        let known = "\tif (!silent)\n\t\tpr_err(\"%s(): bad magic number\\n\", __func__);\n";
        fs::write(tree.join("super.c"), known).unwrap();
        let mut tar = Command::new("tar");
        tar.args(["--create", "--xz", "--directory"]);
        tar.arg(&self.directory).arg("linux-source-6.1");
        tar.output().unwrap().stdout
    }
}

/// Returns a boot image with its modules.
fn kernel() -> Vec<(String, Vec<u8>)> {
    const SETUP: usize = 0x400;
    const PAYLOAD_OFFSET: usize = 0x248;
    const PAYLOAD_LENGTH: usize = 0x24c;
    let mut kernel = b"\x7fELF".to_vec();
    kernel.resize(KERNEL_SIZE, 7);
    let packed = gzip(&kernel);
    let mut image = vec![0; SETUP];
    // One sector of set-up code after the sector with the header.
    image[0x1f1] = 1;
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&0u32.to_le_bytes());
    let length = u32::try_from(packed.len() + 4).unwrap();
    image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&length.to_le_bytes());
    image.extend(packed);
    image.extend(u32::try_from(KERNEL_SIZE).unwrap().to_le_bytes());
    let below = format!("lib/modules/{RELEASE}");
    let modules = ["virtio_pci", "virtio_blk", "virtio_console", "null_blk", "raid0", "ext4"];
    let module = |name| (format!("{below}/kernel/{name}.ko"), b"\0depends=\0".to_vec());
    let mut files: Vec<_> = modules.into_iter().map(module).collect();
    files.push((format!("{below}/modules.builtin"), Vec::new()));
    files.push((format!("boot/vmlinuz-{RELEASE}"), image));
    files
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), content).unwrap();
    let mut gzip = Command::new("gzip");
    gzip.arg("--stdout").stdin(file.reopen().unwrap());
    gzip.output().unwrap().stdout
}
