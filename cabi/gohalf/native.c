/* Predefined operations on long double, which Go does not have. */
#include <complex.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Calls a function of a program that was built for another interface; NULL if it was not. */
int (*fit_foreign)(int, int64_t, const int64_t *);

/* Kinds and operations, as in internal/foreign. */
enum { LONG_DOUBLE, LONG_COMPLEX, LONG_DOUBLE_INT };
enum { OP_SUM, OP_PROD, OP_MAX, OP_MIN, OP_MAXLOC, OP_MINLOC };

struct long_double_int {
    long double value;
    int index;
};

static void real(int op, char *acc, const char *in)
{
    long double a, b;
    memcpy(&a, acc, sizeof a);
    memcpy(&b, in, sizeof b);
    switch (op) {
    case OP_SUM: a = a + b; break;
    case OP_PROD: a = a * b; break;
    case OP_MAX: a = a > b ? a : b; break;
    case OP_MIN: a = a < b ? a : b; break;
    }
    memcpy(acc, &a, sizeof a);
}

static void whole(int op, char *acc, const char *in)
{
    long double complex a, b;
    memcpy(&a, acc, sizeof a);
    memcpy(&b, in, sizeof b);
    a = op == OP_SUM ? a + b : a * b;
    memcpy(acc, &a, sizeof a);
}

/* located does not touch what lies behind the index. */
static void located(int op, char *acc, const char *in)
{
    struct long_double_int a, b;
    memcpy(&a, acc, sizeof a);
    memcpy(&b, in, sizeof b);
    if (a.value == b.value)
        a.index = b.index < a.index ? b.index : a.index;
    else if (op == OP_MAXLOC ? b.value > a.value : b.value < a.value) {
        a.value = b.value;
        a.index = b.index;
    }
    memcpy(acc + offsetof(struct long_double_int, value), &a.value, sizeof a.value);
    memcpy(acc + offsetof(struct long_double_int, index), &a.index, sizeof a.index);
}

/* fit_native does acc = acc op in on values of n bytes together at two addresses, aligned or not. */
void fit_native(int kind, int op, int64_t to, int64_t from, int64_t n)
{
    static void (*const kinds[])(int, char *, const char *) = {real, whole, located};
    static const size_t sizes[] = {
        sizeof(long double), sizeof(long double complex), sizeof(struct long_double_int)};
    char *acc = (char *)(intptr_t)to;
    const char *in = (const char *)(intptr_t)from;
    for (size_t at = 0; at + sizes[kind] <= (size_t)n; at += sizes[kind])
        kinds[kind](op, acc + at, in + at);
}
