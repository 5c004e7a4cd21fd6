// Looks up well-known models, and reads models from config.json files and folders.
#include "model/named_model.h"

#include "base/error.h"
#include "base/words.h"
#include "config/known_models.h"
#include "config/model_presets.h"
#include "model/config_json.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPickled = "pytorch_model.bin";
constexpr std::string_view kPickledIndex = "pytorch_model.bin.index.json";

bool has_weights(const fs::path& folder) {
  return fs::exists(folder / kWeightsFile) || fs::exists(folder / kWeightsIndex);
}

// The name of another .safetensors file, such as an adapter or a shard without its index; empty if there is none.
std::string other_weights(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors") && name != "values.safetensors") return name;
  }
  return "";
}

// True if the models differ in nothing but name, batch, context and dropout.
bool are_alike(ModelConfig one, ModelConfig other) {
  for (ModelConfig* const model : {&one, &other}) {
    model->name.clear();
    model->batch_size = model->context_length = 0;
    model->embd_pdrop = model->attn_pdrop = model->resid_pdrop = 0;
    model->num_kv_heads = model->kv_heads();
    model->head_dim = model->d_head();
  }
  return one == other;
}

// The name of a well-known model if the folder has that name and contains that model. Otherwise the folder's name, or
// "custom" if that name is empty, looks like a path or belongs to another model.
std::string shown_name(const fs::path& folder, const ModelConfig& model) {
  std::string name = fs::weakly_canonical(folder).filename().string();
  const KnownModel* const known = find_known_model(name);
  if (known != nullptr && are_alike(model, config_of(*known))) return std::string(known->name);
  return name.empty() || is_model_path(name) || !known_name(name).empty() ? std::string(kCustomModel) : name;
}

NamedModel model_of_file(const fs::path& path) {
  const bool is_folder = fs::is_directory(path);
  const fs::path file = config_file_of(path.string());
  const fs::path folder = is_folder ? path : fs::absolute(path).parent_path();
  NamedModel named{.model = read_model_config(file.string()), .weights = {}};
  named.model.name = shown_name(folder, named.model);
  if (!is_folder) return named;
  if (has_weights(folder)) {
    named.weights = path.string();
    return named;
  }
  if (const std::string other = other_weights(folder); !other.empty()) {
    throw Error::format(
        "{}: the folder has {}, but neither {} nor {}; add one of these two, or give {} to start from random weights",
        quote(path.string()), quote(other), kWeightsFile, kWeightsIndex, quote(file.string()));
  }
  if (fs::exists(folder / kPickled) || fs::exists(folder / kPickledIndex)) {
    throw Error::format(
        "{}: its weights are in PyTorch's format, which laptime does not read; save the model as safetensors, or give "
        "{} to start from random weights",
        quote(path.string()), quote(file.string()));
  }
  return named;
}

}  // namespace

fs::path config_file_of(std::string_view path) {
  return fs::is_directory(path) ? fs::path(path) / "config.json" : fs::path(path);
}

std::optional<NamedModel> named_model(std::string_view name) {
  if (const KnownModel* const known = find_known_model(name)) return NamedModel{config_of(*known), {}};
  if (is_model_path(name)) return model_of_file(fs::path(name));
  return std::nullopt;
}

}  // namespace laptime
