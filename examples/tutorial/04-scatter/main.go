// Command 04-scatter: rank 0 deals out orders, which are structs with maps, and gets bills back.
package main

import (
	"context"
	"fmt"

	"github.com/fitmpi/fitmpi/mpi"
)

type order struct {
	Customer string
	Items    map[string]int
}

type bill struct {
	Customer string
	Cents    int
	Rank     int // that has made it
}

func main() {
	mpi.Main(run)
}

func run(ctx context.Context, world *mpi.Comm) error {
	var prices map[string]int
	var orders []order
	if world.Rank() == 0 {
		prices = map[string]int{"apple": 30, "bread": 250, "cheese": 900}
		for r := range world.Size() {
			orders = append(orders, order{fmt.Sprintf("customer %d", r), map[string]int{"apple": r, "bread": 1}})
		}
	}
	prices, err := mpi.BcastValue(world, prices, 0) // all ranks need the prices
	if err != nil {
		return err
	}
	mine, err := mpi.ScatterValue(world, orders, 0) // each rank gets one order
	if err != nil {
		return err
	}
	b := bill{Customer: mine.Customer, Rank: world.Rank()}
	for item, n := range mine.Items {
		b.Cents += n * prices[item]
	}
	bills, err := mpi.GatherValue(world, b, 0)
	for _, b := range bills { // nil at the other ranks
		fmt.Printf("%s: %d cents, by rank %d\n", b.Customer, b.Cents, b.Rank)
	}
	return err
}
