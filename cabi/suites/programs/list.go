package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// program is a program of Debian.
type program struct {
	name, what, compared string
	of                   string // the library that it is linked with
	packages             string
	command              []string
	input                string // a file in its working directory, "" for none
	text, from           string // what is in it, or the file that is copied there
	answer               func(dir, out string) (string, error)
}

// The libraries.
const (
	openMPI = "Open MPI"
	mpich   = "MPICH"
)

// place puts the file of p into its working directory.
func (p *program) place(dir string) error {
	if p.input == "" {
		return nil
	}
	text := []byte(p.text)
	if p.from != "" {
		var err error
		if text, err = os.ReadFile(p.from); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, p.input), text, 0o644)
}

var programs = []program{
	{
		name: "LAMMPS", what: "a Lennard-Jones liquid of 32,000 atoms, 200 steps", compared: "the table of energies",
		of: openMPI, packages: "lammps", command: []string{"lmp", "-in", "in.liquid"}, input: "in.liquid", text: liquid, answer: energies,
	},
	{
		name: "HPCC", what: "all its tests, HPL of 1,000 unknowns", compared: "which residuals pass, and that all tests do",
		of: openMPI, packages: "hpcc", command: []string{"hpcc"}, input: "hpccinf.txt", text: hpl, answer: passes,
	},
	scalapack(openMPI, "xdlu", "LU.dat", "LU factorisations"),
	scalapack(openMPI, "xzqr", "QR.dat", "complex QR factorisations and their kin"),
	scalapack(mpich, "xdlu", "LU.dat", "LU factorisations"),
	scalapack(mpich, "xzqr", "QR.dat", "complex QR factorisations and their kin"),
	netpipe(openMPI, "NPopenmpi", "netpipe-openmpi"),
	netpipe(mpich, "NPmpich2", "netpipe-mpich2"),
}

// scalapack is one of ScaLAPACK's own testers, on the input that comes with it. Each checks
// residuals.
func scalapack(of, tester, input, what string) program {
	dir := map[string]string{openMPI: "openmpi-tests", mpich: "mpich-tests"}[of]
	return program{
		name: "ScaLAPACK", what: what + " (" + tester + ")", compared: "how many residuals pass", of: of, packages: "scalapack-mpi-test",
		command: []string{"/usr/lib/x86_64-linux-gnu/scalapack/" + dir + "/" + tester}, input: input, from: "/usr/share/scalapack/" + input,
		answer: residuals,
	}
}

// residuals are the lines in which a tester of ScaLAPACK counts.
func residuals(_, out string) (string, error) {
	return linesWith(out, "Finished", "tests completed and", "tests skipped")
}

// netpipe is NetPIPE, which sends messages of many lengths to and fro, and looks at each.
func netpipe(of, command, packages string) program {
	return program{
		name: "NetPIPE", what: "messages of up to 64 KiB, 10 of each length", compared: "that each arrives as it was sent", of: of, packages: packages,
		command: []string{command, "-i", "-n", "10", "-u", "65536", "-o", "/dev/null"}, answer: intact,
	}
}

// intact are the lines of NetPIPE's about lengths.
func intact(_, out string) (string, error) { return linesWith(out, "Integrity check") }

// linesWith are the lines of an output that have one of some texts, without the space around them.
func linesWith(out string, texts ...string) (string, error) {
	var lines []string
	for line := range strings.SplitSeq(out, "\n") {
		if slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(line, t) }) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if lines == nil {
		return "", fmt.Errorf("the output has no line with %s:\n%s", strings.Join(texts, " or "), out)
	}
	return strings.Join(lines, "\n"), nil
}

// liquid is a crystal that melts.
const liquid = `units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 20 0 20 0 20
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 12345 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 20
run 200
`

// energies are the lines of LAMMPS between the head of its table and the time.
func energies(_, out string) (string, error) {
	var lines []string
	inside := false
	for line := range strings.SplitSeq(out, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 1 && fields[0] == "Step":
			inside = true
		case strings.HasPrefix(line, "Loop time"):
			return strings.Join(lines, "\n"), nil
		case inside:
			lines = append(lines, strings.Join(fields, " "))
		}
	}
	return "", fmt.Errorf("no table of energies in the output of LAMMPS:\n%s", out)
}

// hpl is what HPCC reads: one run of HPL, and one of the transposition.
const hpl = `HPLinpack benchmark input file
FitMPI
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
1000         Ns
1            # of NBs
80           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
0            Number of additional problem sizes for PTRANS
1200         values of N
0            number of additional blocking sizes for PTRANS
40           values of NB
`

// passes are the lines of HPCC's report that say how checks went, without their numbers, and its
// verdict over all.
func passes(dir, _ string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "hpccoutf.txt"))
	if err != nil {
		return "", err
	}
	var lines []string
	for line := range strings.SplitSeq(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "||Ax-b||") && strings.HasSuffix(strings.TrimSpace(line), "PASSED"):
			lines = append(lines, "residual: passed")
		case strings.Contains(line, "FAILED"), strings.HasPrefix(line, "Success="), strings.Contains(line, "completed and passed residual"):
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if lines == nil {
		return "", errors.New("HPCC's report says of no check how it went")
	}
	return strings.Join(lines, "\n"), nil
}
