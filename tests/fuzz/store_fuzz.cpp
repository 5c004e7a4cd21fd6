// The store: reading a damaged SQLite file and appending to the file must succeed or throw Error.
#include "record/store.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/fuzz_target.h"
#include "record/sample_record.h"

namespace laptime::fuzz {
namespace {

// A temporary folder, which the destructor removes.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("laptime_fuzz_{}", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path file() const { return path_ / "fuzz.db"; }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::vector<std::string> seeds() {
  const Folder folder;
  {
    Store store = Store::open(folder.file());
    store.append(sample_record());
    store.put(std::vector<KernelChoice>{{"machine", "matmul(float32 [2, 2])", "tiles", 0.5, "2026-01-02T03:04:05Z"}});
    store.put(MeasuredPeak{"machine", "float32", 1e11, "FLOP/s", "2026-01-02T03:04:05Z"});
  }
  std::ifstream file(folder.file(), std::ios::binary);
  return {std::string(std::istreambuf_iterator<char>(file), {})};
}

std::vector<std::string> words() { return {"SQLite format 3", "CREATE TABLE", "records", std::string(8, '\0')}; }

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace laptime;
  const fuzz::Folder folder;
  std::ofstream(folder.file(), std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  fuzz::accept_or_refuse([&] { whole_records(Store::open(folder.file(), Store::Access::kRead)); });
  for (const Extent extent : {Extent::kNames, Extent::kListed, Extent::kWithConfig}) {
    const auto visit = [](int64_t, const Record&) { return true; };
    fuzz::accept_or_refuse(
        [&] { Store::open(folder.file(), Store::Access::kRead).each(extent, visit, [](const std::string&) {}); });
  }
  fuzz::accept_or_refuse([&] { Store::open(folder.file(), Store::Access::kRead).kernel_choices("machine"); });
  fuzz::accept_or_refuse([&] { Store::open(folder.file(), Store::Access::kRead).measured_peaks("machine"); });
  fuzz::accept_or_refuse([&] { Store::open(folder.file()).append(sample_record()); });
  return 0;
}
