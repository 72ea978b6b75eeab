/* A generalised request of the program. */
#ifndef FITMPI_GREQUEST_H
#define FITMPI_GREQUEST_H

struct fit_grequest {
    void *query, *free, *cancel, *extra;
    int is_fortran; /* its functions are called as Fortran does */
};

/* What this thread has begun last: the library for Fortran says afterwards that it is its. */
extern _Thread_local struct fit_grequest *fit_latest_grequest;

#endif
