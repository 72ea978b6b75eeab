//go:build linux

package main

import "slices"

// section is a part of a page, with tables and plots of one subject.
type section struct {
	page   string // name of a topic; empty: that of the papers
	title  string
	prose  string
	tables []table
	plots  []drawing
}

// table has a row for each size, or for each of rows, at which one of its columns was measured.
type table struct {
	caption string
	head    string // of the first column
	sizes   []int64
	rows    []row // instead of sizes
	columns []column
	ours    string // contender whose gain over the best peer among the columns stands beside them; empty: none
}

// row is a row of a table that is of more than a size.
type row struct {
	label string
	at    func(figure) figure // makes the figure of this row of that of a column
}

// column is one contender's figure; the size comes from the row.
type column struct {
	title     string
	contender string
	fig       figure
	per       []string // contenders by whose best figure it is divided; nil: it is shown itself
}

// drawing is a plot with curves over all sizes that were measured, or over numbers of ranks.
type drawing struct {
	file, title, xlabel, ylabel string
	linearY                     bool
	ranks                       []int // instead of sizes
	idle                        int   // so many of the ranks do not count
	columns                     []column
}

// sections are all there are, in the order of their pages.
func sections() []section {
	return slices.Concat(
		onPage(solvePage, solveSections()...),
		onPage("pairs", slices.Concat(pairSections(), queueSections())...),
		onPage("networks", networkSections()...),
		onPage("overlap", append(overlapSections(), bsendSection())...),
		onPage("collectives", append(collectiveSections(), typesSection())...),
		onPage("jobs", jobSections()...),
		[]section{fitmpiTable("over loopback", "loopback", loopback, policiesTCP), fitmpiTable("over a 100 Mbit/s link, the paper's network", "100M", link100M, policiesTCP),
			fitmpiTable("over a 1 Gbit/s link", "1G", link1G, policiesTCP), fitmpiTable("over shared memory", "memory", loopback, policiesMemory)},
		[]section{logpSection(), rawSection()},
		[]section{penaltySection()},
		onPage(appsPage, applicationSections()...),
		onPage(machinesPage, limitsSection(), checkSection()),
	)
}

// onPage are sections on the page of a topic.
func onPage(page string, list ...section) []section {
	for i := range list {
		list[i].page = page
	}
	return list
}

// drawings are the plots of all sections.
func drawings() []drawing {
	var list []drawing
	for _, s := range sections() {
		list = append(list, s.plots...)
	}
	return list
}

// columnOf is a column that shows a figure itself.
func columnOf(title, contender string, fig figure) column {
	return column{title: title, contender: contender, fig: fig}
}

// each is a column of the figure for each contender, titled by it.
func each(fig figure, names ...string) []column {
	all := byName(contenders())
	var columns []column
	for _, name := range names {
		columns = append(columns, columnOf(all[name].title, name, fig))
	}
	return columns
}
