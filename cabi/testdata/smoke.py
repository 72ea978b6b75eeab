"""What each class of mpi4py has, on some ranks. It prints "all right" if it is."""

import array
import os
import tempfile

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size


def objects():
    assert world.bcast({"a": [1, 2]} if rank == 0 else None) == {"a": [1, 2]}
    assert world.allgather(rank) == list(range(size))
    assert world.alltoall([(rank, i) for i in range(size)]) == [(i, rank) for i in range(size)]
    assert world.allreduce(rank + 1) == size * (size + 1) // 2
    assert world.allreduce((rank, "x"), op=MPI.MAX) == (size - 1, "x")
    assert world.scan(1) == rank + 1
    assert world.scatter(list(range(size)) if rank == 0 else None) == rank
    assert (world.gather(rank, root=size - 1) is None) == (rank != size - 1)
    assert world.sendrecv("from %d" % rank, right, source=left) == "from %d" % left
    request = world.isend([rank], right, tag=5)
    message = world.mprobe(source=left, tag=5)
    assert message.recv() == [left]
    request.wait()


def buffers():
    out, inn = array.array("i", [rank, rank + 1]), array.array("i", [-1, -1, -1])
    status = MPI.Status()
    request = world.Irecv(inn, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
    world.Send([out, MPI.INT], right, tag=9)
    request.Wait(status)
    assert status.Get_source() == left and status.Get_tag() == 9 and status.Get_count(MPI.INT) == 2
    assert list(inn) == [left, left + 1, -1]
    world.Recv(inn, MPI.PROC_NULL, status=status)
    assert status.source == MPI.PROC_NULL and status.count == 0
    sums = array.array("d", [0.0] * 2)
    world.Allreduce([array.array("d", [1.0, rank]), MPI.DOUBLE], [sums, MPI.DOUBLE], MPI.SUM)
    assert list(sums) == [size, size * (size - 1) / 2]
    world.Allreduce(MPI.IN_PLACE, [sums, MPI.DOUBLE], MPI.MIN)
    request = world.Ibarrier()
    while not request.Test():
        pass
    persistent = world.Send_init(out, right), world.Recv_init(inn, left)
    for _ in range(2):
        MPI.Prequest.Startall(list(persistent))
        MPI.Request.Waitall(list(persistent))
    for p in persistent:
        p.Free()
    MPI.Attach_buffer(bytearray(10000))
    world.Bsend(out, right, tag=1)
    world.Recv(inn, left, tag=1)
    MPI.Detach_buffer()


def groups():
    group = world.Get_group()
    some = group.Excl([0])
    assert some == MPI.GROUP_EMPTY if size == 1 else some.Get_size() == size - 1
    assert MPI.Group.Translate_ranks(group, [0], some) == [MPI.UNDEFINED]
    assert MPI.Group.Compare(group, world.Get_group()) == MPI.IDENT
    part = world.Split(rank % 2, -rank)
    assert part.Get_size() == (size + 1 - rank % 2) // 2
    part.Set_name("part")
    assert part.Get_name() == "part"
    assert world.Split(MPI.UNDEFINED) == MPI.COMM_NULL
    dup = world.Dup()
    assert MPI.Comm.Compare(world, dup) == MPI.CONGRUENT
    dup.Free()
    assert dup == MPI.COMM_NULL
    if size > 1:
        leaders = [max(r for r in range(size) if r % 2 == parity) for parity in (0, 1)]
        inter = part.Create_intercomm(0, world, leaders[(rank + 1) % 2], 3)
        assert inter.Get_remote_size() == size - part.Get_size()
        inter.Free()
    part.Free()


def topologies():
    cart = world.Create_cart([size], periods=[False])
    assert cart.Get_topology() == MPI.CART and cart.coords == [rank]
    source, dest = cart.Shift(0, 1)
    assert source == (rank - 1 if rank else MPI.PROC_NULL)
    assert dest == (rank + 1 if rank < size - 1 else MPI.PROC_NULL)
    ring = world.Create_dist_graph_adjacent([left], [right], MPI.UNWEIGHTED, MPI.UNWEIGHTED)
    assert ring.neighbor_allgather(rank) == [left]
    assert ring.Get_dist_neighbors() == ([left], [right], None)
    assert MPI.Compute_dims(6, 2) == [3, 2]


def datatypes():
    vector = MPI.INT.Create_vector(2, 1, 2).Commit()
    assert vector.Get_size() == 8 and vector.Get_extent() == (0, 12)
    assert vector.Get_envelope()[3] == MPI.COMBINER_VECTOR
    inn = array.array("i", [0, 0, 0])
    world.Sendrecv([array.array("i", [1, 2, 3]), 1, vector], rank, recvbuf=[inn, 1, vector], source=rank)
    assert list(inn) == [1, 0, 3]
    packed = bytearray(16)
    assert MPI.INT.Pack(array.array("i", [5, 6]), packed, 0, world) == 8
    sub = MPI.DOUBLE.Create_subarray([4, 4], [2, 2], [1, 1], MPI.ORDER_F)
    assert sub.Get_contents()[0][-1] == MPI.ORDER_F
    assert sub.decode()[1] == "SUBARRAY"
    assert MPI.DOUBLE.Get_name() == "MPI_DOUBLE"
    struct = MPI.Datatype.Create_struct([1, 2], [0, 8], [MPI.INT, MPI.DOUBLE])
    assert struct.Get_size() == 20
    for t in vector, sub, struct:
        t.Free()


def operations():
    def first(a, b, datatype):
        assert datatype == MPI.INT
        memory = memoryview(b).cast("i")
        memory[0] = max(memoryview(a).cast("i")[0], memory[0])

    op = MPI.Op.Create(first, True)
    value = array.array("i", [rank])
    world.Allreduce(MPI.IN_PLACE, [value, MPI.INT], op)
    assert value[0] == size - 1
    op.Free()
    assert MPI.SUM.Is_commutative()
    assert MPI.PROD(3, 4) == 12


def attributes():
    seen = []
    key = MPI.Comm.Create_keyval(lambda comm, k, value: value + 1, lambda comm, k, value: seen.append(value))
    dup = world.Dup()
    dup.Set_attr(key, 41)
    again = dup.Dup()
    assert again.Get_attr(key) == 42
    again.Free()
    dup.Free()
    assert seen == [42, 41]
    MPI.Comm.Free_keyval(key)
    assert world.Get_attr(MPI.TAG_UB) >= 32767


def infos():
    info = MPI.Info.Create()
    info["key"] = "value"
    assert dict(info) == {"key": "value"} and info.Get("none") is None
    info.Free()


def errors():
    world.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        world.Send(bytearray(1), size)
    except MPI.Exception as e:
        assert e.Get_error_class() == MPI.ERR_RANK and "rank" in e.Get_error_string().lower()
    else:
        raise AssertionError("a send to no rank")
    error_class = MPI.Add_error_class()
    code = MPI.Add_error_code(error_class)
    MPI.Add_error_string(code, "ours")
    assert MPI.Get_error_class(code) == error_class and MPI.Get_error_string(code) == "ours"


def windows():
    win = MPI.Win.Allocate(8, 4, comm=world)
    memory = memoryview(win).cast("i")
    memory[0] = memory[1] = 0
    win.Fence()
    win.Accumulate(array.array("i", [1]), 0, op=MPI.SUM)
    win.Put([array.array("i", [rank + 1]), MPI.INT], right, target=1)
    win.Fence()
    assert memory[1] == left + 1 and (rank or memory[0] == size)
    got = array.array("i", [0])
    win.Lock(0, MPI.LOCK_SHARED)
    win.Get(got, 0)
    win.Unlock(0)
    assert got[0] == size
    assert win.flavor == MPI.WIN_FLAVOR_ALLOCATE and win.model == MPI.WIN_UNIFIED
    win.Free()


def files():
    name = world.bcast(os.path.join(tempfile.gettempdir(), "fitmpi-smoke-%d" % os.getpid()))
    mode = MPI.MODE_RDWR | MPI.MODE_CREATE | MPI.MODE_DELETE_ON_CLOSE
    f = MPI.File.Open(world, name, mode)
    assert f.Get_amode() == mode
    f.Set_view(4 * rank, MPI.INT)
    f.Write_all(array.array("i", [rank]))
    f.Sync()
    world.Barrier()
    f.Set_view(0, MPI.INT)
    got = array.array("i", [0] * size)
    f.Read_at_all(0, got)
    assert list(got) == list(range(size))
    f.Seek(0, MPI.SEEK_END)
    assert f.Get_position() == size
    f.Close()


def requests():
    request = MPI.Grequest.Start(lambda status: status.Set_elements(MPI.INT, 3), lambda: None, lambda completed: None)
    request.Complete()
    status = MPI.Status()
    request.Wait(status)
    assert status.Get_elements(MPI.INT) == 3


def handles():
    assert MPI.Comm.f2py(world.py2f()) == world
    assert MPI.Datatype.f2py(MPI.INT.py2f()) == MPI.INT


assert "FitMPI" in MPI.Get_library_version()
assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
for check in (objects, buffers, groups, topologies, datatypes, operations, attributes, infos, errors, windows, files,
              requests, handles):
    try:
        check()
    except Exception:
        print("rank %d: %s" % (rank, check.__name__))
        raise
world.Barrier()
if rank == 0:
    print("all right")
