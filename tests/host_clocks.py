"""A clock for some programs alone: they see its time from their start, and every later setting of it.

The time of a whole machine cannot be set for one test. So a small library is put before the system's own: it
adds as many seconds to the time of day as a file says. Clocks that only measure are left as they are.
"""

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

_OFFSET = struct.Struct("q")
_FILE = "CLOCK_OFFSET_FILE"
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const long long none = 0;
static const volatile long long *offset = &none;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("CLOCK_OFFSET_FILE");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *seen = mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, file, 0);
    if (seen != MAP_FAILED) offset = seen;
    close(file);
}

static int is_time_of_day(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && is_time_of_day(clock)) now->tv_sec += *offset;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    if (now) *now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *now) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now) *now = exact.tv_sec;
    return exact.tv_sec;
}

/* What waits until a time of day waits for the system's. */
int sem_timedwait(sem_t *restrict one, const struct timespec *restrict until) {
    static int (*real)(sem_t *, const struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "sem_timedwait");
    struct timespec here = {until->tv_sec - *offset, until->tv_nsec};
    return real(one, &here);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict one, const struct timespec *restrict until) {
    static int (*real)(pthread_mutex_t *, const struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
    struct timespec here = {until->tv_sec - *offset, until->tv_nsec};
    return real(one, &here);
}
"""


class NoClock(RuntimeError):
    """There is no compiler, so no clock can be made."""


@dataclass(frozen=True, slots=True)
class HostClock:
    """One clock; whoever has `environ` in its environment lives by it."""

    file: Path
    preloaded: Path

    @property
    def environ(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.preloaded), _FILE: str(self.file)}

    def set(self, seconds: int) -> None:
        """So far ahead of the true time, or behind it, from now on."""
        # Over the old number, in place: those who look at the file have it open.
        with self.file.open("r+b") as file:
            file.write(_OFFSET.pack(seconds))

    def beside(self, file: Path) -> "HostClock":
        """Another clock of the same make, for another host."""
        file.parent.mkdir(parents=True, exist_ok=True)
        other = HostClock(file.absolute(), self.preloaded)
        other.file.write_bytes(_OFFSET.pack(0))
        return other

    @property
    def ahead(self) -> int:
        return int(_OFFSET.unpack(self.file.read_bytes())[0])


def make_clock(folder: Path) -> HostClock:
    """A clock that shows the true time until it is set.

    Raises:
        NoClock: there is no compiler.
    """
    folder.mkdir(parents=True, exist_ok=True)
    clock = HostClock((folder / "clock").absolute(), (folder / "clock.so").absolute())
    clock.file.write_bytes(_OFFSET.pack(0))
    _build(clock.preloaded)
    return clock


def _build(preloaded: Path) -> None:
    if not (compiler := shutil.which("cc")):
        raise NoClock("no C compiler, cc, to make a clock with")
    command = [compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(preloaded), "-ldl"]
    built = subprocess.run(command, input=_SOURCE, capture_output=True, text=True, check=False)
    if built.returncode:
        raise NoClock(f"the compiler cannot make a clock: {built.stderr.strip()}")
