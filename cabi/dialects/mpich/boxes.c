#include "boxes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The numbers, and by hash which is which. The system gives memory to what is used of it. */
enum { BOXES = 1 << 20, PLACES = 2 * BOXES };
static intptr_t boxes[BOXES];
static uint32_t places[PLACES]; /* index of a number and 1; 0: free */
static uint32_t used;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

void *fit_box(intptr_t value)
{
    pthread_mutex_lock(&mu);
    uint32_t at = (uint32_t)((uint64_t)value * 0x9e3779b97f4a7c15u >> 43) % PLACES;
    while (places[at] && boxes[places[at] - 1] != value)
        at = (at + 1) % PLACES;
    if (!places[at]) {
        if (used == BOXES) {
            fprintf(stderr, "fitmpi: %d different values of attributes of Fortran are too many\n", BOXES);
            abort();
        }
        boxes[used] = value;
        places[at] = ++used;
    }
    void *box = &boxes[places[at] - 1];
    pthread_mutex_unlock(&mu);
    return box;
}

intptr_t fit_unbox(const void *value)
{
    uintptr_t v = (uintptr_t)value, first = (uintptr_t)boxes;
    return v >= first && v < first + sizeof boxes ? *(const intptr_t *)value : (intptr_t)v;
}
