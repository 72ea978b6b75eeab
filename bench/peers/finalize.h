/* The end of an MPI program whose figures are printed. */
#ifndef FITMPI_BENCH_FINALIZE_H
#define FITMPI_BENCH_FINALIZE_H

/*
 * finalize_soon waits a few seconds for MPI_Finalize, and then ends the process as if the job had ended well. MPICH
 * 4.0.2 over UCX's TCP hangs in it now and then from three ranks on, one rank in a blocking read with unread bytes on
 * its connections, the others polling. Messages between all pairs of ranks before it did not help. All figures are
 * printed by then, and must not be lost.
 */
void finalize_soon(void);

#endif
