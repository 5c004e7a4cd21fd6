// Which kernel runs a node: the one that measured fastest on this machine for its signature.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "record/store.h"

namespace laptime {

// Signature text -> kernel name.
using KernelChoices = std::map<std::string, std::string>;

KernelChoices choices_of(const std::vector<KernelChoice>& stored);

// The chosen kernel where it still supports the signature, else the first of the list that does.
ChooseKernel chooser(const Backend& backend, const KernelChoices& choices);

// Times every candidate (the reference aside) of each signature in the graph that has more than one and no choice yet,
// on random operands; adds the fastest to `choices` and returns what was added, fingerprint and date left empty.
std::vector<KernelChoice> try_kernels(const Graph& graph, Backend& backend, KernelChoices& choices);

}  // namespace laptime
