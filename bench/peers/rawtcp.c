/*
 * rawtcp measures what a message costs without any library: one TCP connection between two processes, and bytes
 * without headers. It prints rows of peer raw, as bench/METHOD.md says. By default it forks the second process, over
 * loopback; between machines or namespaces that one is started with -serve, and the first is told where by -host.
 */
#include "common.h"
#include "wire.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct raw_test;

struct raw_options {
	const struct raw_test *test;
	struct socket_options socket;
	int serve;
	const char *host;
	int port;
	struct sizes sizes;
	int iterations, warmup, window;
	long chunk;
	const char *kase;
};

/* series is what the client tells the server of each series, so that both do the same. */
struct series {
	int32_t kind;  /* enum kind */
	int32_t count; /* repetitions with the warm-up */
	int64_t size, window, chunk;
};

enum kind { no_more, bounces, windows, coalesced, crossings };

/* endpoint is one of the two processes. */
struct endpoint {
	struct wire wire;
	int client;
	unsigned char *out, *in; /* of one message; coalesced, of a window */
};

static void bounce(struct endpoint *p, const struct series *s)
{
	if (p->client)
		put(&p->wire, p->out, (size_t)s->size);
	take(&p->wire, p->in, (size_t)s->size);
	if (!p->client)
		put(&p->wire, p->out, (size_t)s->size);
}

/* cross_twice sends a message each way at once, and again. */
static void cross_twice(struct endpoint *p, const struct series *s)
{
	for (int i = 0; i < 2; i++)
		cross(&p->wire, p->out, p->in, (size_t)s->size);
}

/* move_window moves a window to the server, message by message at both ends, which then answers with a byte. */
static void move_window(struct endpoint *p, const struct series *s)
{
	unsigned char ack = 0;

	for (int64_t i = 0; i < s->window; i++) {
		if (p->client)
			put(&p->wire, p->out, (size_t)s->size);
		else
			take(&p->wire, p->in, (size_t)s->size);
	}
	if (p->client)
		take(&p->wire, &ack, 1);
	else
		put(&p->wire, &ack, 1);
}

/* move_coalesced moves a window as if it were one message. */
static void move_coalesced(struct endpoint *p, const struct series *s)
{
	struct series whole = *s;

	whole.size *= s->window;
	whole.window = 1;
	move_window(p, &whole);
}

static void (*const steps[])(struct endpoint *, const struct series *) = {
	[bounces] = bounce, [windows] = move_window, [coalesced] = move_coalesced, [crossings] = cross_twice,
};

/* perform does a series; us gets the time of each repetition, unless it is NULL. */
static void perform(struct endpoint *p, const struct series *s, double *us)
{
	size_t room = (size_t)s->size * (s->kind == coalesced ? (size_t)s->window : 1);

	p->out = buffer_new(room);
	p->in = buffer_new(room);
	p->wire.chunk = (size_t)s->chunk;
	for (int i = 0; i < s->count; i++) {
		int64_t start = now_ns();

		steps[s->kind](p, s);
		if (us != NULL)
			us[i] = micros(start);
	}
	free(p->out);
	free(p->in);
}

/* The tests. */

struct raw_test {
	const char *name, *sizes, *measure, *unit;
	int (*repeat)(long size);
	/* figure makes of the time of a repetition in us what is reported. */
	double (*figure)(const struct series *s, double us);
	int bins; /* whether a histogram follows */
	struct {
		const char *name; /* of the case */
		enum kind kind;
	} cases[2];
};

static int windows_of(long size)
{
	return at_least(20, repetitions(size) / 20);
}

static double half(const struct series *s, double us)
{
	(void)s;
	return us / 2;
}

static double whole(const struct series *s, double us)
{
	(void)s;
	return us;
}

static double bandwidth(const struct series *s, double us)
{
	return (double)s->window * (double)s->size / us;
}

static double rate(const struct series *s, double us)
{
	return (double)s->window * 1e6 / us;
}

static const struct raw_test raw_tests[] = {
	{"pingpong", "1,8,64,512,1K,4K,16K,64K,128K,256K,512K,1M,4M,16M", "half-rtt", "us", repetitions, half, 0, {{"", bounces}}},
	{"duplex", "1,8,64,512,1K,4K,16K,64K,128K,256K,512K,1M,4M,16M", "time", "us", repetitions, whole, 0,
	 {{"pingpong", bounces}, {"pingping", crossings}}},
	{"histogram", "8,64K", "half-rtt", "us", repetitions, half, 1, {{"", bounces}}},
	{"bw", "8,64,1K,8K,64K,1M,4M", "bandwidth", "MB/s", windows_of, bandwidth, 0, {{"", windows}}},
	{"rate", "8", "rate", "1/s", repetitions, rate, 0, {{"one-by-one", windows}, {"coalesced", coalesced}}},
};

