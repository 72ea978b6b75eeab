/* The environment: what may be called when, versions, levels of threads; no Go before MPI_Init. */
#include "check.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <unistd.h>

/* slackest is the largest timer slack of the other threads, or 0 if they may not be asked: that
 * needs a privilege. */
static long slackest(void)
{
    long slack, most = 0;
    char path[300], own[20];
    snprintf(own, sizeof own, "%d", (int)getpid());
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; (d = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%s/timerslack_ns", d->d_name);
        FILE *f = d->d_name[0] == '.' || !strcmp(d->d_name, own) ? NULL : fopen(path, "r");
        if (f && fscanf(f, "%ld", &slack) == 1 && slack > most)
            most = slack;
        if (f)
            fclose(f);
    }
    closedir(tasks);
    return most;
}

static int has_go(void)
{
    char line[4096];
    int found = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f))
        found |= strstr(line, "libfitmpi_go") != NULL;
    fclose(f);
    return found;
}

int main(int argc, char **argv)
{
    int flag, version, subversion, n, provided;
    char text[MPI_MAX_LIBRARY_VERSION_STRING], name[MPI_MAX_PROCESSOR_NAME];
    OK(MPI_Initialized(&flag));
    CHECK(!flag);
    OK(MPI_Get_version(&version, &subversion));
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    CHECK(!has_go());
    int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(has_go() && provided == MPI_THREAD_MULTIPLE);
    /* The runtime's monitor leaves the cores to the program, whose own timers are as before. */
    CHECK(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == slack);
    CHECK(slackest() == 0 || slackest() >= 10 * 1000 * 1000);
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Initialized(&flag));
    CHECK(flag);
    OK(MPI_Is_thread_main(&flag));
    CHECK(flag);
    OK(MPI_Query_thread(&n));
    CHECK(n == MPI_THREAD_MULTIPLE);
    OK(MPI_Get_library_version(text, &n));
    CHECK(strstr(text, "FitMPI") && n == (int)strlen(text));
    OK(MPI_Get_processor_name(name, &n));
    CHECK(n > 0 && n == (int)strlen(name));
    CHECK(MPI_Wtime() > 0 && MPI_Wtick() > 0);
    int *ub;
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &ub, &flag));
    CHECK(flag && *ub >= 32767);
    OK(MPI_Finalized(&flag));
    CHECK(!flag);
    OK(MPI_Finalize());
    OK(MPI_Finalized(&flag));
    CHECK(flag);
    if (rank == 0)
        printf("all right\n");
    return 0;
}
