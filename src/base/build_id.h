// Identifies this build of the program in records.
#pragma once

#include <span>
#include <string_view>

namespace laptime {

struct LibraryVersion {
  std::string_view name;
  std::string_view version;  // version of the headers at compile time
};

std::string_view version();     // version of laptime, "0.1.0"
std::string_view git_commit();  // 12 hexadecimal digits, or "unknown" outside a repository
bool git_dirty();               // true if tracked files differed from git_commit()
std::string_view build_type();  // "Release"
std::string_view compiler();    // "GNU-12.2.0"
std::string_view sanitizer();   // "address,undefined", or empty
// A hash, in 16 hexadecimal digits, of everything that affects the speed and the results of this build's kernels: the
// sources of ops, kernels and the CPU backend, compiler, build type, sanitizer and libraries.
std::string_view kernels_id();
std::string_view cuda_kernels_id();  // hash for CUDA kernels, from the sources of the CUDA backend
std::span<const LibraryVersion> library_versions();

}  // namespace laptime
