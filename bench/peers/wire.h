/* The sockets of rawtcp: one connection between two processes, moved by polling or by blocking calls. */
#ifndef FITMPI_BENCH_WIRE_H
#define FITMPI_BENCH_WIRE_H

#include <stddef.h>

/* socket_options are set on both ends before they connect, so that the window is scaled for the buffer. */
struct socket_options {
	int spin;               /* nonblocking calls until one succeeds; 0: blocking calls */
	int buffer;             /* SO_SNDBUF and SO_RCVBUF; 0: the system's */
	const char *congestion; /* TCP_CONGESTION; "": the system's */
};

/* wire is one end of the connection. */
struct wire {
	int fd;
	size_t chunk; /* most bytes of one call; 0: all that are left */
	int blocks;   /* cross waits in poll; 0: it tries again and again */
};

/* listen_at listens at an IPv4 address and port; port 0 lets the system choose, and *port gets it. */
int listen_at(const char *host, int *port, const struct socket_options *o);

/* accept_from takes one connection and closes the listener. */
int accept_from(int listener, const struct socket_options *o);

/* connect_to connects, and tries for five seconds if nobody listens yet. */
int connect_to(const char *host, int port, const struct socket_options *o);

/* put writes n bytes. A write may take a part of them, and the rest follows. */
void put(const struct wire *w, const unsigned char *b, size_t n);

/* take reads n bytes, in as many parts as they come. */
void take(const struct wire *w, unsigned char *b, size_t n);

/* cross writes n bytes of out and reads n bytes to in at once: each as the kernel takes or has them. */
void cross(const struct wire *w, const unsigned char *out, unsigned char *in, size_t n);

#endif