/* write_bins writes the histogram of the n half round trips in us, which it sorts, after the row that is like r. */
static void write_bins(const struct row *r, double *us, int n)
{
	struct row share = *r, tail = *r;
	struct bin bins[MAX_BINS];
	char kase[32];
	double *ns = allocate((size_t)n * sizeof *ns), p999 = quantile_of(us, n, 999, 1000);
	int found;

	tail.measure = "p999";
	write_row(&tail, &p999, 1);
	for (int i = 0; i < n; i++)
		ns[i] = us[i] * 1e3;
	found = bins_of(ns, n, bins);
	snprintf(kase, sizeof kase, "%ld", r->size);
	share.kase = kase;
	share.measure = "share";
	share.unit = "%";
	for (int i = 0; i < found; i++) {
		share.size = (long)bins[i].low;
		write_row(&share, &bins[i].share, 1);
	}
	free(ns);
}

static void measure(struct endpoint *p, const struct raw_options *o, int c, long size)
{
	const struct raw_test *t = o->test;
	int n = o->iterations > 0 ? o->iterations : t->repeat(size);
	int warm = o->warmup >= 0 ? o->warmup : at_least(5, n / 10);
	int window = o->window > 0 ? o->window : size >= MIB ? 16 : 64;
	struct series s = {.kind = (int32_t)t->cases[c].kind, .count = warm + n, .size = size, .window = window, .chunk = o->chunk};
	struct row r = {t->name, "raw", "tcp", o->socket.spin ? "spin" : "block", 2, t->cases[c].name, size, t->measure, t->unit};
	double *xs = allocate((size_t)s.count * sizeof *xs);
	char chunked[32], policy[64];
	unsigned char ready;

	if (*o->socket.congestion != '\0') {
		snprintf(policy, sizeof policy, "%s-%s", r.policy, o->socket.congestion);
		r.policy = policy;
	}
	if (o->chunk > 0) {
		snprintf(chunked, sizeof chunked, "chunk-%ld", o->chunk);
		r.kase = chunked;
	}
	put(&p->wire, (unsigned char *)&s, sizeof s);
	take(&p->wire, &ready, 1);
	perform(p, &s, xs);
	for (int i = warm; i < s.count; i++)
		xs[i] = t->figure(&s, xs[i]);
	write_row(&r, xs + warm, n);
	if (t->bins)
		write_bins(&r, xs + warm, n);
	free(xs);
}

static void run_client(struct endpoint *p, const struct raw_options *o)
{
	struct series end = {.kind = no_more};
	int found = 0;

	write_header();
	for (int i = 0; i < o->sizes.n; i++)
		for (int c = 0; c < 2 && o->test->cases[c].name != NULL; c++)
			if (*o->kase == '\0' || strcmp(o->kase, o->test->cases[c].name) == 0) {
				measure(p, o, c, o->sizes.at[i]);
				found = 1;
			}
	put(&p->wire, (unsigned char *)&end, sizeof end);
	if (!found)
		die("test %s has no case %s", o->test->name, o->kase);
}

/* run_server does what the client says. What it says is checked: another program may have connected. */
static void run_server(struct endpoint *p)
{
	const int64_t most = (int64_t)1 << 32;
	struct series s;
	unsigned char ready = 1;

	for (;;) {
		take(&p->wire, (unsigned char *)&s, sizeof s);
		if (s.kind == no_more)
			return;
		if (s.kind < 0 || s.kind > crossings || s.count < 0 || s.size < 0 || s.size > most || s.window < 1 ||
		    s.window > most || s.size > most / s.window || s.chunk < 0)
			die("the client asks for something unknown");
		put(&p->wire, &ready, 1);
		perform(p, &s, NULL);
	}
}

