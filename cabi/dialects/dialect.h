/* What the files of a library with the interface of another share. Such a library is the C half
 * under other names (chalf/inner_gen.h), and these files, compiled with the directory of one dialect
 * among those of headers: its types_gen.h, convert_gen.h and status.h. */
#ifndef FITMPI_DIALECT_H
#define FITMPI_DIALECT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "types_gen.h"

#include "standard_gen.h"

/* FIT_ALIAS defines a function under its own name, which a tool may define instead. */
#define FIT_ALIAS(name) extern __attribute__((visibility("default"), weak, alias("P" #name))) __typeof__(P##name) name
#define FIT_PUBLIC __attribute__((visibility("default")))

/* A handle that is a number in both interfaces. */
struct fit_pair {
    uint32_t theirs, ours;
};

/* fit_object is the handle of the standard ABI behind one that may be the address of an object. */
static inline uintptr_t fit_object(const void *h)
{
    uintptr_t v = (uintptr_t)h;
    return v & 15 || !v ? v : *(const uintptr_t *)h;
}

#include "convert_gen.h"

/* FIT_NONE is no handle: nothing was written. */
#define FIT_NONE UINTPTR_MAX

/* The bounds of a datatype that MPI 3.0 removed, in the table of facts. */
enum { FIT_LB = 0x2fe, FIT_UB = 0x2ff };

int fit_error_in(int code);
int fit_error_out(int code);
int fit_added_in(int code, int last);
int fit_added_out(int code, int last);

static inline int error_out(int rc) { return rc ? fit_error_out(rc) : 0; }

#include "status_convert.h"
#include "lists.h"

/* What no argument says. */
long fit_peers(uintptr_t comm);
long fit_indegree(uintptr_t comm);
long fit_outdegree(uintptr_t comm);
int fit_at_root(uintptr_t comm, int root);
long fit_sum(const int *list, int n);

/* fit_text copies a string, as much of it as there is room for. */
void fit_text(char *to, const char *from, size_t room);

#endif
