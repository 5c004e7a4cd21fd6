// An NVTX tool, loaded through NVTX_INJECTION64_PATH. It appends the name of each range that begins to the file named
// by LAPTIME_FAKE_NVTX_OUTPUT, indented by two spaces for each enclosing range.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>

namespace {

int& depth() {
  static int open = 0;
  return open;
}

int begin(const char* name) {
  if (const char* const path = std::getenv("LAPTIME_FAKE_NVTX_OUTPUT"); path != nullptr) {
    std::FILE* const file = std::fopen(path, "a");
    std::fprintf(file, "%*s%s\n", 2 * depth(), "", name);
    std::fclose(file);
  }
  return depth()++;
}

int end() { return --depth(); }

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): NVTX looks up this name
extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t table_of) {
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable functions = nullptr;
  unsigned count = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &functions, &count) == 0) return 0;
  *functions[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(begin);
  *functions[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(end);
  return 1;
}
