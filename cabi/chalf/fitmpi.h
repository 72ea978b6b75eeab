/* What the files of the C half share. The package comment of cabi tells how the halves meet. */
#ifndef FITMPI_FITMPI_H
#define FITMPI_FITMPI_H

#include <stdatomic.h>
#include <stdint.h>

#include "what.h"

#ifndef FIT_INNER
#pragma GCC visibility push(default)
#include "mpi.h"
#pragma GCC visibility pop

/* FIT_ALIAS defines a function under its own name, which a tool may define instead. */
#define FIT_ALIAS(name) extern __attribute__((visibility("default"), weak, alias("P" #name))) __typeof__(P##name) name
#else
/* A library with the interface of another has those names itself: inner_gen.h renames. */
#include "mpi.h"
#define FIT_ALIAS(name) extern __typeof__(P##name) P##name
#endif

/* When a function may be called. */
enum { FIT_RUNNING = 0, FIT_ANYTIME = 1, FIT_STARTS = 2 };
extern const unsigned char fit_when[];
extern const char *const fit_names[];

/* fit_call enters Go with the arguments of the function number id, and loads Go if it must. */
int fit_call(int id, const int64_t *args);

/* fit_signal_stack gives the calling thread a stack for signal handlers, if it has none. */
void fit_signal_stack(void);

/* States of a request. Those that are not done belong to the Go half. */
enum { FIT_FREE = 0, FIT_PENDING = 1, FIT_DONE = 2, FIT_ALONE = 3 /* pending, and progress needs no call */ };

/* A request: a place in the slab, whose memory the Go half maps. */
struct fit_request {
    _Atomic int32_t state;
    int32_t next;      /* of the list of free requests; -1 ends it */
    MPI_Status status; /* of one that is done */
    uint64_t first, last; /* ticks of the first test in a row and of the last that entered Go; 0: none */
    char pad[8];
};
_Static_assert(sizeof(struct fit_request) == 64, "the Go half has the same layout");

/* FIT_SENT is the place of a request that is always done: of what was done as it began and has an
 * empty status, as a short send. */
enum { FIT_SENT = 0, FIT_CHUNK = 1024, FIT_CHUNKS = 4096, FIT_REQUEST_KIND = 9, FIT_FIRST_HANDLE = 16 };

/* What both halves read and write. */
struct fit_shared {
    struct fit_request *_Atomic slab[FIT_CHUNKS];
    _Atomic uint64_t free;   /* the first free request in the lower half, -1 for none; a count above */
    _Atomic int32_t state;   /* FIT_BEFORE and so on, of the world that MPI_Init makes */
};

enum { FIT_BEFORE = 0, FIT_INITIALIZED = 1, FIT_FINALIZED = 2 };

extern struct fit_shared fit_shared;

/* What the Go half gets of the C half as it is loaded. */
struct fit_attach {
    struct fit_shared *shared;
    fit_foreign_function *foreign; /* NULL: the program was built for the standard ABI */
};

#endif
