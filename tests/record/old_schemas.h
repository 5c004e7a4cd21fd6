// The store's schemas of earlier versions, each with one kernel choice and one peak, and from version 6 on one launch
// cost.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/proc_text.h"
#include "base/words.h"

namespace laptime::old_schemas {

inline const std::string kRecords = R"sql(
    CREATE TABLE records (
      id          INTEGER PRIMARY KEY AUTOINCREMENT,
      json        TEXT NOT NULL CHECK (json_valid(json)),
      name        TEXT GENERATED ALWAYS AS (json_extract(json, '$.name')) VIRTUAL,
      status      TEXT GENERATED ALWAYS AS (json_extract(json, '$.status')) VIRTUAL,
      run         TEXT GENERATED ALWAYS AS (json_extract(json, '$.run')) VIRTUAL,
      created     TEXT GENERATED ALWAYS AS (json_extract(json, '$.created')) VIRTUAL,
      config_hash TEXT GENERATED ALWAYS AS (json_extract(json, '$.config_hash')) VIRTUAL,
      binary_id   TEXT GENERATED ALWAYS AS (json_extract(json, '$.binary.id')) VIRTUAL,
      fingerprint TEXT GENERATED ALWAYS AS (json_extract(json, '$.fingerprint')) VIRTUAL
    );
    CREATE INDEX records_by_name ON records (name, created);
    CREATE INDEX records_by_point ON records (config_hash, binary_id, fingerprint);
  )sql";

// Tables of choices and peaks whose key is `owner`: "fingerprint" in version 1, and "device" in later versions.
inline std::string choices_and_peaks(std::string_view owner) {
  return fmt::format(R"sql(
    CREATE TABLE kernel_choices ({0} TEXT NOT NULL, signature TEXT NOT NULL, kernel TEXT NOT NULL,
      seconds REAL NOT NULL, created TEXT NOT NULL, PRIMARY KEY ({0}, signature)) WITHOUT ROWID;
    CREATE TABLE measured_peaks ({0} TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, unit TEXT NOT NULL,
      created TEXT NOT NULL, PRIMARY KEY ({0}, name)) WITHOUT ROWID;
    INSERT INTO kernel_choices VALUES ('m1', 'matmul a', 'blocked', 1, '2025');
    INSERT INTO measured_peaks VALUES ('m1', 'bytes_per_second', 1e9, 'bytes/s', '2025');
  )sql",
                     owner);
}

inline const std::string kTraces = R"sql(
    CREATE TABLE traces (record_id INTEGER PRIMARY KEY REFERENCES records (id),
      json TEXT NOT NULL CHECK (json_valid(json)));
  )sql";

inline const std::string kLaunchCosts = R"sql(
    CREATE TABLE launch_costs (
      device      TEXT NOT NULL,
      threads     INTEGER NOT NULL,
      signature   TEXT NOT NULL,
      kernel      TEXT NOT NULL,
      kind        TEXT NOT NULL,
      flops       REAL NOT NULL,
      bytes       INTEGER NOT NULL,
      seconds     REAL NOT NULL,
      created     TEXT NOT NULL,
      PRIMARY KEY (device, threads, signature)
    ) WITHOUT ROWID;
  )sql";
inline const std::string kLaunchCost =
    "INSERT INTO launch_costs VALUES ('m0', 2, 'matmul a', 'blocked', 'matmul float32,float32', 1e9, 300, 1e-3, "
    "'2025');";

inline const std::string kTriggers = R"sql(
    CREATE TRIGGER record_added AFTER INSERT ON records BEGIN
      INSERT INTO listing SELECT * FROM listed WHERE id = NEW.id;
    END;
    CREATE TRIGGER record_changed AFTER UPDATE ON records BEGIN
      DELETE FROM listing WHERE id = OLD.id;
      INSERT INTO listing SELECT * FROM listed WHERE id = NEW.id;
    END;
    CREATE TRIGGER record_removed AFTER DELETE ON records BEGIN
      DELETE FROM listing WHERE id = OLD.id;
    END;
  )sql";

// A listing with all fields in one column, as in versions 4 and 5. If `is_of_version_6` is true, the listing also has
// the prediction and the ends of the confidence interval, as in versions 6 to 9.
inline std::string listing_in_one_column(bool is_of_version_6) {
  const std::string prediction = is_of_version_6 ? "'$.prediction.time'," : "";
  std::vector<std::string> figures{"count", "mean", "median", "std", "std_population", "min", "max"};
  if (is_of_version_6) figures.insert(figures.end(), {"ci_low", "ci_high"});
  std::string times;
  for (const char* const pass : {"forward", "backward", "optimizer", "step", "forward_backward", "inference"}) {
    for (const std::string& figure : figures) times += fmt::format("'$.time.{}.{}',", pass, figure);
  }
  return fmt::format(R"sql(
    CREATE TABLE listing (id INTEGER PRIMARY KEY, losses INTEGER, times INTEGER, fields TEXT);
    CREATE VIEW listed AS SELECT id, json_array_length(records.json, '$.loss.values'),
      (SELECT count(*) FROM json_each(records.json, '$.time')), json_extract(records.json, '$.schema_version',
      '$.name', '$.label', '$.status', '$.verdict.rating', '$.config.model', '$.config.pass',
      '$.loss.values[0]', '$.loss.values[#-1]', '$.reason', '$.bytes_requested', '$.bytes_available', '$.op',
      '$.scope', '$.math_mode', '$.phases', '$.tokens_per_second', '$.flops.model_flops_per_second',
      '$.flops.mfu_measured', '$.flops.mfu_datasheet', '$.memory.predicted_peak_bytes', '$.memory.peak_bytes',
      '$.memory.peak_rss_bytes', '$.memory.resident_bytes', '$.memory.after_forward_bytes',
      '$.memory.after_backward_bytes', {} '$.setup.plan', '$.setup.kernel_trial', '$.setup.memory',
      '$.setup.weights', '$.setup.data', '$.setup.total', '$.transient.excess', '$.transient.page_faults',
      '$.flops.above_peak', '$.transient.rest', '$.stopping.rule', '$.stopping.steps_per_sample',
      '$.verdict.reasons', '$.fingerprint', '$.binary.commit', '$.sweep', '$.run', '$.created',
      {} '$.config') FROM records;
  )sql",
                     prediction, times) +
         kTriggers;
}

