// MpiLibrary: the functions of Open MPI, which is loaded when ranks are asked for. The program does not link it.
#pragma once

#include <string>

namespace laptime {

// The names and types are those of the MPI standard, in the binary interface of Open MPI 4 and 5 (libmpi.so.40):
// handles are addresses of objects in the library, and a null status is one that nobody reads.
struct MpiLibrary {
  using Handle = void*;
  using Request = void*;

  int (*init_thread)(int* argc, char*** argv, int required, int* provided) = nullptr;
  int (*finalize)() = nullptr;
  int (*abort)(Handle comm, int code) = nullptr;
  int (*comm_rank)(Handle comm, int* rank) = nullptr;
  int (*comm_size)(Handle comm, int* size) = nullptr;
  int (*isend)(const void* data, int count, Handle type, int to, int tag, Handle comm, Request* request) = nullptr;
  int (*irecv)(void* data, int count, Handle type, int from, int tag, Handle comm, Request* request) = nullptr;
  int (*test)(Request* request, int* is_done, void* status) = nullptr;
  int (*testall)(int count, Request* requests, int* are_done, void* statuses) = nullptr;
  int (*cancel)(Request* request) = nullptr;
  int (*wait)(Request* request, void* status) = nullptr;
  Handle comm_world = nullptr;
  Handle byte = nullptr;
  Request request_null = nullptr;
};

inline constexpr int kMpiThreadSerialized = 2;

// Null where the library is not installed.
const MpiLibrary* mpi_library();
// Why there is no library, and how to get it; empty where there is one. Loads nothing for good.
std::string missing_mpi();

}  // namespace laptime
