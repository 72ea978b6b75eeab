/* apps runs one of the applications: mpirun -np 4 apps heat2d -size 512 -time 5 */
#include "app.h"

#include "../finalize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct app *const apps[] = {&heat2d, &cg, &fft3d, &samplesort, &kmeans, &matmul};

enum { n_apps = sizeof apps / sizeof apps[0] };

static void usage(void)
{
	printf("usage: mpirun -np RANKS apps NAME [options]\n\napplications, and their options with the defaults:\n");
	for (int i = 0; i < n_apps; i++) {
		printf("  %-11s %s\n             ", apps[i]->name, apps[i]->about);
		for (const struct param *p = apps[i]->params; p->name != NULL; p++)
			printf(" -%s %s", p->name, p->value);
		printf("\n");
	}
	printf("\nfor all:\n  -time N     measure N times (default 1)\n");
	exit(0);
}

static struct app *find_app(const char *name)
{
	for (int i = 0; i < n_apps; i++)
		if (strcmp(apps[i]->name, name) == 0)
			return apps[i];
	die("no application %s: -help lists them", name);
}

static struct param *find_param(struct app *app, const char *name)
{
	for (struct param *p = app->params; p->name != NULL; p++)
		if (strcmp(p->name, name) == 0)
			return p;
	die("%s has no option -%s: -help lists them", app->name, name);
}

const char *text(const struct job *j, const char *name)
{
	for (const struct param *p = j->app->params; p->name != NULL; p++)
		if (strcmp(p->name, name) == 0)
			return p->value;
	abort(); /* a bug: an application asks for what it has not */
}

int number(const struct job *j, const char *name)
{
	return parse_count(name, text(j, name), 1);
}

static void parse(struct job *j, char **argv)
{
	static const char *const flags[] = {"help", "h", NULL};
	struct arguments a = {.at = argv + 1};
	struct app *app = NULL;
	const char *name, *value;

	while (next_argument(&a, flags, &name, &value)) {
		if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0)
			usage();
		if (*name == '\0' && app != NULL)
			die("one application at a time: %s or %s?", app->name, value);
		if (*name == '\0')
			app = find_app(value);
		else if (app == NULL)
			die("name an application before its options: -help lists them");
		else if (strcmp(name, "time") == 0)
			j->times = parse_count(name, value, 1);
		else
			find_param(app, name)->value = value;
	}
	if (app == NULL)
		die("name an application: -help lists them");
	j->app = app;
}

int main(int argc, char **argv)
{
	struct job j = {.times = 1};

	parse(&j, argv);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
	j.app->run(&j);
	MPI_Barrier(MPI_COMM_WORLD);
	if (j.rank == 0)
		write_end();
	finalize_soon();
	return 0;
}
