// Chooses the kernel for a node: the pinned one, or else the one that was fastest on this machine for the signature.
// Pinned kernels are read from a file with records of earlier runs.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "config/run_config.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "prepare/kernel_rules.h"
#include "record/store.h"

namespace laptime {

using KernelsBySignature = std::map<std::string, std::string>;  // signature text -> kernel name

inline constexpr int64_t kMaxKernelsFile = int64_t{64} << 20U;  // bytes

// The file's name in messages: "kernels file 'choices.json'".
std::string kernels_file_text(const std::string& path);

// Reads the `kernels` field of records written by `laptime bench` or `laptime show`: an array (--output json), one
// record per line (jsonl), or a single record. Throws Error with the name of the file if it cannot be read, contains no
// such records or no choices, or has conflicting choices for a signature.
KernelsBySignature read_kernels_file(const std::string& path);

struct KernelChoices {
  KernelRules rules;  // which kernels may be chosen
  KernelsBySignature measured;
  bool takes_measured = true;  // false: use the first candidates, because the measured kernels' workspaces do not fit
  bool saves_memory = false;   // choose the candidate with the least workspace, because nothing else fits
  KernelsBySignature pinned;   // override `measured` and are not timed
  std::string pinned_by;       // origin of `pinned` for messages: "kernels file 'choices.json'"
};

// The stored choices for the device, and those from --kernels. Throws Error if the file cannot be read, or names an op
// or kernel that does not exist.
KernelChoices choices_of(const RunConfig& config, const KernelTable& kernels, const std::vector<KernelChoice>& stored);

// The kernels that support a signature and are allowed by the rules, in order of preference.
std::vector<const Kernel*> candidates(const KernelTable& kernels, const Signature& signature,
                                      const KernelRules& rules = {});

// The stored choice for the signature with this text, if it is still one of `supported`. Null if there is none, or if
// the kernel no longer exists or no longer supports the signature; the signature is then measured again.
const Kernel* measured_kernel(const KernelChoices& choices, const std::string& signature,
                              std::span<const Kernel* const> supported);

// Chooses the pinned kernel (throws Error if that kernel cannot run the signature); else, with `saves_memory`, the
// first candidate with the least workspace; else the measured one if `takes_measured` and it is still a candidate; else
// the first candidate, or null if there is none. Both arguments must outlive the result.
ChooseKernel chooser(const KernelTable& kernels, const KernelChoices& choices);

// Throws Error unless each pinned kernel supports its nodes and at least one pinned signature occurs in the graph.
void check_pinned(const Graph& graph, const KernelTable& kernels, const KernelChoices& choices);

}  // namespace laptime
