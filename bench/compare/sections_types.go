//go:build linux

package main

// typesSection is of what an element's type and an operation's form cost in a collective.
func typesSection() section {
	s := section{
		title: "By type and operation",
		prose: "After MPI.NET: Allreduce of two ranks, the slowest rank's time in us, of numbers, of structs of 8 bytes and of objects that are serialised; " +
			"by a predefined operation, one of a user over slices, and one made of a function of two values. C has the first two forms.",
	}
	cases := [][2]string{
		{"float64-sum", "float64, predefined"}, {"float64-user", "float64, user's"}, {"float64-of-two", "float64, of two values"},
		{"struct-user", "struct, user's"}, {"struct-of-two", "struct, of two values"}, {"object-of-two", "object, of two values"},
	}
	for _, w := range bothWays {
		t := table{caption: "In " + w.name + ".", head: "bytes, what", columns: each(figure{test: "types", measure: "time"}, w.names...), ours: w.ours}
		for _, size := range []int64{8, kb, 64 * kb, mb} {
			for _, k := range cases {
				t.rows = append(t.rows, row{sizeName(size) + ", " + k[1], func(f figure) figure { return f.with(k[0]).at(size) }})
			}
		}
		s.tables = append(s.tables, t)
	}
	return s
}

// bsendSection is of sends that a library buffers for a partner that computes.
func bsendSection() section {
	sizes := []int64{kb, 64 * kb, 512 * kb, mb}
	f := figure{test: "bsend"}
	return section{
		title: "Buffered sends to a partner that computes",
		prose: "After FiTMPI: `Bsend` with an attached buffer, while the receiver computes for 20 ms.",
		tables: []table{
			{caption: "Time in `Bsend`, us.", head: "bytes", sizes: sizes, columns: each(f.with("late-receiver").of("bsend"), everyTCP...), ours: "assist"},
			{caption: "Time in `Recv`, us, of such a message that arrived while the receiver computed.", head: "bytes", sizes: sizes,
				columns: each(f.with("arrived").of("recv"), everyTCP...), ours: "assist"},
		},
	}
}
