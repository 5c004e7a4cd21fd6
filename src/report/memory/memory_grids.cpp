// Rows and columns.
#include "report/memory/memory_grids.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "analysis/memory_tensors.h"
#include "base/units.h"
#include "report/memory/memory_report.h"
#include "report/memory/timeline_text.h"

namespace laptime {
namespace {

constexpr size_t kContributors = 5;

GridColumn count_column(std::string key, std::string title) { return {std::move(key), std::move(title)}; }
GridColumn share_column() { return {"share", "Share", Unit::kFraction}; }

Json share(int64_t part, int64_t whole) {
  return whole > 0 ? Json(static_cast<double>(part) / static_cast<double>(whole)) : Json();
}

std::string marked(const Record& record, const std::string& title) {
  return was_held(record) ? title : title + " (predicted)";
}

// What is held when a phase is over, in bytes as requested; null where the record does not know it.
Json held_after(const Record& record, const StepTrace& trace, const MemoryLedger& ledger, const std::string& phase) {
  const std::optional<int64_t> after = phase == "forward"    ? record.memory.after_forward_bytes
                                       : phase == "backward" ? record.memory.after_backward_bytes
                                                             : std::nullopt;
  return after ? Json(*after - trace.resident_bytes + ledger.resident()) : Json();
}

}  // namespace

Grid categories_grid(const Record& record, const MemoryLedger& ledger) {
  Grid grid{.name = "categories",
            .title = marked(record, "What holds the peak"),
            .columns = {text_column("category", "Category"), bytes_column("bytes", "Bytes"), share_column()},
            .rows = {},
            .notes = {}};
  const int64_t whole = ledger.planned();
  for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
    const int64_t bytes = ledger.peak().bytes.at(i);
    if (bytes > 0) grid.rows.push_back({title_of(category_at(i)), bytes, share(bytes, whole)});
  }
  std::stable_sort(grid.rows.begin(), grid.rows.end(), [](const auto& a, const auto& b) {
    return a[1].template get<int64_t>() > b[1].template get<int64_t>();
  });
  grid.rows.push_back({"alignment and gaps", ledger.rounding(), share(ledger.rounding(), whole)});
  grid.rows.push_back({"peak", whole, share(whole, whole)});
  return grid;
}

Grid phases_grid(const Record& record, const StepTrace& trace, const MemoryLedger& ledger) {
  Grid grid{
      .name = "phases",
      .title = marked(record, "The peak of each phase, and what is held then"),
      .columns = {text_column("phase", "Phase"), bytes_column("peak_bytes", "Peak"),
                  bytes_column("gradients_bytes", "Gradients"), bytes_column("optimizer_state_bytes", "Optimizer"),
                  bytes_column("saved_activations_bytes", "Saved"),
                  optional_column(1, bytes_column("held_after_bytes", "Held after")),
                  text_column("reached_by", "Reached by")},
      .rows = {},
      .notes = {"Bytes that tensors asked for, without alignment and gaps."}};
  for (const PhasePeak& phase : ledger.phases()) {
    const CategoryBytes& held = ledger.held(phase.peak);
    grid.rows.push_back({phase.phase, held.total(), held[MemoryCategory::kGradients],
                         held[MemoryCategory::kOptimizerState], held[MemoryCategory::kSaved],
                         held_after(record, trace, ledger, phase.phase), launch_text(trace, phase.peak)});
  }
  return grid;
}

