package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// module is the directory of the module, seen from here.
const module = "../.."

// The generated files are what the table makes now.
func TestCurrent(t *testing.T) {
	all, err := outputs(load(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range all {
		have, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			t.Error(err)
		} else if string(have) != want {
			t.Errorf("%s is older than the table: run go generate in the directory cabi", name)
		}
	}
}

// load returns the table.
func load(t *testing.T) *facts.Table {
	t.Helper()
	table, err := facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// Declarations are those of the standard, in all the ways in which C passes arguments.
func TestDeclarations(t *testing.T) {
	want := map[string]string{
		"MPI_Send":           "int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);",
		"MPI_Wtime":          "double MPI_Wtime(void);",
		"MPI_Init":           "int MPI_Init(int *argc, char ***argv);",
		"MPI_Pcontrol":       "int MPI_Pcontrol(int level, ...);",
		"MPI_Get_count_c":    "int MPI_Get_count_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count);",
		"MPI_Op_create_c":    "int MPI_Op_create_c(MPI_User_function_c *user_fn, int commute, MPI_Op *op);",
		"MPI_Testall":        "int MPI_Testall(int count, MPI_Request array_of_requests[], int *flag, MPI_Status array_of_statuses[]);",
		"MPI_Group_incl":     "int MPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup);",
		"MPI_Comm_get_attr":  "int MPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag);",
		"MPI_Comm_get_name":  "int MPI_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen);",
		"MPI_Type_get_name":  "int MPI_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen);",
		"MPI_Type_fromint":   "MPI_Datatype MPI_Type_fromint(int datatype);",
		"MPI_Status_set_tag": "int MPI_Status_set_tag(MPI_Status *status, int tag);",
		"MPI_Comm_spawn_multiple": "int MPI_Comm_spawn_multiple(int count, char *array_of_commands[], char **array_of_argv[], " +
			"const int array_of_maxprocs[], const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[]);",
		"MPI_Group_range_incl": "int MPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup);",
	}
	for _, c := range load(t).Chapters {
		for _, b := range c.Bindings() {
			w := &strings.Builder{}
			declaration(w, result(b)+" "+b.CName(), b)
			have := strings.Join(strings.Fields(w.String()), " ")
			if want[b.CName()] != "" && have != want[b.CName()] {
				t.Errorf("have %s\nwant %s", have, want[b.CName()])
			}
			delete(want, b.CName())
		}
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

// compile compiles a program that includes mpi.h, without a warning, and returns the path of the
// result.
func compile(t *testing.T, compiler, standard, program string) string {
	t.Helper()
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("no %s, which compiles what includes mpi.h", compiler)
	}
	dir := t.TempDir()
	language := map[string]string{"gcc": "c", "g++": "c++"}[compiler]
	source, binary := filepath.Join(dir, "program."+language), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte("#include <mpi.h>\n"+program), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), compiler, "-x", language, "-std="+standard, "-Wall", "-Wextra", "-pedantic",
		"-Werror", "-I", filepath.Join(module, "include"), "-o", binary, source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// The header alone is a program of each language that it is for.
func TestHeaderCompiles(t *testing.T) {
	for _, c := range [][2]string{{"gcc", "c99"}, {"gcc", "c11"}, {"g++", "c++17"}} {
		t.Run(c[1], func(t *testing.T) {
			t.Parallel()
			compile(t, c[0], c[1], "int main(void) { return MPI_SUCCESS; }\n")
		})
	}
}

// measure compiles and runs a program that prints expressions of C, and returns the values in
// order.
func measure(t *testing.T, expressions []string) []string {
	t.Helper()
	w := &strings.Builder{}
	w.WriteString("#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n")
	for _, e := range expressions {
		fmt.Fprintf(w, "    printf(\"%%ld\\n\", (long)(%s));\n", e)
	}
	w.WriteString("    return 0;\n}\n")
	out, err := exec.CommandContext(t.Context(), compile(t, "gcc", "c11", w.String())).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// Sizes, offsets and widths are those of the ABI on machines with 64 bits: sections 20.3.1 to
// 20.3.5.
func TestLayout(t *testing.T) {
	want := map[string]string{
		"sizeof(MPI_Status)": "32", "_Alignof(MPI_Status)": "4",
		"offsetof(MPI_Status, MPI_SOURCE)": "0", "offsetof(MPI_Status, MPI_TAG)": "4",
		"offsetof(MPI_Status, MPI_ERROR)": "8", "offsetof(MPI_Status, MPI_internal)": "12",
		"sizeof(MPI_Aint)": "8", "sizeof(MPI_Count)": "8", "sizeof(MPI_Offset)": "8",
		"(MPI_Aint)-1 < 0": "1", "(MPI_Count)-1 < 0": "1", "(MPI_Offset)-1 < 0": "1",
		"sizeof(MPI_T_cb_safety)": "4", "sizeof(MPI_T_source_order)": "4",
	}
	for _, h := range load(t).Handles {
		want["sizeof("+h.Name+")"] = "8"
	}
	check(t, want)
}

// Constants have the values of the table, and are constants of the compiler.
func TestValues(t *testing.T) {
	want := map[string]string{}
	for _, g := range load(t).Groups {
		for _, c := range g.Constants {
			want[c.Name] = fmt.Sprint(c.Value)
		}
	}
	check(t, want)
}

// check compares expressions with what they should be.
func check(t *testing.T, want map[string]string) {
	t.Helper()
	var expressions []string
	for e := range want {
		expressions = append(expressions, e)
	}
	for i, have := range measure(t, expressions) {
		if e := expressions[i]; have != want[e] {
			t.Errorf("%s is %s, want %s", e, have, want[e])
		}
	}
}
