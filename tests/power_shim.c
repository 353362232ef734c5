/* Loaded before the C library (LD_PRELOAD): writes down, in order, everything that is done to files and folders
 * below POWER_ROOT, and every wish that it be on the disk. tests/power_disk.py makes of that what a disk may be
 * left with when the power goes. One record is one write to POWER_LOG, so records of processes never mix. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>


struct head {
    char kind[8];
    uint64_t one, two, offset, flags;
    uint32_t first, second; /* lengths of what follows */
};

static char root[PATH_MAX];
static size_t root_length;
static const char *log_path;
static int log_file = -1;

__attribute__((constructor)) static void begin(void)
{
    const char *given = getenv("POWER_ROOT");
    log_path = getenv("POWER_LOG");
    if (!given || !log_path) return;
    log_path = strdup(log_path);
    strncpy(root, given, sizeof root - 1);
    root_length = strlen(root);
}

static void say(const char *kind, uint64_t one, uint64_t two, uint64_t offset, uint64_t flags,
                const void *first, size_t first_length, const void *second, size_t second_length)
{
    struct head head = {{0}, one, two, offset, flags, first_length, second_length};
    strncpy(head.kind, kind, sizeof head.kind - 1);
    size_t all = sizeof head + first_length + second_length;
    char *record = malloc(all);
    memcpy(record, &head, sizeof head);
    memcpy(record + sizeof head, first, first_length);
    memcpy(record + sizeof head + first_length, second, second_length);
    int kept = errno;
    for (int try = 0; try < 2; try++) {
        if (log_file < 0)
            log_file = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (syscall(SYS_write, log_file, record, all) == (long)all) break;
        log_file = -1; /* somebody closed it */
    }
    errno = kept;
    free(record);
}

static int below_root(const char *path)
{
    return root_length && !strncmp(path, root, root_length) && (path[root_length] == '/' || !path[root_length]);
}

/* The file that a descriptor is, if it is below the root; its number in *ino. */
static int ours(int fd, uint64_t *ino)
{
    char link[64], path[PATH_MAX];
    struct stat found;
    if (!root_length) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    if (!below_root(path) || fstat(fd, &found)) return 0;
    *ino = found.st_ino;
    return 1;
}

struct place {
    uint64_t folder;
    char name[NAME_MAX + 1];
    char path[PATH_MAX];
};

/* Folder and name of a path, if it is below the root. */
static int placed(int at, const char *path, struct place *place)
{
    char full[PATH_MAX], folder[PATH_MAX], link[64];
    struct stat found;
    if (!root_length || !path) return 0;
    if (path[0] == '/') {
        snprintf(full, sizeof full, "%s", path);
    } else {
        snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
        ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, folder, sizeof folder - 1);
        if (length < 0) return 0;
        folder[length] = 0;
        if (snprintf(full, sizeof full, "%s/%s", folder, path) >= (int)sizeof full) return 0;
    }
    size_t end = strlen(full);
    while (end > 1 && full[end - 1] == '/') full[--end] = 0;
    char *slash = strrchr(full, '/');
    if (!slash) return 0;
    snprintf(place->name, sizeof place->name, "%s", slash + 1);
    *slash = 0;
    if (!realpath(full[0] ? full : "/", folder) || stat(folder, &found)) return 0;
    place->folder = found.st_ino;
    if (snprintf(place->path, sizeof place->path, "%s/%s", folder, place->name) >= (int)sizeof place->path) return 0;
    return below_root(folder);
}

static uint64_t number_of(const struct place *place)
{
    struct stat found;
    return lstat(place->path, &found) ? 0 : found.st_ino;
}

static int opened(int (*open_it)(int, const char *, int, mode_t), int at, const char *path, int flags, mode_t mode)
{
    struct place place;
    int known = placed(at, path, &place), kept = errno;
    int was = known && number_of(&place) != 0;
    errno = kept;
    int fd = open_it(at, path, flags, mode);
    if (fd >= 0 && known) {
        uint64_t ino = number_of(&place);
        if (!was && (flags & O_CREAT) && ino) say("create", place.folder, ino, 0, 0, place.name, strlen(place.name), "", 0);
        else if (ino && (flags & O_TRUNC)) say("size", ino, 0, 0, 0, "", 0, "", 0);
    }
    return fd;
}

