// The wall clock of a process under test: the true one, moved by the seconds in the file CLOCK_MOVED_BY, 8 bytes in the order of the
// machine. It allocates nothing, so that an allocator may ask for the time before it is ready. The monotonic clock stays true.

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t moved_by(void) {
    static const int64_t *volatile seconds;
    if (!seconds) {
        const char *path = getenv("CLOCK_MOVED_BY");
        int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file < 0) return 0;
        void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
        close(file);
        if (mapped == MAP_FAILED) return 0;
        seconds = mapped;
    }
    return *seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += moved_by();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int failed = syscall(SYS_gettimeofday, now, zone);
    if (!failed) now->tv_sec += moved_by();
    return failed;
}

time_t time(time_t *now) {
    struct timespec read;
    clock_gettime(CLOCK_REALTIME, &read);
    if (now) *now = read.tv_sec;
    return read.tv_sec;
}

// The kernel waits by the true clock. Without this, a wait that begins before a jump back lasts as long as the jump.
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
    struct timespec true_until = {until->tv_sec - moved_by(), until->tv_nsec};
    return pthread_cond_clockwait(condition, mutex, CLOCK_REALTIME, &true_until);
}
