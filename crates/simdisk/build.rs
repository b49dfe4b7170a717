//! Compiles the disk mechanism.

fn main() {
    let sources = ["c/disk.c", "c/rotating.c", "c/flash.c"];
    cc::Build::new()
        .files(sources)
        // Validations simulate hours of writes, also in debug builds.
        .opt_level(2)
        .flag_if_supported("-ffreestanding")
        .extra_warnings(true)
        .compile("fsarena_disk");
    println!("cargo:rerun-if-changed=c");
}
