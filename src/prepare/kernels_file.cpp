// Reads kernel choices from records.
#include "prepare/kernels_file.h"

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "record/json_documents.h"

namespace laptime {
namespace {

DocumentFile file_at(const std::string& path) {
  return {.path = path,
          .purpose = "kernels file",
          .advice = "give records written by `laptime bench --output json`",
          .limit = kMaxKernelsFile};
}

// The text at `key`, or empty if there is none.
std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

void add_choices(const Json& record, const std::string& where, const char* advice, KernelsBySignature& choices) {
  const auto kernels = record.find("kernels");
  if (kernels == nullptr || !kernels->is_array()) throw Error::format("{} has no list 'kernels'; {}", where, advice);
  for (const Json& use : *kernels) {
    const std::string op = text_at(use, "op");
    const std::string signature = text_at(use, "signature");
    const std::string kernel = text_at(use, "kernel");
    if (op.empty() || kernel.empty() || !signature.starts_with(op + "(")) {
      throw Error::format("{}: {} is not a kernel choice; give op, signature and kernel as in a record", where,
                          quote(use.dump()));
    }
    const auto [chosen, is_new] = choices.try_emplace(signature, kernel);
    if (!is_new && chosen->second != kernel) {
      throw Error::format("{} chooses {} for {}, but an earlier record chooses {}; keep the records of one choice",
                          where, quote(kernel), signature, quote(chosen->second));
    }
  }
}

}  // namespace

std::string kernels_file_text(const std::string& path) { return text_of(file_at(path)); }

KernelsBySignature read_kernels_file(const std::string& path) {
  const DocumentFile file = file_at(path);
  KernelsBySignature choices;
  each_document(
      file, [&](const Json& record, const std::string& where) { add_choices(record, where, file.advice, choices); });
  if (choices.empty()) {
    throw Error::format("{} chooses nothing: it has no record of a point that has run; {}", text_of(file), file.advice);
  }
  return choices;
}

}  // namespace laptime
