/* A program that has signal handlers without SA_ONSTACK, starts others, and forks. */
#include "check.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int alarms, overruns;

/* handle needs more stack than a goroutine has. */
static void handle(int s)
{
    volatile char big[100000];
    (void)s;
    big[0] = big[sizeof big - 1] = 1;
    stack_t now;
    if (sigaltstack(NULL, &now) || (now.ss_flags & SS_ONSTACK && (char *)big < (char *)now.ss_sp))
        overruns++;
    alarms++;
}

int main(int argc, char **argv)
{
    struct sigaction a = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    int x = 1, y, status;
    char line[16] = "";
    sigaction(SIGALRM, &a, NULL);
    begin(argc, argv);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 2000; i++)
        OK(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (double until = MPI_Wtime() + 20; alarms < 20 && MPI_Wtime() < until;)
        ;
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK(alarms >= 20);
    CHECK(overruns == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(system("exit 3") >> 8 == 3);
    FILE *f = popen("echo out", "r");
    CHECK(f && fgets(line, sizeof line, f) && !strcmp(line, "out\n"));
    pclose(f);
    pid_t child = fork();
    if (!child) {
        fclose(stderr);
        MPI_Barrier(MPI_COMM_WORLD); /* does not return */
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1);
    child = fork();
    if (!child)
        _exit(7); /* a child that does not call MPI is left alone */
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    return end();
}
