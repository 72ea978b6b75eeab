/*
 * raw_solve is test solve without a library: in each of two processes a thread computes, and a helper thread moves
 * messages with a length in front both ways through one TCP connection. So it shows what a plain progress thread
 * costs and gains. It prints rows of peer raw, as bench/METHOD.md says. By default it forks the second process, over
 * loopback; between machines or namespaces that one is started with -serve, and the first is told where by -host.
 */
#include "common.h"
#include "solving.h"
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * transfer is a message that the computing thread has asked for. That thread fills it in and sets busy, the helper
 * moves it and clears busy: by busy each hands it to the other.
 */
struct transfer {
	atomic_int busy;
	uint64_t length; /* of bytes */
	unsigned char *bytes;
	uint64_t header; /* the length as it goes first, or came */
	uint64_t moved;  /* of both together */
};

/* helped is one of the two processes while its helper runs. */
struct helped {
	int fd, spin;
	int work, done; /* eventfds, for helpers that block: something was asked for; something is done */
	struct transfer out, in;
	atomic_int stop;
	pthread_t helper;
};

static void ring_bell(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof one) != sizeof one)
		die("eventfd: %s", strerror(errno));
}

static void hear_bell(int fd)
{
	uint64_t rings;

	if (read(fd, &rings, sizeof rings) < 0 && errno != EINTR && errno != EAGAIN)
		die("eventfd: %s", strerror(errno));
}

static int is_busy(struct transfer *t)
{
	return atomic_load_explicit(&t->busy, memory_order_acquire);
}

/* rest is what is left of a transfer: of its header, and of its bytes. */
static int rest(struct transfer *t, struct iovec v[2])
{
	int n = 0;
	uint64_t of_bytes = 0;

	if (t->moved < sizeof t->header)
		v[n++] = (struct iovec){(unsigned char *)&t->header + t->moved, sizeof t->header - t->moved};
	else
		of_bytes = t->moved - sizeof t->header;
	v[n++] = (struct iovec){t->bytes + of_bytes, t->length - of_bytes};
	return n;
}

/*
 * step moves what the connection takes or has of a transfer, in one call, and tells whether it moved anything. A
 * message that arrives is read with its header in one call: it is as long as the receive, which is checked after.
 */
static int step(struct helped *h, struct transfer *t, int sends)
{
	struct iovec v[2];
	struct msghdr m = {.msg_iov = v};
	ssize_t n;

	if (!is_busy(t))
		return 0;
	m.msg_iovlen = (size_t)rest(t, v);
	n = sends ? sendmsg(h->fd, &m, MSG_NOSIGNAL) : recvmsg(h->fd, &m, 0);
	if (n == 0)
		die("the other process is gone");
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			die("%s: %s", sends ? "write" : "read", strerror(errno));
		return 0;
	}
	t->moved += (uint64_t)n;
	if (t->moved >= sizeof t->header && t->header != t->length)
		die("a message of %llu bytes came, not of %llu", (unsigned long long)t->header, (unsigned long long)t->length);
	if (t->moved == sizeof t->header + t->length) {
		atomic_store_explicit(&t->busy, 0, memory_order_release);
		if (!h->spin)
			ring_bell(h->done);
	}
	return 1;
}

/* idle waits until there may be something to move. */
static void idle(struct helped *h)
{
	short events = (short)((is_busy(&h->in) ? POLLIN : 0) | (is_busy(&h->out) ? POLLOUT : 0));
	struct pollfd p[2] = {{.fd = h->work, .events = POLLIN}, {.fd = events != 0 ? h->fd : -1, .events = events}};

	if (h->spin) {
		sched_yield();
		return;
	}
	if (poll(p, 2, -1) < 0 && errno != EINTR)
		die("poll: %s", strerror(errno));
	if (p[0].revents != 0)
		hear_bell(h->work);
}

static void *help(void *arg)
{
	struct helped *h = arg;

	while (!atomic_load(&h->stop)) {
		int sent = step(h, &h->out, 1), received = step(h, &h->in, 0);

		if (!sent && !received)
			idle(h);
	}
	return NULL;
}

static void start_helper(struct helped *h, const struct wire *w, int spin)
{
	*h = (struct helped){.fd = w->fd, .spin = spin, .work = eventfd(0, EFD_CLOEXEC), .done = eventfd(0, EFD_CLOEXEC)};
	if (h->work < 0 || h->done < 0)
		die("eventfd: %s", strerror(errno));
	if (pthread_create(&h->helper, NULL, help, h) != 0)
		die("cannot start the helper thread");
}

