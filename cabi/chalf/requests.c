/* Completion of requests that are done already, without entering Go. */
#include "fitmpi.h"
#include "numbers_gen.h"

#include <stddef.h>

/* index_of is the place of a request in the slab, or -1. */
static long index_of(MPI_Request h)
{
    uintptr_t v = (uintptr_t)h;
    if ((v & 15) != FIT_REQUEST_KIND || (v >> 8) < FIT_FIRST_HANDLE)
        return -1;
    v = (v >> 8) - FIT_FIRST_HANDLE;
    return v < (uintptr_t)FIT_CHUNK * FIT_CHUNKS ? (long)v : -1;
}

static struct fit_request *at(long i)
{
    struct fit_request *chunk = atomic_load_explicit(&fit_shared.slab[i / FIT_CHUNK], memory_order_acquire);
    return chunk ? chunk + i % FIT_CHUNK : NULL;
}

/* give puts a request onto the list of free ones. The count in the upper half of the head changes
 * each time, so that a head which was taken and came back is another. */
static void give(long i)
{
    struct fit_request *r = at(i);
    atomic_store_explicit(&r->state, FIT_FREE, memory_order_relaxed);
    uint64_t head = atomic_load(&fit_shared.free), next;
    do {
        r->next = (int32_t)(uint32_t)head;
        next = ((head >> 32) + 1) << 32 | (uint32_t)i;
    } while (!atomic_compare_exchange_weak(&fit_shared.free, &head, next));
}

/* copy gives a status, but for its error, which calls for one request leave alone. */
static void copy(MPI_Status *to, const MPI_Status *from)
{
    int error;
    if (to == MPI_STATUS_IGNORE)
        return;
    error = to->MPI_ERROR;
    *to = *from;
    to->MPI_ERROR = error;
}

/* complete completes a request if it is done, and reports whether it was. */
static int complete(MPI_Request *request, MPI_Status *status)
{
    long i = index_of(*request);
    struct fit_request *r = i < 0 ? NULL : at(i);
    if (!r || atomic_load_explicit(&r->state, memory_order_acquire) != FIT_DONE)
        return 0;
    copy(status, &r->status);
    *request = MPI_REQUEST_NULL;
    if (i != FIT_SENT)
        give(i);
    return 1;
}

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
    if (request && complete(request, status))
        return MPI_SUCCESS;
    int64_t a[] = {(intptr_t)request, (intptr_t)status};
    return fit_call(FIT_ID_WAIT, a);
}
FIT_ALIAS(MPI_Wait);

/* ticks is a clock that costs some nanoseconds. A microsecond has about TICKS of it. */
#if defined(__x86_64__)
#include <x86intrin.h>
#define TICKS 2048
static uint64_t ticks(void) { return __rdtsc(); }
#else
#define TICKS 25
static uint64_t ticks(void)
{
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
}
#endif

/* still reports whether a test of a request that was not done may say so again without a look: it
 * makes progress without calls, and the last look is not longer ago than an eighth of the time that
 * the program has tested it, nor than a microsecond. So a request is found done later by no more
 * than that. Only one thread may test a request at a time (MPI 5.0, section 11.6). */
static int still(MPI_Request h)
{
    long i = index_of(h);
    struct fit_request *r = i < 0 ? NULL : at(i);
    if (!r || atomic_load_explicit(&r->state, memory_order_relaxed) != FIT_ALONE)
        return 0;
    uint64_t now = ticks(), since = now - r->last, tested = r->last - r->first;
    if (r->last && since < TICKS && since < tested / 8)
        return 1;
    if (!r->last || since > 16 * TICKS) /* the program does something else in between */
        r->first = now;
    r->last = now;
    return 0;
}

int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (request && complete(request, status)) {
        *flag = 1;
        return MPI_SUCCESS;
    }
    if (request && flag && still(*request)) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    int64_t a[] = {(intptr_t)request, (intptr_t)flag, (intptr_t)status};
    return fit_call(FIT_ID_TEST, a);
}
FIT_ALIAS(MPI_Test);

int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    if (flag && still(request)) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    int64_t a[] = {(intptr_t)request, (intptr_t)flag, (intptr_t)status};
    return fit_call(FIT_ID_REQUEST_GET_STATUS, a);
}
FIT_ALIAS(MPI_Request_get_status);

/* What the requests of an array are like: how many are null, are done, are not done and need no
 * call to go on, or are something else; and which is the first that is done, and that is not. */
struct survey {
    int null, done, waiting, other;
    int first_done, first_waiting;
};

