/* How Go calls functions of the program. */
#ifndef FITMPI_WHAT_H
#define FITMPI_WHAT_H

#include <stdint.h>

/* What a function is. */
enum {
    FIT_OP, FIT_OP_LARGE,
    FIT_COMM_COPY, FIT_COMM_DELETE, FIT_TYPE_COPY, FIT_TYPE_DELETE, FIT_WIN_COPY, FIT_WIN_DELETE,
    FIT_COMM_ERROR, FIT_WIN_ERROR, FIT_FILE_ERROR, FIT_SESSION_ERROR,
    FIT_QUERY, FIT_FREE_FUNCTION, FIT_CANCEL,
    FIT_EXTENT, FIT_CONVERSION,
};

/* fit_foreign calls a function of a program that was built for the interface of another library. */
typedef int fit_foreign_function(int what, int64_t function, const int64_t *args);
extern fit_foreign_function fit_foreign;

#endif
