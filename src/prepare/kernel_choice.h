// Which kernel runs a node: the one that the user has pinned, else the one that measured fastest on this machine for
// its signature.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "config/run_config.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "record/store.h"

namespace laptime {

using KernelsBySignature = std::map<std::string, std::string>;  // signature text -> kernel name

struct KernelChoices {
  KernelsBySignature measured;
  bool takes_measured = true;  // false: the measured kernels' workspaces do not fit, so the first of each list is taken
  KernelsBySignature pinned;   // what they name is not measured
  std::string pinned_by;       // in messages: "kernels file 'choices.json'"
};

// What is stored of this device, and the choices of --kernels. Error where the file cannot be read, or names an op or
// a kernel that the table does not have.
KernelChoices choices_of(const RunConfig& config, const KernelTable& kernels, const std::vector<KernelChoice>& stored);

// The kernels that support a signature, in order of preference.
std::vector<const Kernel*> candidates(const KernelTable& kernels, const Signature& signature);

// The pinned kernel, or Error with its reason where it refuses; the measured one where it still supports the signature;
// else the first of the list that does.
ChooseKernel chooser(const KernelTable& kernels, const KernelChoices& choices);

// Error unless each pinned kernel runs the nodes that it is chosen for, and one of them is for a node of this graph.
void check_pinned(const Graph& graph, const KernelTable& kernels, const KernelChoices& choices);

}  // namespace laptime
