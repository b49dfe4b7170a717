//! Compiles the disk mechanism.

fn main() {
    let sources = ["c/disk.c", "c/rotating.c", "c/flash.c"];
    cc::Build::new()
        .files(sources)
        .flag_if_supported("-ffreestanding")
        .extra_warnings(true)
        .compile("fsarena_disk");
    println!("cargo:rerun-if-changed=c");
}
