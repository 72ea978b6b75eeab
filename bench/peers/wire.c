#define _GNU_SOURCE
#include "wire.h"

#include "common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void set(int fd, int level, int option, const void *value, size_t n, const char *name)
{
	if (setsockopt(fd, level, option, value, (socklen_t)n) != 0)
		die("%s: %s", name, strerror(errno));
}

static int new_socket(const struct socket_options *o)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0)
		die("socket: %s", strerror(errno));
	set(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes, "SO_REUSEADDR");
	if (o->buffer > 0) {
		set(fd, SOL_SOCKET, SO_SNDBUF, &o->buffer, sizeof o->buffer, "SO_SNDBUF");
		set(fd, SOL_SOCKET, SO_RCVBUF, &o->buffer, sizeof o->buffer, "SO_RCVBUF");
	}
	if (*o->congestion != '\0')
		set(fd, IPPROTO_TCP, TCP_CONGESTION, o->congestion, strlen(o->congestion), o->congestion);
	return fd;
}

/* finish sets what an established connection needs. */
static int finish(int fd, const struct socket_options *o)
{
	int yes = 1;

	set(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes, "TCP_NODELAY");
	if (o->spin && fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
		die("O_NONBLOCK: %s", strerror(errno));
	return fd;
}

static struct sockaddr_in address(const char *host, int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	if (inet_pton(AF_INET, host, &a.sin_addr) != 1)
		die("-host %s: need an IPv4 address", host);
	return a;
}

int listen_at(const char *host, int *port, const struct socket_options *o)
{
	int fd = new_socket(o);
	struct sockaddr_in a = address(host, *port);
	socklen_t n = sizeof a;

	if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, 1) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &n) != 0)
		die("listen at %s port %d: %s", host, *port, strerror(errno));
	*port = ntohs(a.sin_port);
	return fd;
}

int accept_from(int listener, const struct socket_options *o)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		die("accept: %s", strerror(errno));
	close(listener);
	return finish(fd, o);
}

int connect_to(const char *host, int port, const struct socket_options *o)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	struct sockaddr_in a = address(host, port);
	int64_t start = now_ns();

	for (;;) {
		int fd = new_socket(o);

		if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
			return finish(fd, o);
		if (errno != ECONNREFUSED || now_ns() - start > 5000000000)
			die("connect to %s port %d: %s", host, port, strerror(errno));
		close(fd);
		nanosleep(&pause, NULL);
	}
}

/* one is how many of n bytes the next call is to move. */
static size_t one(const struct wire *w, size_t n)
{
	return w->chunk > 0 && w->chunk < n ? w->chunk : n;
}

/* again tells whether a call that moved nothing is to be repeated, and dies if it will never move anything. */
static int again(ssize_t moved, const char *what)
{
	if (moved == 0)
		die("%s: the other process is gone", what);
	if (errno != EAGAIN && errno != EINTR)
		die("%s: %s", what, strerror(errno));
	return 1;
}

void put(const struct wire *w, const unsigned char *b, size_t n)
{
	while (n > 0) {
		ssize_t moved = send(w->fd, b, one(w, n), MSG_NOSIGNAL);

		if (moved <= 0 && again(moved, "write"))
			continue;
		b += moved;
		n -= (size_t)moved;
	}
}

void take(const struct wire *w, unsigned char *b, size_t n)
{
	while (n > 0) {
		ssize_t moved = recv(w->fd, b, one(w, n), 0);

		if (moved <= 0 && again(moved, "read"))
			continue;
		b += moved;
		n -= (size_t)moved;
	}
}

/* moved_by is how many bytes a call has moved that must not wait. */
static size_t moved_by(ssize_t moved, const char *what)
{
	if (moved <= 0 && again(moved, what))
		return 0;
	return (size_t)moved;
}

void cross(const struct wire *w, const unsigned char *out, unsigned char *in, size_t n)
{
	size_t sent = 0, got = 0;

	while (sent < n || got < n) {
		size_t before = sent + got;
		struct pollfd p = {.fd = w->fd};

		if (sent < n)
			sent += moved_by(send(w->fd, out + sent, one(w, n - sent), MSG_NOSIGNAL | MSG_DONTWAIT), "write");
		if (got < n)
			got += moved_by(recv(w->fd, in + got, one(w, n - got), MSG_DONTWAIT), "read");
		if (!w->blocks || sent + got > before)
			continue;
		p.events = (short)((sent < n ? POLLOUT : 0) | (got < n ? POLLIN : 0));
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			die("poll: %s", strerror(errno));
	}
}
