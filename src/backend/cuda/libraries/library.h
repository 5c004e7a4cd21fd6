// Library: an NVIDIA library that is loaded at run time.
#pragma once

#include <dlfcn.h>

namespace laptime::cuda {

// The library is never unloaded, because NVIDIA's libraries do not support unloading while their threads run.
class Library {
 public:
  explicit Library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}

  bool is_loaded() const { return handle_ != nullptr; }
  // Sets `function` to the library's function with that name, or to null if there is none. The library must be loaded.
  template <class Result, class... Args>
  void find(Result (*&function)(Args...), const char* name) {
    function = reinterpret_cast<Result (*)(Args...)>(dlsym(handle_, name));
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  // The first function that was not found; null if there is none.
  const char* missing() const { return missing_; }

 private:
  void* handle_;
  const char* missing_ = nullptr;
};

}  // namespace laptime::cuda
