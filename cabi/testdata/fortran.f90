! A program in Fortran, by MPICH's module and its library for Fortran, as they are.
module checks
  use mpi
  implicit none
  integer :: rank, size, copies = 0
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (ok) return
    print *, 'does not hold: ', what
    stop 3
  end subroutine check

  subroutine greater(a, b, n, datatype)
    integer :: n, datatype
    integer :: a(n), b(n)
    call check(datatype == MPI_INTEGER, 'datatype of an operation')
    b = max(a, b)
  end subroutine greater

  subroutine copy_attribute(comm, key, extra, in, out, flag, ierr)
    integer :: comm, key, ierr
    integer(MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    copies = copies + 1
    out = in + 1
    flag = .true.
    ierr = MPI_SUCCESS
  end subroutine copy_attribute

  subroutine query(extra, status, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierr
    status(MPI_TAG) = int(extra)
    status(MPI_SOURCE) = MPI_UNDEFINED
    call MPI_Status_set_elements(status, MPI_INTEGER, 2, ierr)
    call MPI_Status_set_cancelled(status, .false., ierr)
  end subroutine query

  subroutine release(extra, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierr
    ierr = MPI_SUCCESS
  end subroutine release

  subroutine cancel(extra, complete, ierr)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierr
    ierr = MPI_SUCCESS
  end subroutine cancel
end module checks

program fortran
  use checks
  implicit none
  integer :: ierr
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  call messages()
  call reductions()
  call attributes()
  call requests()
  call windows()
  call MPI_Finalize(ierr)
  if (rank == 0) print '(a)', 'all right'
contains
  subroutine messages()
    integer :: in(3), out(3), status(MPI_STATUS_SIZE), both(2), n, next, prev
    next = mod(rank + 1, size)
    prev = mod(rank + size - 1, size)
    out = (/ rank, rank + 1, rank + 2 /)
    call MPI_Irecv(in, 3, MPI_INTEGER, prev, 5, MPI_COMM_WORLD, both(1), ierr)
    call MPI_Isend(out, 2, MPI_INTEGER, next, 5, MPI_COMM_WORLD, both(2), ierr)
    call MPI_Wait(both(1), status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, n, ierr)
    call check(n == 2 .and. status(MPI_SOURCE) == prev .and. in(2) == prev + 1, 'a message')
    call MPI_Waitall(2, both, MPI_STATUSES_IGNORE, ierr)
    call check(both(2) == MPI_REQUEST_NULL, 'requests')
    call MPI_Recv(in, 3, MPI_INTEGER, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
    call check(status(MPI_SOURCE) == MPI_PROC_NULL, 'no process')
    call MPI_Sendrecv(out, 3, MPI_INTEGER, next, 1, in, 3, MPI_INTEGER, prev, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call check(in(3) == prev + 2, 'sendrecv')
  end subroutine messages

  subroutine reductions()
    integer :: op, v
    double precision :: x
    real(8) :: all(64)
    v = rank
    call MPI_Op_create(greater, .true., op, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, v, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
    call check(v == size - 1, 'an operation of the program')
    call MPI_Op_free(op, ierr)
    x = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(abs(x - size * (size + 1) / 2d0) < 1d-12, 'a sum')
    x = rank
    call MPI_Allgather(x, 1, MPI_REAL8, all, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call check(nint(all(size)) == size - 1, 'allgather')
  end subroutine reductions

  subroutine attributes()
    integer :: key, dup, code
    integer(MPI_ADDRESS_KIND) :: value, extra = 0
    logical :: flag
    call MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
    value = 2_MPI_ADDRESS_KIND ** 40
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, ierr)
    call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
    call MPI_Comm_get_attr(dup, key, value, flag, ierr)
    call check(flag .and. copies == 1 .and. value == 2_MPI_ADDRESS_KIND ** 40 + 1, 'an attribute')
    call MPI_Comm_free(dup, ierr)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
    call check(flag .and. value >= 32767, 'the greatest tag')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    call MPI_Send(key, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, code)
    call check(code == MPI_ERR_RANK, 'an error')
  end subroutine attributes

  subroutine requests()
    integer :: r, status(MPI_STATUS_SIZE), n
    integer(MPI_ADDRESS_KIND) :: extra = 11
    call MPI_Grequest_start(query, release, cancel, extra, r, ierr)
    call MPI_Grequest_complete(r, ierr)
    call MPI_Wait(r, status, ierr)
    call MPI_Get_count(status, MPI_INTEGER, n, ierr)
    call check(n == 2 .and. status(MPI_TAG) == 11, 'a generalised request')
  end subroutine requests

  subroutine windows()
    integer :: win, cell = 0, one = 1
    integer(MPI_ADDRESS_KIND) :: bytes = 4, at = 0, value
    logical :: flag
    call MPI_Win_create(cell, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierr)
    call check(flag .and. value == 4, 'the size of a window')
    call MPI_Win_fence(0, win, ierr)
    call MPI_Accumulate(one, 1, MPI_INTEGER, 0, at, 1, MPI_INTEGER, MPI_SUM, win, ierr)
    call MPI_Win_fence(0, win, ierr)
    call check(rank > 0 .or. cell == size, 'an accumulate')
    call MPI_Win_free(win, ierr)
  end subroutine windows
end program fortran
