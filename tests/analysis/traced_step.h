// A handmade trace of two steps with six launches.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "analysis/made_trace.h"
#include "record/record.h"

namespace laptime {

class TraceTest : public testing::Test {
 protected:
  TraceTest() {
    //  phase      scope                 layer part    range     op       class      flops bytes ns
    add("forward", "layers.0.attn.scores", 0, "attn", "a/scores", "matmul", "matmul", 4e6, 1000, {100, 300});
    add("forward", "layers.0.attn.weights", 0, "attn", "a/softmax", "exp", "softmax", 10, 4000, {50, 50});
    add("forward", "layers.1.attn.scores", 1, "attn", "a/scores", "matmul", "matmul", 4e6, 1000, {200, 400});
    add("forward", "lm_head", -1, "lm_head", "", "matmul", "matmul", 8e6, 2000, {400, 400});
    add("backward", "lm_head", -1, "lm_head", "", "matmul", "matmul", 16e6, 4000, {500, 700});
    add("optimizer", "lm_head", -1, "lm_head", "", "mul", "optimizer", 0, 8000, {100, 100});
    trace_.steps[0].total = 1400e-9;
    trace_.steps[1].total = 2000e-9;
    trace_.untraced = {1300e-9, 1500e-9};
    trace_.mark = 1e-9;
    trace_.peak_flops = 40e12;
    trace_.bandwidth = 80e9;
    check(trace_);
    record_.name = "point";
  }

  void add(const std::string& phase, const std::string& scope, int64_t layer, const std::string& part,
           const std::string& range, const std::string& op, const std::string& work_class, double flops, int64_t bytes,
           std::array<int64_t, 2> nanoseconds) {
    const std::string signature = op + "(float32 [" + std::to_string(bytes) + "])";
    made_.launch({phase, scope, layer, part, range, op, work_class, "k", signature, flops, bytes});
    trace_.steps.resize(2);
    for (size_t i = 0; i < 2; ++i) trace_.steps[i].launches.push_back(nanoseconds.at(i));
  }

  MadeTrace made_;
  StepTrace& trace_ = made_.trace;
  Record record_;
};

}  // namespace laptime
