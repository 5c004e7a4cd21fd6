// The arithmetic behind the smallest record that is out of memory.
#include "report/shortage.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/checked.h"
#include "base/json.h"
#include "base/units.h"
#include "base/words.h"
#include "report/columns.h"
#include "report/row.h"
#include "table/text.h"

namespace laptime {
namespace {

std::string conditions(const Record& record) {
  const Row row(record);
  std::vector<std::string> words;
  for (const char* column : {"context", "d_model", "batch", "dtype", "mode", "device"}) {
    const Json value = row.value(column);
    if (!value.is_null()) words.push_back(fmt::format("{} {}", column, format_value(value, Unit::kNone)));
  }
  return joined(words, ", ");
}

// "8 x 1 x 16384 x 16384 x 4 bytes = 8.00 GiB"; without the product where the bytes have no shape of their own.
std::string product(const TensorUse& tensor) {
  std::string bytes = format_bytes(tensor.bytes);
  double numel = 1;  // exact up to 2^53 elements
  for (const int64_t extent : tensor.shape) numel *= static_cast<double>(extent);
  const double size = static_cast<double>(tensor.bytes) / numel;
  if (tensor.shape.empty() || (size != 1 && size != 2 && size != 4 && size != 8)) return bytes;
  return fmt::format("{} x {:.0f} byte{} = {}", joined(tensor.shape, " x "), size, size == 1 ? "" : "s", bytes);
}

// "5 x 8.000 GiB + 256.0 MiB + 512.0 KiB"
std::string sum_of(std::span<const TensorUse> tensors, int64_t rest) {
  std::vector<std::string> terms;
  for (size_t i = 0; i < tensors.size();) {
    size_t next = i;
    while (next < tensors.size() && tensors[next].bytes == tensors[i].bytes) ++next;
    const std::string bytes = format_bytes(tensors[i].bytes);
    terms.push_back(next - i == 1 ? bytes : fmt::format("{} x {}", next - i, bytes));
    i = next;
  }
  if (rest > 0) terms.push_back(format_bytes(rest));
  return joined(terms, " + ");
}

std::string origin(const TensorUse& tensor) {
  if (tensor.op.empty()) return fmt::format("{} ({})", tensor.name, tensor.role);
  const std::string place = tensor.scope.empty() ? "" : " in " + tensor.scope;
  const std::string phase = tensor.phase.empty() || tensor.phase == "setup" ? "" : ", " + tensor.phase;
  return fmt::format("made by {}{}{} ({})", tensor.op, place, phase, tensor.role);
}

}  // namespace

int64_t bytes_asked_for(const Record& record) {
  const std::optional<int64_t> known =
      record.bytes_requested ? record.bytes_requested : record.memory.predicted_peak_bytes;
  return known.value_or(std::numeric_limits<int64_t>::max());
}

std::string explain_shortage(std::span<const Record> records) {
  const Record* smallest = nullptr;
  for (const Record& record : records) {
    if (record.status != Status::kOutOfMemory) continue;
    if (smallest == nullptr || bytes_asked_for(record) < bytes_asked_for(*smallest)) smallest = &record;
  }
  if (smallest == nullptr) return "";
  std::string text = fmt::format("\nthe smallest that does not fit: {}\n  {}\n", printable(conditions(*smallest)),
                                 printable(reason_of(*smallest)));
  const MemoryUse& memory = smallest->memory;
  if (memory.largest.empty()) return text;
  text += "live at the peak:\n";
  size_t width = 0;
  Size listed = 0;
  for (const TensorUse& tensor : memory.largest) {
    width = std::max(width, product(tensor).size());
    listed += tensor.bytes;
  }
  for (const TensorUse& tensor : memory.largest)
    text += fmt::format("  {:{}}  {}\n", product(tensor), width, printable(origin(tensor)));
  const int64_t whole = std::max(memory.predicted_peak_bytes.value_or(0), listed.value());
  const int64_t rest = whole - listed.value();
  if (rest > 0) text += fmt::format("  {:{}}  everything else, and gaps between tensors\n", format_bytes(rest), width);
  return text + fmt::format("  {} = {}\n", sum_of(memory.largest, rest), format_bytes(whole));
}

}  // namespace laptime
