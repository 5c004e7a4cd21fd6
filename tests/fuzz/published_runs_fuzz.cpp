// The table of published training runs, the text in its cells, and price files.
#include "cluster/parallel_answer.h"
#include "cluster/predicted_run.h"
#include "cluster/published_run.h"
#include "fuzz/fuzz_target.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  const std::string header =
      "id,source,source_commit_or_date,hardware,gpus,nodes,interconnect,model_family,model_name,parameters,layers,d_"
      "model,"
      "d_ff,heads,kv_heads,vocab,sequence_length,micro_batch,global_batch_tokens,dtype,mode,flash_attention,"
      "parallelism,"
      "activation_checkpointing,quantity,value,note\n";
  return {header +
              "a,b,c,H100 80GB,8,1,NVLink,Llama,tiny,1e6,2,64,128,4,2,100,32,1,256,bf16,megatron,yes,tp=2 pp=2,full,"
              "mfu,0.4,\"causal, checked\"\n",
          header +
              "a,b,c,A100,2,1,400 Gb/s per node,GPT-2,tiny,,2,64,,4,,,16,,,fp8,eager,no,fsdp full,selective op,"
              "step_time_s,1,FLAG\n",
          "h100 = 2.5\n"};
}

std::vector<std::string> words() {
  return {"tp=",   "pp=",        "cp=", "vp=", "dp=", "ddp",        "zero3", "hsdp",
          "gb200", "4x200 Gb/s", "\"",  ",",   "\n",  "not stated", "0",     "9e18"};
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace laptime;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::accept_or_refuse([&] { parse_prices(text, "prices.toml"); });
  fuzz::accept_or_refuse([&] {
    for (const PublishedRun& run : parse_published_runs(text, "runs.csv")) described(run);
  });
  return 0;
}
