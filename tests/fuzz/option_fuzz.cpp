// Values of options, and label patterns. Each input line is "flag=value,value", with values as on the command line.
#include "fuzz/fuzz_target.h"
#include "points/expand.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  return {"model=small,xl\ncontext=128,256\nlabel={model}_{ctx}_{mixed}",
          "edition=2024\nmodel=small\nbias=true\ncrop-context=64\nwarmup=1\nsteps=3",
          "dtype=float32,bfloat16,mixed\nmode=compile\nkeep=rms_norm+rope\nrecompute=every=2\nmemory-limit=8GiB",
          "model=attention\nd-model=16\npass=forward\nmode=eager,compile\nseed=7",
          "model=small\nclip-norm=none,1.5\nlr=1e-3\nbeta2=0.95\noptimizer=torch",
          "device=roofline:h100,cpu,auto\nthreads=auto,2\ntimeout=10\nmode=compile\nlower=swiglu"};
}

std::vector<std::string> words() {
  std::vector<std::string> words{"=",      ",",     "\n",      "+",      "{",     "}",    "1e400",  "0x10", "1.5GB",
                                 "512MiB", "none",  "auto",    "every=", "block", "true", "false",  "xl",   "2.7B",
                                 "gpt2",   "eager", "compile", "stream", "4096",  "step", "float16"};
  for (const std::string_view flag : sweep_flags()) words.emplace_back(flag);
  return words;
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  laptime::fuzz::accept_or_refuse([&] {
    laptime::Sweep sweep;
    std::string_view text = laptime::fuzz::text_of(data, size);
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      const size_t sign = line.find('=');
      if (sign == std::string_view::npos) continue;
      const std::string_view flag = line.substr(0, sign);
      try {
        laptime::set_option(sweep, flag, "--" + std::string(flag), laptime::split_list(line.substr(sign + 1)));
      } catch (const laptime::Error&) {  // continue with the next line
      }
    }
    constexpr size_t kMostPoints = 50;
    for (const laptime::SweepPoint& point : laptime::expand(sweep, kMostPoints)) canonical_text(point.config);
  });
  return 0;
}
