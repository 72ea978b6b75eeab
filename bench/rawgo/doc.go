// Rawgo measures what a message costs a Go program without any library: one TCP connection between
// two processes, and bytes without headers. It is bench/peers/rawtcp.c in Go, once for each of
// several styles in which Go programs read a socket:
//
//	conn        net.Conn: Write, and Read until the message is there
//	bufio       the same through a bufio.Reader
//	goroutine   a goroutine of the connection reads, and gives what it has read through a channel
//	poll        FitMPI's netpoll: system calls that keep the P, tried again and again
//	wait        netpoll: when nothing has come, a blocking wait in epoll, which gives the P away
//	hold        netpoll: when nothing has come, a wait in epoll that keeps the P
//
// So conn beside rawtcp -policy block is what Go costs, and hold beside wait what keeping the P
// gains. It prints rows of peer raw with the policy go-STYLE, as bench/METHOD.md says.
//
// By default it starts the second process itself, over loopback. Between namespaces that one is
// started with -serve, and the first is told by -host where it is.
package main