static void stop_helper(struct helped *h)
{
	atomic_store(&h->stop, 1);
	ring_bell(h->work);
	pthread_join(h->helper, NULL);
	close(h->work);
	close(h->done);
}

static void post(struct helped *h, struct transfer *t, unsigned char *bytes, uint64_t n)
{
	t->bytes = bytes;
	t->length = t->header = n;
	t->moved = 0;
	atomic_store_explicit(&t->busy, 1, memory_order_release);
	if (!h->spin)
		ring_bell(h->work);
}

static void wait_all(struct helped *h)
{
	while (is_busy(&h->in) || is_busy(&h->out)) {
		if (h->spin)
			sched_yield();
		else
			hear_bell(h->done);
	}
}

/* series is what the client tells the server of each series, so that both do the same. */
struct series {
	int32_t count, warm; /* count 0: there is none any more */
	int64_t size, steps;
};

/* results are what a series gave. */
struct results {
	double *took, *worked; /* of each iteration, us */
	double mean;
};

/* perform does a series. The buffers of the warm-up's results are those of the first measured iteration. */
static void perform(const struct wire *w, int spin, const struct series *s, struct results *r)
{
	unsigned char *out = buffer_new((size_t)s->size), *in = buffer_new((size_t)s->size);
	struct helped h;
	int64_t begun = 0, last, start, end;

	start_helper(&h, w, spin);
	last = now_ns();
	for (int i = -s->warm; i < s->count; i++) {
		int at = i > 0 ? i : 0;

		if (i == 0)
			begun = last;
		post(&h, &h.in, in, (uint64_t)s->size);
		post(&h, &h.out, out, (uint64_t)s->size);
		start = now_ns();
		compute_steps(s->steps);
		r->worked[at] = micros(start);
		wait_all(&h);
		end = now_ns();
		r->took[at] = (double)(end - last) / 1e3;
		last = end;
	}
	r->mean = (double)(last - begun) / 1e3 / s->count;
	stop_helper(&h);
	free(out);
	free(in);
}

struct solve_options {
	struct socket_options socket;
	int spin, serve;
	const char *host, *kase;
	int port, iterations, warmup, pace;
	struct sizes sizes;
};

static void report(const struct solve_options *o, const char *kase, long size, const char *measure, const char *unit,
                   double *xs, int n)
{
	struct row r = {"solve", "raw", "tcp", o->spin ? "thread-spin" : "thread-block", 2, kase, size, measure, unit};

	write_row(&r, xs, n);
}

static void measure(const struct wire *w, const struct solve_options *o, const struct solve_case *c, long size)
{
	int64_t ns = solve_work(size) * c->times;
	int n = o->iterations > 0 ? o->iterations : solve_count(ns);
	struct series s = {.count = n, .warm = o->warmup >= 0 ? o->warmup : at_least(5, n / 10), .size = size, .steps = steps_of(ns)};
	struct results r = {allocate((size_t)n * sizeof(double)), allocate((size_t)n * sizeof(double)), 0};
	double steps = (double)s.steps, theirs;
	unsigned char ready;

	put(w, (unsigned char *)&s, sizeof s);
	take(w, &ready, 1);
	perform(w, o->spin, &s, &r);
	take(w, (unsigned char *)&theirs, sizeof theirs);
	if (theirs > r.mean)
		r.mean = theirs;
	report(o, c->name, size, "iteration", "us", r.took, n);
	report(o, c->name, size, "mean-iteration", "us", &r.mean, 1);
	report(o, c->name, size, "work", "us", r.worked, n);
	report(o, c->name, size, "steps", "1", &steps, 1);
	free(r.took);
	free(r.worked);
}

static int wants(const struct solve_options *o, int c)
{
	return *o->kase == '\0' || strcmp(o->kase, solve_cases[c].name) == 0;
}

static void check_case(const struct solve_options *o)
{
	for (int c = 0; c < n_solve_cases; c++)
		if (wants(o, c))
			return;
	die("test solve has no case %s", o->kase);
}

static void run_client(const struct wire *w, const struct solve_options *o)
{
	struct series end = {.count = 0};

	write_header();
	for (int i = 0; i < o->sizes.n; i++)
		for (int c = 0; c < n_solve_cases; c++)
			if (wants(o, c))
				measure(w, o, &solve_cases[c], o->sizes.at[i]);
	put(w, (unsigned char *)&end, sizeof end);
}

