/* Predefined operations on long double, which Go does not have. */
#include <complex.h>
#include <stdint.h>

/* Calls a function of a program that was built for another interface; NULL if it was not. */
int (*fit_foreign)(int, int64_t, const int64_t *);

enum { LONG_DOUBLE, LONG_COMPLEX, LONG_DOUBLE_INT };

/* Handles of the operations in the ABI. */
enum { OP_SUM = 0x21, OP_MIN = 0x22, OP_MAX = 0x23, OP_PROD = 0x24, OP_MINLOC = 0x38, OP_MAXLOC = 0x39 };

struct long_double_int {
    long double value;
    int index;
};

static void real(int op, long double *acc, const long double *in, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        long double a = acc[i], b = in[i];
        switch (op) {
        case OP_SUM: acc[i] = a + b; break;
        case OP_PROD: acc[i] = a * b; break;
        case OP_MAX: acc[i] = a > b ? a : b; break;
        case OP_MIN: acc[i] = a < b ? a : b; break;
        }
    }
}

static void whole(int op, long double complex *acc, const long double complex *in, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        acc[i] = op == OP_SUM ? acc[i] + in[i] : acc[i] * in[i];
}

static void located(int op, struct long_double_int *acc, const struct long_double_int *in, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        long double a = acc[i].value, b = in[i].value;
        if (a == b)
            acc[i].index = in[i].index < acc[i].index ? in[i].index : acc[i].index;
        else if (op == OP_MAXLOC ? b > a : b < a)
            acc[i] = in[i];
    }
}

/* fit_native does acc = acc op in on n values at two addresses. */
void fit_native(int kind, int op, int64_t to, int64_t from, int64_t n)
{
    void *acc = (void *)(intptr_t)to;
    const void *in = (const void *)(intptr_t)from;
    switch (kind) {
    case LONG_DOUBLE: real(op, acc, in, n); break;
    case LONG_COMPLEX: whole(op, acc, in, n); break;
    case LONG_DOUBLE_INT: located(op, acc, in, n); break;
    }
}
