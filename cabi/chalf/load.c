/* Loads the Go half: at the first call that needs it, so that a program which only links MPI has no
 * Go runtime. */
#define _GNU_SOURCE
#include "fitmpi.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct fit_shared fit_shared = {.free = UINT32_MAX};

typedef int (*call_function)(int id, const int64_t *args);

static call_function _Atomic enter;     /* NULL until Go is there */
static pid_t loaded_by;                 /* the process that has loaded it */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

static void die(const char *name, const char *why)
{
    fprintf(stderr, "fitmpi: %s: %s\n", name, why);
    fflush(stderr);
    _exit(1);
}

/* path writes where the Go half is: beside this library. */
static void path(const char *name, char *to, size_t room)
{
    Dl_info self;
    if (!dladdr(&fit_shared, &self) || !self.dli_fname)
        die(name, "the C library does not know where it was loaded from");
    char real[PATH_MAX];
    if (!realpath(self.dli_fname, real))
        die(name, "the directory of the C library cannot be read");
    *strrchr(real, '/') = 0;
    if ((size_t)snprintf(to, room, "%s/libfitmpi_go.so", real) >= room)
        die(name, "the path of the C library is too long");
}

/* The timer slack of Go's threads, in nanoseconds. A call that returns to the program leaves the
 * runtime's monitor polling, 50 times each 20 us and then less and less often: on a core that the
 * program computes on, a tenth of its time. It need not be that exact. The worker is: it sets its
 * own. */
enum { SLACK = 10 * 1000 * 1000 };

/* load loads Go. Its threads inherit the signals that are blocked here, which is all: handlers of
 * the program then run on threads of the program, which have stacks for them (stack.c). The runtime
 * unblocks those that it needs for itself. */
static call_function load(const char *name)
{
    char file[PATH_MAX];
    path(name, file, sizeof file);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, SLACK, 0, 0, 0); /* threads inherit that, too */
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib)
        die(name, dlerror());
    void (*attach)(struct fit_attach *) = (void (*)(struct fit_attach *))dlsym(lib, "fitmpi_attach");
    call_function f = (call_function)dlsym(lib, "fitmpi_call");
    if (!attach || !f)
        die(name, "libfitmpi_go.so is of another version: build both halves anew");
#ifdef FIT_INNER
    struct fit_attach with = {&fit_shared, fit_foreign};
#else
    struct fit_attach with = {&fit_shared, NULL};
#endif
    attach(&with); /* waits for the runtime, whose threads are there then */
    prctl(PR_SET_TIMERSLACK, slack > 0 ? slack : 0, 0, 0, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return f;
}

/* first is the way of the first calls. */
static call_function first(int id)
{
    if (fit_when[id] == FIT_RUNNING)
        die(fit_names[id], "called before MPI_Init or MPI_Session_init");
    pthread_mutex_lock(&loading);
    call_function f = atomic_load(&enter);
    if (!f) {
        f = load(fit_names[id]);
        loaded_by = getpid();
        atomic_store(&enter, f);
    }
    pthread_mutex_unlock(&loading);
    return f;
}

/* forked is called in the child of a fork, which has no Go threads. */
static int is_child;
static void forked(void) { is_child = 1; }

__attribute__((constructor)) static void watch(void) { pthread_atfork(NULL, NULL, forked); }

static __thread int has_stack; /* whether fit_signal_stack was called in this thread */

int fit_call(int id, const int64_t *args)
{
    if (__builtin_expect(!has_stack, 0)) { /* before Go knows this thread */
        fit_signal_stack();
        has_stack = 1;
    }
    call_function f = atomic_load_explicit(&enter, memory_order_acquire);
    if (!f)
        f = first(id);
    if (__builtin_expect(is_child, 0) && loaded_by != getpid())
        die(fit_names[id], "called in the child of a fork: only the process that has initialized MPI may "
                           "call it; let the child exec a program first");
    return f(id, args);
}