Grid accounts_grid(const Record& record, const StepTrace& trace, const MemoryLedger& ledger) {
  const MemoryUse& memory = record.memory;
  Grid grid{.name = "accounts",
            .title = "The same memory in four accounts",
            .columns = {text_column("account", "Account"), bytes_column("bytes", "Bytes"), text_column("of", "Of")},
            .rows = {},
            .notes = {}};
  grid.rows.push_back({"requested", ledger.peak().total(), "tensors alive at the peak"});
  const bool is_pooled = memory.reserved_bytes && memory.reserved_bytes != memory.peak_bytes;
  const std::string arena = format_bytes(trace.arena_bytes);
  grid.rows.push_back(
      {"planned", ledger.planned(),
       fmt::format("{} for the whole run and {}", format_bytes(trace.resident_bytes),
                   is_pooled ? arena + " for the step, if it were one block" : "an arena of " + arena)});
  const bool held = was_held(record);
  grid.rows.push_back({"held", held ? or_null(memory.peak_bytes) : Json(),
                       is_pooled ? "asked for on the device, one by one" : "allocated on the device, in whole pages"});
  if (is_pooled) {
    grid.title = "The same memory in five accounts";
    grid.rows.push_back({"reserved", *memory.reserved_bytes, "taken from the device by the pool of the step"});
  }
  grid.rows.push_back({"resident", or_null(memory.peak_rss_bytes),
                       held && memory.base_rss_bytes ? fmt::format("of the process at its peak; {} before the step",
                                                                   format_bytes(*memory.base_rss_bytes))
                                                     : "of the process at its peak"});
  return grid;
}

namespace {

Grid blocks_grid(const SavedBytes& saved) {
  Grid grid{.name = "saved_blocks",
            .title = "What forward saves for backward, each storage once",
            .columns = {text_column("of", "Of"), count_column("blocks", "Blocks"),
                        bytes_column("block_bytes", "One block"), bytes_column("bytes", "Bytes"), share_column()},
            .rows = {},
            .notes = {}};
  const bool has_copies = saved.copies > 0;
  if (has_copies) grid.columns.push_back(bytes_column("copies_bytes", "Of it copies"));
  const auto add = [&](const std::string& of, const Json& count, const Json& one, int64_t bytes, int64_t copies) {
    grid.rows.push_back({of, count, one, bytes, share(bytes, saved.total)});
    if (has_copies) grid.rows.back().emplace_back(copies);
  };
  for (const SavedBlock& block : saved.blocks) {
    const auto count = static_cast<int64_t>(block.layers.size());
    add(layers_text(block.layers), count, block.bytes, block.bytes * count, block.copies * count);
  }
  if (saved.rest.bytes > 0) {
    add(saved.blocks.empty() ? "the step" : "outside of the layers", {}, {}, saved.rest.bytes, saved.rest.copies);
  }
  if (saved.shared > 0) add("inputs and constants", {}, {}, saved.shared, 0);
  add("all", {}, {}, saved.total, saved.copies);
  if (has_copies) grid.notes.emplace_back("Copies: those of parameters in the type of autocast.");
  return grid;
}

// Every tensor of a block, the largest first.
std::vector<SavedTensors> single_tensors(const SavedBlock& block) {
  std::vector<SavedTensors> singles;
  for (const SavedTensors& tensors : block.tensors) {
    SavedTensors one = tensors;
    one.count = 1;
    one.bytes = tensors.bytes / tensors.count;
    singles.insert(singles.end(), static_cast<size_t>(tensors.count), one);
  }
  std::stable_sort(singles.begin(), singles.end(),
                   [](const SavedTensors& a, const SavedTensors& b) { return a.bytes > b.bytes; });
  return singles;
}

Grid contributors_grid(const SavedBlock& block, const std::string& of) {
  Grid grid{
      .name = "saved_contributors",
      .title = fmt::format("The largest of {} that {} saves", format_bytes(block.bytes), of),
      .columns = {text_column("scope", "Scope"), text_column("op", "Op"),
                  optional_column(2, text_column("dtype", "Dtype")), optional_column(1, text_column("shape", "Shape")),
                  optional_column(3, count_column("tensors", "Tensors")), bytes_column("bytes", "Bytes"),
                  share_column()},
      .rows = {},
      .notes = {}};
  const std::vector<SavedTensors> tensors = single_tensors(block);
  const size_t shown = std::min(kContributors, tensors.size());
  int64_t others_bytes = 0;
  int64_t as_large = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const SavedTensors& tensor = tensors[i];
    if (i < shown) {
      grid.rows.push_back({tensor.scope, tensor.op, tensor.dtype, tensor.shape, tensor.count, tensor.bytes,
                           share(tensor.bytes, block.bytes)});
      continue;
    }
    others_bytes += tensor.bytes;
    if (tensor.bytes == tensors[shown - 1].bytes) ++as_large;
  }
  const auto others = static_cast<int64_t>(tensors.size() - shown);
  if (others > 0)
    grid.rows.push_back({"all others", "", "", "", others, others_bytes, share(others_bytes, block.bytes)});
  if (as_large > 0) {
    grid.notes.push_back(fmt::format("{} of the others {} as large as the last one named: {}.", as_large,
                                     as_large == 1 ? "is" : "are", format_bytes(tensors[shown - 1].bytes)));
  }
  return grid;
}

