package procedure

import "testing"

func TestString(t *testing.T) {
	for p, want := range map[ID]string{
		Send: "MPI_Send", FileReadAtAllC: "MPI_File_read_at_all_c", TInitThread: "MPI_T_init_thread",
		Count: "procedure.ID(664)",
	} {
		if p.String() != want {
			t.Errorf("%d is %s, want %s", uint16(p), p, want)
		}
	}
}
