/* Generalised requests: what the program's functions get as their state is this library's, which
 * knows how to call them. */
#include "dialect.h"
#include "grequest.h"

static int query(void *state, struct fit_status *status)
{
    struct fit_grequest *g = state;
    MPI_Status theirs;
    status_write(&theirs, status);
    int rc = 0;
    if (g->is_fortran)
        ((void (*)(void *, void *, int *))g->query)(g->extra, &theirs, &rc);
    else
        rc = ((MPI_Grequest_query_function *)g->query)(g->extra, &theirs);
    status_read(status, &theirs);
    return fit_error_in(rc);
}

static int release(void *state)
{
    struct fit_grequest *g = state;
    int rc = 0;
    if (g->is_fortran)
        ((void (*)(void *, int *))g->free)(g->extra, &rc);
    else
        rc = ((MPI_Grequest_free_function *)g->free)(g->extra);
    free(g);
    return fit_error_in(rc);
}

static int cancel(void *state, int complete)
{
    struct fit_grequest *g = state;
    int rc = 0;
    if (g->is_fortran)
        ((void (*)(void *, int *, int *))g->cancel)(g->extra, &complete, &rc);
    else
        rc = ((MPI_Grequest_cancel_function *)g->cancel)(g->extra, complete);
    return fit_error_in(rc);
}

_Thread_local struct fit_grequest *fit_latest_grequest;

FIT_PUBLIC int PMPI_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                                   MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request)
{
    uintptr_t h = ABI_REQUEST_NULL;
    struct fit_grequest *g = malloc(sizeof *g);
    if (!g)
        return error_out(ABI_ERR_NO_MEM);
    *g = (struct fit_grequest){(void *)query_fn, (void *)free_fn, (void *)cancel_fn, extra_state, 0};
    int rc = abi_Grequest_start((const void *)query, (const void *)release, (const void *)cancel, g, &h);
    if (rc)
        free(g);
    fit_latest_grequest = rc ? NULL : g;
    *request = request_out(h);
    return error_out(rc);
}
FIT_ALIAS(MPI_Grequest_start);
