//go:build linux

package main

import (
	"slices"
	"strings"
)

// networkSections are of limited links, of sockets without a library, and of what a rank's socket
// and core are set to.
func networkSections() []section {
	return []section{linkSection(), goSocketsSection(), sockbufSection(), coresSection()}
}

// ofRaw is a column of how near FitMPI comes to the best of the plain programs.
func ofRaw(fig figure, names []string) column {
	return column{title: "FitMPI / best raw", contender: "assist", fig: fig, per: names}
}

func linkSection() section {
	rate := halfRoundTrip.bandwidth()
	piped := slices.Concat(networkAll, []string{"netpipe"})
	s := section{
		title: "Over limited links",
		prose: "After MP_Lite and McMPI. A link of 1 Gbit/s carries 125 MB/s, one of 100 Mbit/s 12.5, of which headers take 5 %. " +
			"`raw` are plain programs over a socket, in C and in Go. A bandwidth close to raw is 0.95 of the best of them.",
	}
	for _, n := range []network{link1G, link100M} {
		where := " over " + n.String()
		sizes, windows := []int64{kb, 16 * kb, 64 * kb, 256 * kb, mb, 4 * mb}, []int64{kb, 64 * kb, mb}
		s.tables = append(s.tables,
			table{caption: "Latency: half a round trip" + where + ", in us.", head: "bytes", sizes: []int64{8, kb}, columns: each(halfRoundTrip.on(n), networkAll...), ours: "assist"},
			table{caption: "Bandwidth of a ping-pong" + where + ", in MB/s.", head: "bytes", sizes: sizes,
				columns: append(each(rate.on(n), piped...), ofRaw(rate.on(n), networkRaw)), ours: "assist"},
			table{caption: "Bandwidth of a stream" + where + ", in MB/s.", head: "bytes", sizes: windows,
				columns: append(each(streaming.on(n), networkAll...), ofRaw(streaming.on(n), networkRaw)), ours: "assist"})
	}
	s.plots = []drawing{{file: "throughput-1G.svg", title: "Ping-pong throughput, 1 Gbit/s link", xlabel: "bytes", ylabel: "MB/s", columns: each(rate.on(link1G), piped...)}}
	return s
}

func goSocketsSection() section {
	names := slices.Concat([]string{"assist"}, networkRaw, rawGo)
	sizes := []int64{8, kb, 64 * kb, mb}
	return section{
		title: "Raw sockets of C and of Go",
		prose: "After McMPI: one TCP connection over loopback without any library, in C and in Go in the styles of [bench/rawgo](../../bench/rawgo). " +
			"Beside `net.Conn` stands what Go costs and what netpoll gains.",
		tables: []table{
			{caption: "Latency: half a round trip, in us.", head: "bytes", sizes: sizes, columns: append(each(halfRoundTrip, names...), ofRaw(halfRoundTrip, networkRaw))},
			{caption: "Bandwidth of a stream, in MB/s.", head: "bytes", sizes: sizes, columns: append(each(streaming, names...), ofRaw(streaming, networkRaw))},
		},
		plots: []drawing{{file: "raw-go.svg", title: "Raw sockets in C and Go, half round trip", xlabel: "bytes", ylabel: "us", columns: each(halfRoundTrip, names...)}},
	}
}

func sockbufSection() section {
	s := section{
		title: "Socket buffers",
		prose: "After MP_Lite: bandwidth of a ping-pong, in MB/s, by SO_SNDBUF and SO_RCVBUF (`FITMPI_SOCKET_BUFFER`), beside a plain program that blocks. " +
			"Unset, the system tunes them.",
	}
	names := []string{"assist", "raw-block-cubic"}
	for _, n := range []network{loopback, link1G} {
		f := halfRoundTrip.bandwidth().on(n)
		t := table{caption: "Over " + n.String() + ".", head: "bytes, buffers", columns: append(each(f, names...), ofRaw(f, names[1:]))}
		for _, size := range []int64{64 * kb, mb} {
			for _, buffer := range sockbufs {
				t.rows = append(t.rows, row{sizeName(size) + ", " + buffer, func(f figure) figure { return f.with("@sockbuf-" + buffer).at(size) }})
			}
			t.rows = append(t.rows, row{sizeName(size) + ", unset", func(f figure) figure { return f.at(size) }})
		}
		s.tables = append(s.tables, t)
	}
	return s
}

// coresSection has the pairs of cores of the machine that writes the pages.
func coresSection() section {
	t := table{caption: "Half a round trip over loopback, in us.", head: "bytes, cores", columns: each(halfRoundTrip, networkMPI...), ours: "assist"}
	for _, size := range []int64{8, 64 * kb} {
		for _, e := range affinityExperiments() {
			t.rows = append(t.rows, row{sizeName(size) + ", " + strings.TrimPrefix(e.mark, "@cores-"), func(f figure) figure { return f.with(e.mark).at(size) }})
		}
	}
	return section{
		title:  "By cores",
		prose:  "After McMPI: rank 0 and rank 1 are each bound to one core. 0-1 is rank 0 on core 0 and rank 1 on core 1.",
		tables: []table{t},
	}
}
