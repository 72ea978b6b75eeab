C     A program of the time of mpif.h.
      program old
      include 'mpif.h'
      integer ierr, rank, size, i, status(MPI_STATUS_SIZE)
      double precision x, total
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      x = 0.5d0 * rank
      call MPI_REDUCE(x, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0,
     &                MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) then
         do i = 1, size - 1
            call MPI_RECV(x, 1, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE,
     &                    MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
            total = total - x
         end do
         if (total .eq. 0d0) print '(a)', 'all right'
      else
         call MPI_SEND(x, 1, MPI_DOUBLE_PRECISION, 0, rank,
     &                 MPI_COMM_WORLD, ierr)
      end if
      call MPI_FINALIZE(ierr)
      end