inline const std::string kResumed = R"sql(
    CREATE TABLE resumed (
      run         TEXT NOT NULL,
      record_id   INTEGER NOT NULL REFERENCES records (id),
      newest_id   INTEGER NOT NULL
    );
  )sql";

// The listing of version 10: a column for each field, named by its path.
inline std::string listing_in_columns() {
  constexpr std::string_view kNames =
      "schema_version name label status verdict.rating math_mode fingerprint binary.commit run created "
      "config.model config.pass config.device config.system reason bytes_requested bytes_available op scope "
      "sweep tokens_per_second flops.model_flops_per_second flops.peak_measured flops.peak_datasheet "
      "flops.mfu_measured flops.mfu_datasheet flops.above_peak memory.predicted_peak_bytes memory.peak_bytes "
      "memory.peak_rss_bytes memory.resident_bytes memory.after_forward_bytes memory.after_backward_bytes "
      "setup.total transient.excess verdict.lost verdict.lost_to stopping.rule stopping.steps_per_sample "
      "config.edition config.dtype config.mode config.d_model config.num_heads config.num_layers "
      "config.context_length config.batch_size config.vocab_size config.d_ff config.threads losses "
      "loss.values[0] loss.values[#-1] times pass_time time.PASS.count time.PASS.mean time.PASS.median "
      "time.PASS.std time.PASS.std_population time.PASS.min time.PASS.max time.PASS.ci_low time.PASS.ci_high "
      "time.forward.count time.forward.median time.backward.count time.backward.median time.optimizer.count "
      "time.optimizer.median flops.peak_measured_at host.median host.difference memory.requested_bytes "
      "memory.reserved_bytes loss_scaling.last loss_scaling.skipped_steps setup.plan setup.kernel_trial "
      "setup.memory setup.weights setup.data transient.page_faults transient.rest verdict.reasons phases "
      "prediction.time config time";
  const auto value = [](std::string_view name) -> std::string {
    constexpr std::string_view kPass = "time.PASS.";
    if (name == "losses") return "json_array_length(r.json, '$.loss.values')";
    if (name == "times") return "(SELECT count(*) FROM json_each(r.json, '$.time'))";
    if (name == "pass_time") return "pass";
    if (name == "time")
      return "(SELECT json_group_object(key, json_remove(value, '$.samples', '$.modes', '$.outliers')) "
             "FROM json_each(r.json, '$.time'))";
    if (name.starts_with(kPass))
      return fmt::format("json_extract(r.json, '$.time.\"' || pass || '\".{}')", name.substr(kPass.size()));
    return fmt::format("json_extract(r.json, '$.{}')", name);
  };
  const std::vector<std::string_view> names = split(kNames, ' ');
  std::vector<std::string> values;
  values.reserve(names.size());
  for (const std::string_view name : names) values.push_back(value(name));
  return fmt::format(R"sql(
    DROP TRIGGER record_added;
    DROP TRIGGER record_changed;
    DROP TRIGGER record_removed;
    DROP VIEW listed;
    DROP TABLE listing;
    CREATE TABLE listing (id INTEGER PRIMARY KEY, "{}");
    CREATE VIEW listed AS SELECT id, {} FROM (
      SELECT r.id, r.json, (
        SELECT CASE count(*) WHEN 1 THEN max(key) ELSE max(CASE key WHEN json_extract(r.json, '$.config.pass') THEN key END)
        END FROM json_each(r.json, '$.time') WHERE key NOT LIKE '%"%') AS pass FROM records AS r) AS r;
    CREATE INDEX listing_by_run ON listing (run);
  )sql",
                     joined(names, "\", \""), joined(values, ", ")) +
         kTriggers;
}

// SQL that creates stores of versions 1 to kCount. The test adds the record, because the JSON of a record is not part
// of the schema.
inline constexpr size_t kCount = 10;
inline std::array<std::string, kCount> all() {
  std::array<std::string, kCount> versions;
  versions[0] = kRecords + choices_and_peaks("fingerprint");
  versions[1] = kRecords + choices_and_peaks("device");
  versions[2] = versions[1] + kTraces;
  versions[3] = versions[2] + listing_in_one_column(false);
  versions[4] = versions[3] + kLaunchCosts;
  versions[5] = versions[2] + kLaunchCosts + kLaunchCost + listing_in_one_column(true);
  versions[6] = versions[5] +
                "ALTER TABLE launch_costs ADD COLUMN runs INTEGER NOT NULL DEFAULT 1; "
                "UPDATE launch_costs SET runs = 2;";
  versions[7] = versions[6] + kResumed;
  versions[8] = versions[7] + "ALTER TABLE launch_costs ADD COLUMN disturbance TEXT NOT NULL DEFAULT '';";
  versions[9] = versions[8] + listing_in_columns();
  for (size_t i = 0; i < versions.size(); ++i)
    versions.at(i) += fmt::format("PRAGMA application_id = 1280332884; PRAGMA user_version = {};", i + 1);
  return versions;
}

}  // namespace laptime::old_schemas