/* run_server does what the client says. What it says is checked: another program may have connected. */
static void run_server(const struct wire *w, const struct solve_options *o)
{
	const int64_t most = (int64_t)1 << 32;
	struct series s;
	unsigned char ready = 1;

	for (;;) {
		struct results r;

		take(w, (unsigned char *)&s, sizeof s);
		if (s.count == 0)
			return;
		if (s.count < 0 || s.warm < 0 || s.size < 0 || s.size > most || s.steps < 0)
			die("the client asks for something unknown");
		r = (struct results){allocate((size_t)s.count * sizeof(double)), allocate((size_t)s.count * sizeof(double)), 0};
		put(w, &ready, 1);
		perform(w, o->spin, &s, &r);
		put(w, (unsigned char *)&r.mean, sizeof r.mean);
		free(r.took);
		free(r.worked);
	}
}

/* run_both forks the server. If this process ends, so does that one. */
static int run_both(const struct solve_options *o)
{
	int port = 0, listener = listen_at("127.0.0.1", &port, &o->socket), status = 0;
	pid_t parent = getpid(), child = fork();
	struct wire w = {.fd = -1};

	if (child < 0)
		die("fork: %s", strerror(errno));
	if (child == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
			die("the client is gone");
		w.fd = accept_from(listener, &o->socket);
		run_server(&w, o);
		return 0;
	}
	close(listener);
	w.fd = connect_to("127.0.0.1", port, &o->socket);
	run_client(&w, o);
	if (waitpid(child, &status, 0) != child || status != 0)
		die("the server failed");
	return 0;
}

static void usage(void)
{
	printf("usage: raw_solve [solve] [options]\n"
	       "       raw_solve -serve -host ADDRESS [options]   serves one client\n\n"
	       "  -policy spin|block      the helper thread polls without end, or sleeps in poll (default: spin)\n"
	       "  -sizes 8,64K            bytes of a message\n"
	       "  -iterations N, -warmup N, -pace N, -case work-1|work-3|work-9   as of mpibench\n"
	       "  -host ADDRESS -port N   where the server is; without them it is forked\n");
	exit(0);
}

static void set_option(struct solve_options *o, const char *name, const char *value)
{
	if (strcmp(name, "policy") == 0 && (strcmp(value, "spin") == 0 || strcmp(value, "block") == 0))
		o->spin = strcmp(value, "spin") == 0;
	else if (strcmp(name, "sizes") == 0)
		o->sizes = parse_sizes(value);
	else if (strcmp(name, "case") == 0)
		o->kase = value;
	else if (strcmp(name, "iterations") == 0)
		o->iterations = parse_count(name, value, 0);
	else if (strcmp(name, "warmup") == 0)
		o->warmup = parse_count(name, value, -1);
	else if (strcmp(name, "pace") == 0)
		o->pace = parse_count(name, value, 0);
	else if (strcmp(name, "host") == 0)
		o->host = value;
	else if (strcmp(name, "port") == 0)
		o->port = parse_count(name, value, 1);
	else if (strcmp(name, "serve") == 0)
		o->serve = 1;
	else
		die("option -%s %s: -help lists what there is", name, value);
}

static struct solve_options parse_options(char **argv)
{
	static const char *const flags[] = {"help", "h", "serve", NULL};
	/* The socket never blocks, whether the helper does or not: what a call leaves waits in its turn. */
	struct solve_options o = {.socket = {.spin = 1, .congestion = ""}, .spin = 1, .kase = "", .port = 7912, .warmup = -1};
	struct arguments a = {.at = argv + 1};
	const char *name, *value;

	while (next_argument(&a, flags, &name, &value)) {
		if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0)
			usage();
		if (*name != '\0')
			set_option(&o, name, value);
		else if (strcmp(value, "solve") != 0)
			die("no test %s: the only one is solve", value);
	}
	if (o.serve && o.host == NULL)
		die("-serve needs -host, the address to listen at");
	check_case(&o);
	if (o.sizes.n == 0)
		o.sizes = parse_sizes(SOLVE_SIZES);
	return o;
}

int main(int argc, char **argv)
{
	struct solve_options o = parse_options(argv);
	struct wire w = {.fd = -1};

	(void)argc;
	if (o.pace > 0)
		set_pace(o.pace);
	else
		calibrate();
	if (o.host == NULL)
		return run_both(&o);
	if (o.serve) {
		w.fd = accept_from(listen_at(o.host, &o.port, &o.socket), &o.socket);
		run_server(&w, &o);
		return 0;
	}
	w.fd = connect_to(o.host, o.port, &o.socket);
	run_client(&w, &o);
	return 0;
}
