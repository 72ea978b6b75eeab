/* Stacks for signal handlers. A handler of the program may run while its thread is in Go: on the
 * alternate stack, as Go adds SA_ONSTACK to the handlers that it finds. Where a thread has none, Go
 * gives it one of 32 KiB in its heap, which a handler in C may overrun unnoticed. */
#define _GNU_SOURCE
#include "fitmpi.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>

/* As much as a handler may need: pages that none has used cost nothing. Below it is memory that
 * ends the program which touches it. */
enum { STACK = 1 << 20, GUARD = 1 << 16 };

/* A stack of a thread that has ended, for the next one. It stands at its own upper end. */
struct spare {
    struct spare *next;
    char *memory;
};

static struct spare *spares; /* guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t own; /* the stack that this library has given a thread */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* leave takes the stack of a thread that ends. */
static void leave(void *p)
{
    struct spare *s = p;
    stack_t now, none = {.ss_flags = SS_DISABLE};
    if (sigaltstack(NULL, &now) || now.ss_sp != s->memory || sigaltstack(&none, NULL))
        return; /* the program has another one since, or runs on this */
    pthread_mutex_lock(&lock);
    s->next = spares;
    spares = s;
    pthread_mutex_unlock(&lock);
}

static void begin(void) { pthread_key_create(&own, leave); }

/* take returns a stack, or NULL. */
static struct spare *take(void)
{
    pthread_mutex_lock(&lock);
    struct spare *s = spares;
    if (s)
        spares = s->next;
    pthread_mutex_unlock(&lock);
    if (s)
        return s;
    char *m = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (m == MAP_FAILED)
        return NULL;
    mprotect(m, GUARD, PROT_NONE);
    s = (struct spare *)(m + GUARD + STACK - sizeof *s);
    s->memory = m + GUARD;
    return s;
}

void fit_signal_stack(void)
{
    stack_t now;
    if (sigaltstack(NULL, &now) || !(now.ss_flags & SS_DISABLE))
        return; /* the program has given this thread one */
    pthread_once(&once, begin);
    struct spare *s = take();
    if (!s)
        return;
    stack_t mine = {.ss_sp = s->memory, .ss_size = STACK - sizeof *s};
    if (!sigaltstack(&mine, NULL))
        pthread_setspecific(own, s);
}
