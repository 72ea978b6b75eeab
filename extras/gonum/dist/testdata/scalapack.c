/* What ScaLAPACK makes of the matrices of a file, over a grid of ROWS by COLS processes in blocks of
 * BLOCK: scalapack N ROWS COLS BLOCK IN OUT. IN has a symmetric, positive definite A and a G, N by N,
 * and B, N by 2, row by row; OUT gets A G, the lower factor of A, and the solution of A X = B. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { RIGHT = 2 }; /* columns of B */

void Cblacs_get(int, int, int *);
void Cblacs_gridinit(int *, const char *, int, int);
void Cblacs_gridinfo(int, int *, int *, int *, int *);
void Cblacs_gridexit(int);
int numroc_(const int *, const int *, const int *, const int *, const int *);
void descinit_(int *, const int *, const int *, const int *, const int *, const int *, const int *, const int *, const int *, int *);
void pdgemm_(const char *, const char *, const int *, const int *, const int *, const double *, const double *, const int *, const int *, const int *,
             const double *, const int *, const int *, const int *, const double *, double *, const int *, const int *, const int *);
void pdpotrf_(const char *, const int *, double *, const int *, const int *, const int *, int *);
void pdpotrs_(const char *, const int *, const int *, const double *, const int *, const int *, const int *, double *, const int *, const int *, const int *,
              int *);

static int rows, cols, row, col, context, block;
static const int zero = 0, one = 1;

static void check(int bad, const char *what)
{
    if (bad) {
        fprintf(stderr, "%s: %d\n", what, bad);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* A matrix of which this process has some blocks, column by column. */
struct matrix {
    int m, n, high, wide, desc[9];
    double *local;
};

static struct matrix make(int m, int n)
{
    struct matrix a = {m, n, numroc_(&m, &block, &row, &zero, &rows), numroc_(&n, &block, &col, &zero, &cols)};
    int lead = a.high > 1 ? a.high : 1, info;
    a.local = calloc((size_t)lead * (a.wide + 1), sizeof(double));
    descinit_(a.desc, &m, &n, &block, &block, &zero, &zero, &context, &lead, &info);
    check(info, "descinit");
    return a;
}

/* The place in the whole matrix of what stands at local i, of an axis with many processes. */
static int whole(int i, int me, int many) { return (i / block * many + me) * block + i % block; }

static struct matrix take(int m, int n, FILE *f)
{
    struct matrix a = make(m, n);
    double *all = malloc(sizeof(double) * m * n);
    check(fread(all, sizeof(double), m * n, f) != (size_t)m * n, "reading");
    for (int j = 0; j < a.wide; j++)
        for (int i = 0; i < a.high; i++)
            a.local[i + (size_t)j * a.desc[8]] = all[whole(i, row, rows) * n + whole(j, col, cols)];
    free(all);
    return a;
}

static void give(struct matrix *a, FILE *f)
{
    double *mine = calloc(a->m * a->n, sizeof(double)), *all = calloc(a->m * a->n, sizeof(double));
    for (int j = 0; j < a->wide; j++)
        for (int i = 0; i < a->high; i++)
            mine[whole(i, row, rows) * a->n + whole(j, col, cols)] = a->local[i + (size_t)j * a->desc[8]];
    MPI_Reduce(mine, all, a->m * a->n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (f)
        check(fwrite(all, sizeof(double), a->m * a->n, f) != (size_t)a->m * a->n, "writing");
    free(mine);
    free(all);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    check(argc != 7, "arguments");
    int n = atoi(argv[1]), right = RIGHT, info, rank;
    rows = atoi(argv[2]);
    cols = atoi(argv[3]);
    block = atoi(argv[4]);
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "Row", rows, cols);
    Cblacs_gridinfo(context, &rows, &cols, &row, &col);
    FILE *in = fopen(argv[5], "rb");
    check(!in, argv[5]);
    struct matrix a = take(n, n, in), g = take(n, n, in), b = take(n, right, in), product = make(n, n);
    const double alpha = 1, beta = 0;
    pdgemm_("N", "N", &n, &n, &n, &alpha, a.local, &one, &one, a.desc, g.local, &one, &one, g.desc, &beta, product.local, &one, &one, product.desc);
    pdpotrf_("L", &n, a.local, &one, &one, a.desc, &info);
    check(info, "pdpotrf");
    pdpotrs_("L", &n, &right, a.local, &one, &one, a.desc, b.local, &one, &one, b.desc, &info);
    check(info, "pdpotrs");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *out = rank == 0 ? fopen(argv[6], "wb") : NULL;
    check(rank == 0 && !out, argv[6]);
    give(&product, out);
    give(&a, out);
    give(&b, out);
    if (out)
        check(fclose(out), "closing");
    Cblacs_gridexit(context);
    MPI_Finalize();
    return 0;
}
