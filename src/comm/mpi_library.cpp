// Finds the symbols of Open MPI.
#include "comm/mpi_library.h"

#include <dlfcn.h>

namespace laptime {
namespace {

constexpr const char* kName = "libmpi.so.40";

template <class T>
bool find(void* library, const char* name, T& function) {
  function = reinterpret_cast<T>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

const MpiLibrary* mpi_library() {
  static const MpiLibrary kLibrary = [] {
    MpiLibrary found;
    // RTLD_GLOBAL, because plug-ins that the library loads need its symbols.
    void* const library = dlopen(kName, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) return found;
    const bool is_complete =
        find(library, "MPI_Finalize", found.finalize) && find(library, "MPI_Abort", found.abort) &&
        find(library, "MPI_Comm_rank", found.comm_rank) && find(library, "MPI_Comm_size", found.comm_size) &&
        find(library, "MPI_Isend", found.isend) && find(library, "MPI_Irecv", found.irecv) &&
        find(library, "MPI_Test", found.test) && find(library, "MPI_Testall", found.testall) &&
        find(library, "MPI_Cancel", found.cancel) && find(library, "MPI_Wait", found.wait) &&
        find(library, "ompi_mpi_comm_world", found.comm_world) && find(library, "ompi_mpi_byte", found.byte) &&
        find(library, "ompi_request_null", found.request_null);
    if (is_complete) find(library, "MPI_Init_thread", found.init_thread);
    return found;
  }();
  return kLibrary.init_thread == nullptr ? nullptr : &kLibrary;
}

std::string missing_mpi() {
  void* const library = dlopen(kName, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr)
    return "Open MPI is not installed; install openmpi-bin (Debian, Ubuntu), or run without --ranks";
  dlclose(library);
  return {};
}

}  // namespace laptime
