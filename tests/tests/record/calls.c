/* Makes each kind of system call once that a recording holds, in the directory in which it is started. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char buffer[4096];

/* Positions are shared by copies of a descriptor, here and in a child. */
static void positions(void)
{
    int a = open("d/a", O_RDWR | O_CREAT | O_TRUNC, 0666);
    write(a, buffer, 100);
    pwrite(a, buffer, 50, 1000);
    lseek(a, 200, SEEK_SET);
    struct iovec parts[2] = {{buffer, 10}, {buffer, 20}};
    writev(a, parts, 2);
    int b = dup(a);
    write(b, buffer, 5);
    if (fork() == 0) {
        write(a, buffer, 7);
        _exit(0);
    }
    wait(NULL);
    read(a, buffer, 10);
    pread(a, buffer, 4000, 900);
    close(a);
    int c = fcntl(b, F_DUPFD_CLOEXEC, 20);
    dup2(c, 30);
    close(b);
    close(c);
    lseek(30, -2, SEEK_END);
    write(30, buffer, 3);
    close(30);
    int e = open("d/a", O_WRONLY | O_APPEND);
    write(e, buffer, 9);
    close(e);
}

static void attributes(void)
{
    int a = open("d/a", O_RDWR);
    struct stat found;
    fsync(a);
    fdatasync(a);
    sync_file_range(a, 0, 4096, SYNC_FILE_RANGE_WRITE);
    syncfs(a);
    ftruncate(a, 5000);
    fallocate(a, 0, 5000, 3000);
    posix_fadvise(a, 0, 100, POSIX_FADV_SEQUENTIAL);
    fstat(a, &found);
    fchmod(a, 0600);
    fchown(a, -1, -1);
    futimens(a, NULL);
    flock(a, LOCK_EX);
    close(a);
    stat("d/a", &found);
    lstat("d/a", &found);
    access("d/a", R_OK);
    chmod("d/a", 0640);
    chown("d/a", -1, -1);
    lchown("d/a", -1, -1);
    utimensat(AT_FDCWD, "d/a", NULL, AT_SYMLINK_NOFOLLOW);
    truncate("d/a", 100000);
    setxattr("d/a", "user.x", "12345", 5, 0);
    getxattr("d/a", "user.x", buffer, 100);
    listxattr("d/a", buffer, 100);
    removexattr("d/a", "user.x");
    struct statfs filesystem;
    statfs("d", &filesystem);
}

static void names(void)
{
    chdir("d");
    link("a", "../h");
    symlink("../h", "s");
    readlink("s", buffer, 100);
    rename("../h", "hh");
    int here = open("../d/.", O_RDONLY | O_DIRECTORY);
    close(openat(here, "../x/../d/n", O_WRONLY | O_CREAT | O_EXCL, 0644));
    mkdirat(here, "sub", 0777);
    close(openat(here, "n", O_WRONLY | O_CREAT | O_EXCL, 0644));
    fchdir(here);
    while (syscall(SYS_getdents64, here, buffer, sizeof buffer) > 0)
        ;
    close(here);
    unlink("n");
    rmdir("sub");
    rmdir("missing");
    mkfifo("p", 0600);
    unlink("p");
    int t = open(".", O_TMPFILE | O_RDWR, 0600);
    linkat(AT_FDCWD, "/proc/self/fd/3", AT_FDCWD, "t", AT_SYMLINK_FOLLOW);
    close(t);
}

static void ranges(void)
{
    int from = open("a", O_RDONLY), to = open("c", O_WRONLY | O_CREAT, 0644);
    loff_t there = 4096;
    copy_file_range(from, &there, to, NULL, 1000, 0);
    sendfile(to, from, NULL, 500);
    close(from);
    close(to);
}

/* Pages that are written in memory, which a recording does not contain. */
static void memory(void)
{
    int m = open("m", O_RDWR | O_CREAT, 0644);
    ftruncate(m, 10 * 4096);
    char *pages = mmap(NULL, 10 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, m, 0);
    close(m);
    pages[2 * 4096] = 1;
}

int main(void)
{
    umask(022);
    mkdir("d", 0777);
    mkdir("x", 0700);
    positions();
    attributes();
    names();
    ranges();
    memory();
    return 0;
}
