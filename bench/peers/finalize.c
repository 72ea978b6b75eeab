#include "finalize.h"

#include <mpi.h>
#include <signal.h>
#include <unistd.h>

/* leave ends this process as if the job had ended well: all figures are printed by then. */
static void leave(int signal)
{
	(void)signal;
	_exit(0);
}

void finalize_soon(void)
{
	enum { patience = 5 }; /* s */

	signal(SIGALRM, leave);
	alarm(patience);
	MPI_Finalize();
	alarm(0);
}