Grid parts_grid(const SavedBytes& saved) {
  Grid grid{.name = "saved_by_op",
            .title = "All that forward saves, by module and op",
            .columns = {text_column("part", "Module"), text_column("op", "Op"), count_column("tensors", "Tensors"),
                        bytes_column("bytes", "Bytes"), share_column()},
            .rows = {},
            .notes = {}};
  for (const SavedPart& part : saved.parts)
    grid.rows.push_back({part.part, part.op, part.count, part.bytes, share(part.bytes, saved.total)});
  return grid;
}

}  // namespace

std::vector<Grid> saved_grids(const SavedBytes& saved) {
  if (saved.total == 0) return {};
  std::vector<Grid> grids{blocks_grid(saved)};
  const auto most = std::max_element(saved.blocks.begin(), saved.blocks.end(),
                                     [](const auto& a, const auto& b) { return a.layers.size() < b.layers.size(); });
  if (most != saved.blocks.end()) {
    grids.push_back(contributors_grid(*most, fmt::format("one block of {}", layers_text(most->layers))));
  } else if (saved.rest.bytes > 0) {
    grids.push_back(contributors_grid(saved.rest, "forward"));
  }
  grids.push_back(parts_grid(saved));
  return grids;
}

Grid largest_grid(const StepTrace& trace, const MemoryLedger& ledger, int64_t top) {
  Grid grid{
      .name = "largest",
      .title = "The largest allocations, those of equal layers in one row",
      .columns = {text_column("tensor", "Tensor"), text_column("op", "Made by"), text_column("scope", "In"),
                  bytes_column("bytes", "Bytes"), count_column("count", "Count"),
                  count_column("alive_at_peak", "At peak"), optional_column(1, text_column("category", "Held as")),
                  optional_column(1, text_column("shape", "Shape")), optional_column(1, text_column("dtype", "Dtype"))},
      .rows = {},
      .notes = {}};
  const size_t limit = top > 0 ? static_cast<size_t>(top) : trace.buffer_count();
  for (const LargeTensors& tensors : largest_tensors(trace, ledger.peak_launch(), limit)) {
    grid.rows.push_back({tensors.name, tensors.op, tensors.scope, tensors.bytes, tensors.buffers.size(),
                         tensors.alive_at_peak, title_of(tensors.category), tensors.shape, tensors.dtype});
  }
  return grid;
}

Grid timeline_grid(const StepTrace& trace, const MemoryLedger& ledger) {
  Grid grid{.name = "timeline",
            .title = "Bytes held while each launch runs",
            .columns = {count_column("launch", "Launch"), text_column("phase", "Phase"), text_column("scope", "Scope"),
                        text_column("op", "Op"), bytes_column("bytes", "Bytes")},
            .rows = {},
            .notes = {}};
  for (size_t i = 0; i < kMemoryCategoryCount; ++i) {
    grid.columns.push_back(
        bytes_column(fmt::format("{}_bytes", key_of(category_at(i))), std::string(title_of(category_at(i)))));
  }
  for (size_t launch = 0; launch < trace.launch_count(); ++launch) {
    const TraceLaunch at = trace.launch(launch);
    std::vector<Json> row{launch, at.phase, at.scope, at.op, ledger.held(launch).total()};
    for (const int64_t bytes : ledger.held(launch).bytes) row.emplace_back(bytes);
    grid.rows.push_back(std::move(row));
  }
  grid.picture = [picture_of = std::pair(trace, ledger)](const TableStyle& style) {
    return timeline_text(picture_of.first, picture_of.second, style);
  };
  return grid;
}

}  // namespace laptime