static struct survey look(int n, const MPI_Request list[])
{
    struct survey s = {0};
    for (int k = 0; k < n; k++) {
        if (list[k] == MPI_REQUEST_NULL) {
            s.null++;
            continue;
        }
        long i = index_of(list[k]);
        struct fit_request *r = i < 0 ? NULL : at(i);
        switch (r ? atomic_load_explicit(&r->state, memory_order_acquire) : FIT_FREE) {
        case FIT_DONE:
            if (!s.done++)
                s.first_done = k;
            break;
        case FIT_ALONE:
            if (!s.waiting++)
                s.first_waiting = k;
            break;
        default:
            s.other++;
        }
    }
    return s;
}

/* all_still reports whether none of an array is done, and that may be said without a look: the
 * first one's tests count for all. */
static int all_still(const struct survey *s, const MPI_Request list[])
{
    return s->waiting && !s->done && !s->other && still(list[s->first_waiting]);
}

/* may_complete reports whether complete_all may complete an array. */
static int may_complete(const struct survey *s, const MPI_Status statuses[])
{
    return s->done && !s->waiting && !s->other && (!s->null || !statuses);
}

/* complete_all completes requests that are done or null. */
static int complete_all(int n, MPI_Request list[], MPI_Status statuses[])
{
    for (int k = 0; k < n; k++) {
        MPI_Status *status = statuses ? &statuses[k] : MPI_STATUS_IGNORE;
        complete(&list[k], status);
        if (status)
            status->MPI_ERROR = MPI_SUCCESS;
    }
    return MPI_SUCCESS;
}

int PMPI_Waitall(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[])
{
    if (count > 0 && array_of_requests) {
        struct survey s = look(count, array_of_requests);
        if (may_complete(&s, array_of_statuses))
            return complete_all(count, array_of_requests, array_of_statuses);
    }
    int64_t a[] = {count, (intptr_t)array_of_requests, (intptr_t)array_of_statuses};
    return fit_call(FIT_ID_WAITALL, a);
}
FIT_ALIAS(MPI_Waitall);

int PMPI_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[])
{
    if (count > 0 && array_of_requests && flag) {
        struct survey s = look(count, array_of_requests);
        *flag = may_complete(&s, array_of_statuses);
        if (*flag)
            return complete_all(count, array_of_requests, array_of_statuses);
        if (s.waiting && !s.other && still(array_of_requests[s.first_waiting]))
            return MPI_SUCCESS;
    }
    int64_t a[] = {count, (intptr_t)array_of_requests, (intptr_t)flag, (intptr_t)array_of_statuses};
    return fit_call(FIT_ID_TESTALL, a);
}
FIT_ALIAS(MPI_Testall);

int PMPI_Waitany(int count, MPI_Request array_of_requests[], int *index, MPI_Status *status)
{
    if (count > 0 && array_of_requests && index) {
        struct survey s = look(count, array_of_requests);
        if (s.done) {
            *index = s.first_done;
            complete(&array_of_requests[s.first_done], status);
            return MPI_SUCCESS;
        }
    }
    int64_t a[] = {count, (intptr_t)array_of_requests, (intptr_t)index, (intptr_t)status};
    return fit_call(FIT_ID_WAITANY, a);
}
FIT_ALIAS(MPI_Waitany);

int PMPI_Testany(int count, MPI_Request array_of_requests[], int *index, int *flag, MPI_Status *status)
{
    if (count > 0 && array_of_requests && index && flag) {
        struct survey s = look(count, array_of_requests);
        *flag = s.done > 0;
        if (*flag) {
            *index = s.first_done;
            complete(&array_of_requests[s.first_done], status);
            return MPI_SUCCESS;
        }
        if (all_still(&s, array_of_requests)) {
            *index = MPI_UNDEFINED;
            return MPI_SUCCESS;
        }
    }
    int64_t a[] = {count, (intptr_t)array_of_requests, (intptr_t)index, (intptr_t)flag, (intptr_t)status};
    return fit_call(FIT_ID_TESTANY, a);
}
FIT_ALIAS(MPI_Testany);

int PMPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[],
                  MPI_Status array_of_statuses[])
{
    if (incount > 0 && array_of_requests && outcount) {
        struct survey s = look(incount, array_of_requests);
        if (all_still(&s, array_of_requests)) {
            *outcount = 0;
            return MPI_SUCCESS;
        }
    }
    int64_t a[] = {incount, (intptr_t)array_of_requests, (intptr_t)outcount, (intptr_t)array_of_indices,
                   (intptr_t)array_of_statuses};
    return fit_call(FIT_ID_TESTSOME, a);
}
FIT_ALIAS(MPI_Testsome);