static int raw_open(int at, const char *path, int flags, mode_t mode)
{
    return syscall(SYS_openat, at, path, flags, mode);
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { MODE(flags) return opened(raw_open, AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(raw_open, AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return opened(raw_open, at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return opened(raw_open, at, path, flags | O_LARGEFILE, mode); }
int creat(const char *path, mode_t mode) { return opened(raw_open, AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static void wrote(int fd, const void *data, ssize_t length, off_t offset)
{
    uint64_t ino;
    if (length > 0 && ours(fd, &ino)) say("write", ino, 0, offset, 0, "", 0, data, length);
}

static off_t behind(int fd, ssize_t length) { return lseek(fd, 0, SEEK_CUR) - length; }

ssize_t write(int fd, const void *data, size_t length)
{
    ssize_t done = syscall(SYS_write, fd, data, length);
    uint64_t ino;
    if (done > 0 && ours(fd, &ino)) wrote(fd, data, done, behind(fd, done));
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset)
{
    ssize_t done = syscall(SYS_pwrite64, fd, data, length, offset);
    wrote(fd, data, done, offset);
    return done;
}
ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) { return pwrite(fd, data, length, offset); }

/* What was written by other ways is read again. */
static void read_again(int fd, ssize_t length, off_t offset)
{
    uint64_t ino;
    char link[64];
    if (length <= 0 || !ours(fd, &ino)) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int again = syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC, 0);
    char *data = malloc(length);
    if (again >= 0 && pread(again, data, length, offset) == length) wrote(fd, data, length, offset);
    if (again >= 0) close(again);
    free(data);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    ssize_t done = syscall(SYS_writev, fd, parts, count);
    uint64_t ino;
    if (done > 0 && ours(fd, &ino)) read_again(fd, done, behind(fd, done));
    return done;
}

ssize_t sendfile(int out, int in, off_t *offset, size_t count)
{
    ssize_t done = syscall(SYS_sendfile, out, in, offset, count);
    uint64_t ino;
    if (done > 0 && ours(out, &ino)) read_again(out, done, behind(out, done));
    return done;
}
ssize_t sendfile64(int out, int in, off_t *offset, size_t count) { return sendfile(out, in, offset, count); }

ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t length, unsigned flags)
{
    off_t at = to ? *to : lseek(out, 0, SEEK_CUR);
    ssize_t done = syscall(SYS_copy_file_range, in, from, out, to, length, flags);
    read_again(out, done, at);
    return done;
}

int ftruncate(int fd, off_t size)
{
    int done = syscall(SYS_ftruncate, fd, size);
    uint64_t ino;
    if (!done && ours(fd, &ino)) say("size", ino, 0, size, 0, "", 0, "", 0);
    return done;
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }

int truncate(const char *path, off_t size)
{
    struct place place;
    int known = placed(AT_FDCWD, path, &place), done = syscall(SYS_truncate, path, size);
    if (!done && known) say("size", number_of(&place), 0, size, 0, "", 0, "", 0);
    return done;
}
int truncate64(const char *path, off_t size) { return truncate(path, size); }

static int renamed(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    struct place one, two;
    int known = placed(from_at, from, &one) & placed(to_at, to, &two);
    int done = syscall(SYS_renameat2, from_at, from, to_at, to, flags);
    if (!done && known)
        say("rename", one.folder, two.folder, number_of(&two), flags, one.name, strlen(one.name), two.name, strlen(two.name));
    return done;
}
int rename(const char *from, const char *to) { return renamed(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return renamed(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return renamed(a, from, b, to, flags); }

int linkat(int a, const char *from, int b, const char *to, int flags)
{
    struct place two;
    int known = placed(b, to, &two), done = syscall(SYS_linkat, a, from, b, to, flags);
    if (!done && known) say("link", two.folder, number_of(&two), 0, 0, two.name, strlen(two.name), "", 0);
    return done;
}
int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int at, const char *path, int flags)
{
    struct place place;
    int known = placed(at, path, &place), done = syscall(SYS_unlinkat, at, path, flags);
    if (!done && known) say("remove", place.folder, 0, 0, 0, place.name, strlen(place.name), "", 0);
    return done;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int at, const char *path, mode_t mode)
{
    struct place place;
    int known = placed(at, path, &place), done = syscall(SYS_mkdirat, at, path, mode);
    if (!done && known) say("folder", place.folder, number_of(&place), 0, 0, place.name, strlen(place.name), "", 0);
    return done;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

/* The disk is not troubled: what counts is that it was wished for. */
int fsync(int fd)
{
    uint64_t ino;
    if (!ours(fd, &ino)) return syscall(SYS_fsync, fd);
    say("sync", ino, 0, 0, 0, "", 0, "", 0);
    return 0;
}
int fdatasync(int fd) { return fsync(fd); }
void sync(void) { if (root_length) say("all", 0, 0, 0, 0, "", 0, "", 0); else syscall(SYS_sync); }
int syncfs(int fd) { (void)fd; sync(); return 0; }
