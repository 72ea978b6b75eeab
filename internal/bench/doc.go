// Package bench is what cmd/fitbench and bench/compare share: the statistics of
// repeated measurements and the rows in which a benchmark reports them, as
// aligned text, CSV or JSON. Package plot, below it, draws them.
//
// A latency has no normal distribution: it has a floor, which is what the code
// costs, and a tail, which is what the machine did meanwhile. So nothing here
// computes a mean. Following the McMPI thesis (section "statistics" there), the
// value of a measurement is its first sextile, the range shown with it goes
// from the minimum to the second sextile, and the median stands beside them.
//
// The C programs of bench/peers print the same CSV (see bench/METHOD.md), which is
// how one table can hold both.
package bench