/* run_both forks the server. If this process ends, so does that one. */
static int run_both(const struct raw_options *o)
{
	int port = 0, listener = listen_at("127.0.0.1", &port, &o->socket), status = 0;
	pid_t parent = getpid(), child = fork();
	struct endpoint p = {.client = child != 0, .wire = {.blocks = !o->socket.spin}};

	if (child < 0)
		die("fork: %s", strerror(errno));
	if (child == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
			die("the client is gone");
		p.wire.fd = accept_from(listener, &o->socket);
		run_server(&p);
		return 0;
	}
	close(listener);
	p.wire.fd = connect_to("127.0.0.1", port, &o->socket);
	run_client(&p, o);
	if (waitpid(child, &status, 0) != child || status != 0)
		die("the server failed");
	return 0;
}

static void usage(void)
{
	printf("usage: rawtcp pingpong|duplex|histogram|bw|rate [options]\n"
	       "       rawtcp -serve -host ADDRESS [options]     serves one client\n\n"
	       "  -policy spin|block      nonblocking sockets and polling, or blocking calls (default: spin)\n"
	       "  -sizes 8,64K            bytes of a message\n"
	       "  -iterations N, -warmup N, -window N   as of mpibench\n"
	       "  -case NAME              of rate: one-by-one or coalesced, a write for each message or for the window\n"
	       "  -chunk BYTES            move at most so many bytes with a call\n"
	       "  -congestion NAME        TCP congestion control, such as cubic; rows have it in their policy: spin-cubic\n"
	       "  -sockbuf BYTES          SO_SNDBUF and SO_RCVBUF\n"
	       "  -host ADDRESS -port N   where the server is; without them it is forked\n");
	exit(0);
}

static long one_size(const char *value)
{
	struct sizes s = parse_sizes(value);

	if (s.n != 1)
		die("%s: need one size", value);
	return s.at[0];
}

static void set_option(struct raw_options *o, const char *name, const char *value)
{
	if (strcmp(name, "policy") == 0 && (strcmp(value, "spin") == 0 || strcmp(value, "block") == 0))
		o->socket.spin = strcmp(value, "spin") == 0;
	else if (strcmp(name, "sizes") == 0)
		o->sizes = parse_sizes(value);
	else if (strcmp(name, "iterations") == 0)
		o->iterations = parse_count(name, value, 0);
	else if (strcmp(name, "warmup") == 0)
		o->warmup = parse_count(name, value, -1);
	else if (strcmp(name, "window") == 0)
		o->window = parse_count(name, value, 0);
	else if (strcmp(name, "case") == 0)
		o->kase = value;
	else if (strcmp(name, "chunk") == 0)
		o->chunk = one_size(value);
	else if (strcmp(name, "congestion") == 0)
		o->socket.congestion = value;
	else if (strcmp(name, "sockbuf") == 0)
		o->socket.buffer = (int)one_size(value);
	else if (strcmp(name, "host") == 0)
		o->host = value;
	else if (strcmp(name, "port") == 0)
		o->port = parse_count(name, value, 1);
	else if (strcmp(name, "serve") == 0)
		o->serve = 1;
	else
		die("option -%s %s: -help lists what there is", name, value);
}

static const struct raw_test *find_test(const char *name)
{
	for (size_t i = 0; i < sizeof raw_tests / sizeof raw_tests[0]; i++)
		if (strcmp(raw_tests[i].name, name) == 0)
			return &raw_tests[i];
	die("no test %s: -help lists them", name);
}

static struct raw_options parse_options(char **argv)
{
	static const char *const flags[] = {"help", "h", "serve", NULL};
	struct raw_options o = {.socket = {.spin = 1, .congestion = ""}, .port = 7911, .warmup = -1, .kase = ""};
	struct arguments a = {.at = argv + 1};
	const char *name, *value;

	while (next_argument(&a, flags, &name, &value)) {
		if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0)
			usage();
		if (*name != '\0')
			set_option(&o, name, value);
		else
			o.test = find_test(value);
	}
	if (o.serve ? o.host == NULL : o.test == NULL)
		die(o.serve ? "-serve needs -host, the address to listen at" : "name a test: -help lists them");
	if (!o.serve && o.sizes.n == 0)
		o.sizes = parse_sizes(o.test->sizes);
	return o;
}

int main(int argc, char **argv)
{
	struct raw_options o = parse_options(argv);
	struct endpoint p = {.client = !o.serve, .wire = {.blocks = !o.socket.spin}};

	(void)argc;
	if (o.host == NULL)
		return run_both(&o);
	if (o.serve) {
		p.wire.fd = accept_from(listen_at(o.host, &o.port, &o.socket), &o.socket);
		run_server(&p);
		return 0;
	}
	p.wire.fd = connect_to(o.host, o.port, &o.socket);
	run_client(&p, &o);
	return 0;
}
