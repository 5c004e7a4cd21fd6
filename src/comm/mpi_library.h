// MpiLibrary: the functions of Open MPI. The program does not link the library, and loads it only for several ranks.
#pragma once

#include <string>

namespace laptime {

// Names and types follow the MPI standard, with the binary interface of Open MPI 4 and 5 (libmpi.so.40): handles are
// addresses of objects in the library, and a null status is ignored.
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

// Loads the library on the first call. Null if the library is not installed or lacks a function.
const MpiLibrary* mpi_library();
// Why the library is missing, and how to install it; empty if it is installed. Does not keep the library loaded.
std::string missing_mpi();

}  // namespace laptime
