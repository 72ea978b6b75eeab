// Package pmi is the client's half of PMI version 1, the process management interface of MPICH,
// over its wire protocol.
//
// Hydra (mpiexec of MPICH and of its relatives) and Slurm (srun --mpi=pmi2, which serves this
// version too) give each process a connection. On that it may put values under keys, wait for the
// others (a barrier, after which all see what was put), and get values. Each request is a line,
// each answered by a line, of words "key=value" separated by spaces:
//
//	cmd=init pmi_version=1 pmi_subversion=1    cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0
//	cmd=get_maxes                              cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024
//	cmd=get_my_kvsname                         cmd=my_kvsname kvsname=kvs_1
//	cmd=put kvsname=kvs_1 key=a value=b        cmd=put_result rc=0 msg=success
//	cmd=barrier_in                             cmd=barrier_out
//	cmd=get kvsname=kvs_1 key=a                cmd=get_result rc=0 msg=success value=b
//	cmd=get_universe_size                      cmd=universe_size size=4
//	cmd=get_appnum                             cmd=appnum appnum=0
//	cmd=finalize                               cmd=finalize_ack
//	cmd=abort exitcode=1                       (none)
//
// Where the process has dialled the launcher (PMI_PORT) instead of inheriting the connection
// (PMI_FD), the client first says which process it is, and learns what a process that inherits is
// told by its environment:
//
//	cmd=initack pmiid=3                        cmd=initack, cmd=set size=4, cmd=set rank=3, cmd=set debug=0 (four lines)
//
// Slurm reads a request into 1024 bytes, whatever it says of the longest value, so values are
// shorter here: see [Client.MaxValue].
//
// All methods of a Client are safe for concurrent use; requests take turns. A Client owns one
// goroutine, its reader, which Close stops and waits for.
package pmi
