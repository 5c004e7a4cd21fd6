// The store's schemas of earlier versions, each with one row in each of its tables except records.
#pragma once

#include <array>
#include <string>

namespace laptime {

// The schema of version 6, without its number.
inline const std::string kSchema6 =
    R"sql(
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
      CREATE TABLE kernel_choices (
      device      TEXT NOT NULL,
      signature   TEXT NOT NULL,
      kernel      TEXT NOT NULL,
      seconds     REAL NOT NULL,
      created     TEXT NOT NULL,
      PRIMARY KEY (device, signature)
      ) WITHOUT ROWID;
      CREATE TABLE measured_peaks (
      device      TEXT NOT NULL,
      name        TEXT NOT NULL,
      value       REAL NOT NULL,
      unit        TEXT NOT NULL,
      created     TEXT NOT NULL,
      PRIMARY KEY (device, name)
      ) WITHOUT ROWID;
      CREATE TABLE traces (
      record_id   INTEGER PRIMARY KEY REFERENCES records (id),
      json        TEXT NOT NULL CHECK (json_valid(json))
      );
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
      CREATE TABLE listing (id INTEGER PRIMARY KEY, losses INTEGER, times INTEGER, fields TEXT);
      CREATE VIEW listed AS SELECT id, json_array_length(records.json, '$.loss.values'), (SELECT count(*) FROM
      json_each(records.json, '$.time')), json_extract(records.json, '$.schema_version', '$.name', '$.label',
      '$.status', '$.verdict.rating', '$.config.model', '$.config.pass', '$.loss.values[0]',
      '$.loss.values[#-1]', '$.reason', '$.bytes_requested', '$.bytes_available', '$.op', '$.scope',
      '$.math_mode', '$.phases', '$.tokens_per_second', '$.flops.model_flops_per_second',
      '$.flops.mfu_measured', '$.flops.mfu_datasheet', '$.memory.predicted_peak_bytes', '$.memory.peak_bytes',
      '$.memory.peak_rss_bytes', '$.memory.resident_bytes', '$.memory.after_forward_bytes',
      '$.memory.after_backward_bytes', '$.prediction.time', '$.setup.plan', '$.setup.kernel_trial',
      '$.setup.memory', '$.setup.weights', '$.setup.data', '$.setup.total', '$.transient.excess',
      '$.transient.page_faults', '$.flops.above_peak', '$.transient.rest', '$.stopping.rule',
      '$.stopping.steps_per_sample', '$.verdict.reasons', '$.fingerprint', '$.binary.commit', '$.sweep',
      '$.run', '$.created', '$.time.forward.count', '$.time.forward.mean', '$.time.forward.median',
      '$.time.forward.std', '$.time.forward.std_population', '$.time.forward.min', '$.time.forward.max',
      '$.time.forward.ci_low', '$.time.forward.ci_high', '$.time.backward.count', '$.time.backward.mean',
      '$.time.backward.median', '$.time.backward.std', '$.time.backward.std_population', '$.time.backward.min',
      '$.time.backward.max', '$.time.backward.ci_low', '$.time.backward.ci_high', '$.time.optimizer.count',
      '$.time.optimizer.mean', '$.time.optimizer.median', '$.time.optimizer.std',
      '$.time.optimizer.std_population', '$.time.optimizer.min', '$.time.optimizer.max',
      '$.time.optimizer.ci_low', '$.time.optimizer.ci_high', '$.time.step.count', '$.time.step.mean',
      '$.time.step.median', '$.time.step.std', '$.time.step.std_population', '$.time.step.min',
      '$.time.step.max', '$.time.step.ci_low', '$.time.step.ci_high', '$.time.forward_backward.count',
      '$.time.forward_backward.mean', '$.time.forward_backward.median', '$.time.forward_backward.std',
      '$.time.forward_backward.std_population', '$.time.forward_backward.min', '$.time.forward_backward.max',
      '$.time.forward_backward.ci_low', '$.time.forward_backward.ci_high', '$.time.inference.count',
      '$.time.inference.mean', '$.time.inference.median', '$.time.inference.std',
      '$.time.inference.std_population', '$.time.inference.min', '$.time.inference.max',
      '$.time.inference.ci_low', '$.time.inference.ci_high', '$.config') FROM records;
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
      INSERT INTO kernel_choices VALUES ('m1', 'matmul a', 'blocked', 1, '2025');
      INSERT INTO measured_peaks VALUES ('m1', 'bytes_per_second', 1e9, 'bytes/s', '2025');
      INSERT INTO launch_costs VALUES ('m0', 2, 'matmul a', 'blocked', 'matmul float32,float32', 1e9, 300, 1e-3, '2025');
      PRAGMA application_id = 1280332884;
    )sql";

inline const std::string kSchema7 = kSchema6 + R"sql(
      ALTER TABLE launch_costs ADD COLUMN runs INTEGER NOT NULL DEFAULT 1;
      UPDATE launch_costs SET runs = 2;
    )sql";

inline const std::string kResumed8 = R"sql(
      CREATE TABLE resumed (
      run         TEXT NOT NULL,
      record_id   INTEGER NOT NULL REFERENCES records (id),
      newest_id   INTEGER NOT NULL
      );
    )sql";

inline const std::string kSchema9 = kSchema7 + kResumed8 + R"sql(
      ALTER TABLE launch_costs ADD COLUMN disturbance TEXT NOT NULL DEFAULT '';
    )sql";

inline const std::string kListing10 = R"sql(
      DROP TRIGGER record_added;
      DROP TRIGGER record_changed;
      DROP TRIGGER record_removed;
      DROP VIEW listed;
      DROP TABLE listing;
      CREATE TABLE listing (id INTEGER PRIMARY KEY, "schema_version", "name", "label", "status",
      "verdict.rating", "math_mode", "fingerprint", "binary.commit", "run", "created", "config.model",
      "config.pass", "config.device", "config.system", "reason", "bytes_requested", "bytes_available", "op",
      "scope", "sweep", "tokens_per_second", "flops.model_flops_per_second", "flops.peak_measured",
      "flops.peak_datasheet", "flops.mfu_measured", "flops.mfu_datasheet", "flops.above_peak",
      "memory.predicted_peak_bytes", "memory.peak_bytes", "memory.peak_rss_bytes", "memory.resident_bytes",
      "memory.after_forward_bytes", "memory.after_backward_bytes", "setup.total", "transient.excess",
      "verdict.lost", "verdict.lost_to", "stopping.rule", "stopping.steps_per_sample", "config.edition",
      "config.dtype", "config.mode", "config.d_model", "config.num_heads", "config.num_layers",
      "config.context_length", "config.batch_size", "config.vocab_size", "config.d_ff", "config.threads",
      "losses", "loss.values[0]", "loss.values[#-1]", "times", "pass_time", "time.PASS.count",
      "time.PASS.mean", "time.PASS.median", "time.PASS.std", "time.PASS.std_population", "time.PASS.min",
      "time.PASS.max", "time.PASS.ci_low", "time.PASS.ci_high", "time.forward.count", "time.forward.median",
      "time.backward.count", "time.backward.median", "time.optimizer.count", "time.optimizer.median",
      "flops.peak_measured_at", "host.median", "host.difference", "memory.requested_bytes",
      "memory.reserved_bytes", "loss_scaling.last", "loss_scaling.skipped_steps", "setup.plan",
      "setup.kernel_trial", "setup.memory", "setup.weights", "setup.data", "transient.page_faults",
      "transient.rest", "verdict.reasons", "phases", "prediction.time", "config", "time");
      CREATE VIEW listed AS SELECT id, json_extract(r.json, '$.schema_version'), json_extract(r.json,
      '$.name'), json_extract(r.json, '$.label'), json_extract(r.json, '$.status'), json_extract(r.json,
      '$.verdict.rating'), json_extract(r.json, '$.math_mode'), json_extract(r.json, '$.fingerprint'),
      json_extract(r.json, '$.binary.commit'), json_extract(r.json, '$.run'), json_extract(r.json,
      '$.created'), json_extract(r.json, '$.config.model'), json_extract(r.json, '$.config.pass'),
      json_extract(r.json, '$.config.device'), json_extract(r.json, '$.config.system'), json_extract(r.json,
      '$.reason'), json_extract(r.json, '$.bytes_requested'), json_extract(r.json, '$.bytes_available'),
      json_extract(r.json, '$.op'), json_extract(r.json, '$.scope'), json_extract(r.json, '$.sweep'),
      json_extract(r.json, '$.tokens_per_second'), json_extract(r.json, '$.flops.model_flops_per_second'),
      json_extract(r.json, '$.flops.peak_measured'), json_extract(r.json, '$.flops.peak_datasheet'),
      json_extract(r.json, '$.flops.mfu_measured'), json_extract(r.json, '$.flops.mfu_datasheet'),
      json_extract(r.json, '$.flops.above_peak'), json_extract(r.json, '$.memory.predicted_peak_bytes'),
      json_extract(r.json, '$.memory.peak_bytes'), json_extract(r.json, '$.memory.peak_rss_bytes'),
      json_extract(r.json, '$.memory.resident_bytes'), json_extract(r.json, '$.memory.after_forward_bytes'),
      json_extract(r.json, '$.memory.after_backward_bytes'), json_extract(r.json, '$.setup.total'),
      json_extract(r.json, '$.transient.excess'), json_extract(r.json, '$.verdict.lost'), json_extract(r.json,
      '$.verdict.lost_to'), json_extract(r.json, '$.stopping.rule'), json_extract(r.json,
      '$.stopping.steps_per_sample'), json_extract(r.json, '$.config.edition'), json_extract(r.json,
      '$.config.dtype'), json_extract(r.json, '$.config.mode'), json_extract(r.json, '$.config.d_model'),
      json_extract(r.json, '$.config.num_heads'), json_extract(r.json, '$.config.num_layers'),
      json_extract(r.json, '$.config.context_length'), json_extract(r.json, '$.config.batch_size'),
      json_extract(r.json, '$.config.vocab_size'), json_extract(r.json, '$.config.d_ff'), json_extract(r.json,
      '$.config.threads'), json_array_length(r.json, '$.loss.values'), json_extract(r.json,
      '$.loss.values[0]'), json_extract(r.json, '$.loss.values[#-1]'), (SELECT count(*) FROM json_each(r.json,
      '$.time')), pass, json_extract(r.json, '$.time."' || pass || '".count'), json_extract(r.json, '$.time."'
      || pass || '".mean'), json_extract(r.json, '$.time."' || pass || '".median'), json_extract(r.json,
      '$.time."' || pass || '".std'), json_extract(r.json, '$.time."' || pass || '".std_population'),
      json_extract(r.json, '$.time."' || pass || '".min'), json_extract(r.json, '$.time."' || pass ||
      '".max'), json_extract(r.json, '$.time."' || pass || '".ci_low'), json_extract(r.json, '$.time."' ||
      pass || '".ci_high'), json_extract(r.json, '$.time.forward.count'), json_extract(r.json,
      '$.time.forward.median'), json_extract(r.json, '$.time.backward.count'), json_extract(r.json,
      '$.time.backward.median'), json_extract(r.json, '$.time.optimizer.count'), json_extract(r.json,
      '$.time.optimizer.median'), json_extract(r.json, '$.flops.peak_measured_at'), json_extract(r.json,
      '$.host.median'), json_extract(r.json, '$.host.difference'), json_extract(r.json,
      '$.memory.requested_bytes'), json_extract(r.json, '$.memory.reserved_bytes'), json_extract(r.json,
      '$.loss_scaling.last'), json_extract(r.json, '$.loss_scaling.skipped_steps'), json_extract(r.json,
      '$.setup.plan'), json_extract(r.json, '$.setup.kernel_trial'), json_extract(r.json, '$.setup.memory'),
      json_extract(r.json, '$.setup.weights'), json_extract(r.json, '$.setup.data'), json_extract(r.json,
      '$.transient.page_faults'), json_extract(r.json, '$.transient.rest'), json_extract(r.json,
      '$.verdict.reasons'), json_extract(r.json, '$.phases'), json_extract(r.json, '$.prediction.time'),
      json_extract(r.json, '$.config'), (SELECT json_group_object(key, json_remove(value, '$.samples',
      '$.modes', '$.outliers')) FROM json_each(r.json, '$.time')) FROM ( SELECT r.id, r.json, ( SELECT CASE
      count(*) WHEN 1 THEN max(key) ELSE max(CASE key WHEN json_extract(r.json, '$.config.pass') THEN key END)
      END FROM json_each(r.json, '$.time') WHERE key NOT LIKE '%"%') AS pass FROM records AS r) AS r;
      CREATE TRIGGER record_added AFTER INSERT ON records BEGIN INSERT INTO listing SELECT * FROM listed WHERE
      id = NEW.id; END;
      CREATE TRIGGER record_changed AFTER UPDATE ON records BEGIN DELETE FROM listing WHERE id = OLD.id;
      INSERT INTO listing SELECT * FROM listed WHERE id = NEW.id; END;
      CREATE TRIGGER record_removed AFTER DELETE ON records BEGIN DELETE FROM listing WHERE id = OLD.id; END;
      CREATE INDEX listing_by_run ON listing (run);
    )sql";

// SQL that creates a store of version 1, 2, ... The test adds the record, because its JSON is not part of the schema.
inline const std::array<std::string, 10> kOldSchemas{
    R"sql(
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
      CREATE TABLE kernel_choices (fingerprint TEXT NOT NULL, signature TEXT NOT NULL, kernel TEXT NOT NULL,
        seconds REAL NOT NULL, created TEXT NOT NULL, PRIMARY KEY (fingerprint, signature)) WITHOUT ROWID;
      CREATE TABLE measured_peaks (fingerprint TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
        unit TEXT NOT NULL, created TEXT NOT NULL, PRIMARY KEY (fingerprint, name)) WITHOUT ROWID;
      INSERT INTO kernel_choices VALUES ('m1', 'matmul a', 'blocked', 1, '2025');
      INSERT INTO measured_peaks VALUES ('m1', 'bytes_per_second', 1e9, 'bytes/s', '2025');
      PRAGMA application_id = 1280332884;
      PRAGMA user_version = 1;
    )sql",
    R"sql(
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
      CREATE TABLE kernel_choices (device TEXT NOT NULL, signature TEXT NOT NULL, kernel TEXT NOT NULL,
        seconds REAL NOT NULL, created TEXT NOT NULL, PRIMARY KEY (device, signature)) WITHOUT ROWID;
      CREATE TABLE measured_peaks (device TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, unit TEXT NOT NULL,
        created TEXT NOT NULL, PRIMARY KEY (device, name)) WITHOUT ROWID;
      INSERT INTO kernel_choices VALUES ('m1', 'matmul a', 'blocked', 1, '2025');
      INSERT INTO measured_peaks VALUES ('m1', 'bytes_per_second', 1e9, 'bytes/s', '2025');
      PRAGMA application_id = 1280332884;
      PRAGMA user_version = 2;
    )sql",
    R"sql(
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
      CREATE TABLE kernel_choices (device TEXT NOT NULL, signature TEXT NOT NULL, kernel TEXT NOT NULL,
        seconds REAL NOT NULL, created TEXT NOT NULL, PRIMARY KEY (device, signature)) WITHOUT ROWID;
      CREATE TABLE measured_peaks (device TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, unit TEXT NOT NULL,
        created TEXT NOT NULL, PRIMARY KEY (device, name)) WITHOUT ROWID;
      CREATE TABLE traces (record_id INTEGER PRIMARY KEY REFERENCES records (id),
        json TEXT NOT NULL CHECK (json_valid(json)));
      INSERT INTO kernel_choices VALUES ('m1', 'matmul a', 'blocked', 1, '2025');
      INSERT INTO measured_peaks VALUES ('m1', 'bytes_per_second', 1e9, 'bytes/s', '2025');
      PRAGMA application_id = 1280332884;
      PRAGMA user_version = 3;
    )sql",
    R"sql(
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
      CREATE TABLE kernel_choices (
      device      TEXT NOT NULL,
      signature   TEXT NOT NULL,
      kernel      TEXT NOT NULL,
      seconds     REAL NOT NULL,
      created     TEXT NOT NULL,
      PRIMARY KEY (device, signature)
      ) WITHOUT ROWID;
      CREATE TABLE measured_peaks (
      device      TEXT NOT NULL,
      name        TEXT NOT NULL,
      value       REAL NOT NULL,
      unit        TEXT NOT NULL,
      created     TEXT NOT NULL,
      PRIMARY KEY (device, name)
      ) WITHOUT ROWID;
      CREATE TABLE traces (
      record_id   INTEGER PRIMARY KEY REFERENCES records (id),
      json        TEXT NOT NULL CHECK (json_valid(json))
      );
      CREATE TABLE listing (id INTEGER PRIMARY KEY, losses INTEGER, times INTEGER, fields TEXT);
      CREATE VIEW listed AS SELECT id, json_array_length(records.json, '$.loss.values'),
        (SELECT count(*) FROM json_each(records.json, '$.time')), json_extract(records.json, '$.schema_version',
        '$.name', '$.label', '$.status', '$.verdict.rating', '$.config.model', '$.config.pass',
        '$.loss.values[0]', '$.loss.values[#-1]', '$.reason', '$.bytes_requested', '$.bytes_available', '$.op',
        '$.scope', '$.math_mode', '$.phases', '$.tokens_per_second', '$.flops.model_flops_per_second',
        '$.flops.mfu_measured', '$.flops.mfu_datasheet', '$.memory.predicted_peak_bytes', '$.memory.peak_bytes',
        '$.memory.peak_rss_bytes', '$.memory.resident_bytes', '$.memory.after_forward_bytes',
        '$.memory.after_backward_bytes', '$.setup.plan', '$.setup.kernel_trial', '$.setup.memory',
        '$.setup.weights', '$.setup.data', '$.setup.total', '$.transient.excess', '$.transient.page_faults',
        '$.flops.above_peak', '$.transient.rest', '$.stopping.rule', '$.stopping.steps_per_sample',
        '$.verdict.reasons', '$.fingerprint', '$.binary.commit', '$.sweep', '$.run', '$.created',
        '$.time.forward.count', '$.time.forward.mean', '$.time.forward.median', '$.time.forward.std',
        '$.time.forward.std_population', '$.time.forward.min', '$.time.forward.max', '$.time.backward.count',
        '$.time.backward.mean', '$.time.backward.median', '$.time.backward.std',
        '$.time.backward.std_population', '$.time.backward.min', '$.time.backward.max', '$.time.optimizer.count',
        '$.time.optimizer.mean', '$.time.optimizer.median', '$.time.optimizer.std',
        '$.time.optimizer.std_population', '$.time.optimizer.min', '$.time.optimizer.max', '$.time.step.count',
        '$.time.step.mean', '$.time.step.median', '$.time.step.std', '$.time.step.std_population',
        '$.time.step.min', '$.time.step.max', '$.time.forward_backward.count', '$.time.forward_backward.mean',
        '$.time.forward_backward.median', '$.time.forward_backward.std',
        '$.time.forward_backward.std_population', '$.time.forward_backward.min', '$.time.forward_backward.max',
        '$.time.inference.count', '$.time.inference.mean', '$.time.inference.median', '$.time.inference.std',
        '$.time.inference.std_population', '$.time.inference.min', '$.time.inference.max',
        '$.config') FROM records;
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
      INSERT INTO kernel_choices VALUES ('m1', 'matmul a', 'blocked', 1, '2025');
      INSERT INTO measured_peaks VALUES ('m1', 'bytes_per_second', 1e9, 'bytes/s', '2025');
      PRAGMA application_id = 1280332884;
      PRAGMA user_version = 4;
    )sql",
    R"sql(
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
      CREATE TABLE kernel_choices (
      device      TEXT NOT NULL,
      signature   TEXT NOT NULL,
      kernel      TEXT NOT NULL,
      seconds     REAL NOT NULL,
      created     TEXT NOT NULL,
      PRIMARY KEY (device, signature)
      ) WITHOUT ROWID;
      CREATE TABLE measured_peaks (
      device      TEXT NOT NULL,
      name        TEXT NOT NULL,
      value       REAL NOT NULL,
      unit        TEXT NOT NULL,
      created     TEXT NOT NULL,
      PRIMARY KEY (device, name)
      ) WITHOUT ROWID;
      CREATE TABLE traces (
      record_id   INTEGER PRIMARY KEY REFERENCES records (id),
      json        TEXT NOT NULL CHECK (json_valid(json))
      );
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
      CREATE TABLE listing (id INTEGER PRIMARY KEY, losses INTEGER, times INTEGER, fields TEXT);
      CREATE VIEW listed AS SELECT id, json_array_length(records.json, '$.loss.values'),
      (SELECT count(*) FROM json_each(records.json, '$.time')), json_extract(records.json, '$.schema_version',
      '$.name', '$.label', '$.status', '$.verdict.rating', '$.config.model', '$.config.pass', '$.loss.values[0]',
      '$.loss.values[#-1]', '$.reason', '$.bytes_requested', '$.bytes_available', '$.op', '$.scope',
      '$.math_mode', '$.phases', '$.tokens_per_second', '$.flops.model_flops_per_second', '$.flops.mfu_measured',
      '$.flops.mfu_datasheet', '$.memory.predicted_peak_bytes', '$.memory.peak_bytes', '$.memory.peak_rss_bytes',
      '$.memory.resident_bytes', '$.memory.after_forward_bytes', '$.memory.after_backward_bytes', '$.setup.plan',
      '$.setup.kernel_trial', '$.setup.memory', '$.setup.weights', '$.setup.data', '$.setup.total',
      '$.transient.excess', '$.transient.page_faults', '$.flops.above_peak', '$.transient.rest',
      '$.stopping.rule', '$.stopping.steps_per_sample', '$.verdict.reasons', '$.fingerprint', '$.binary.commit',
      '$.sweep', '$.run', '$.created', '$.time.forward.count', '$.time.forward.mean', '$.time.forward.median',
      '$.time.forward.std', '$.time.forward.std_population', '$.time.forward.min', '$.time.forward.max',
      '$.time.backward.count', '$.time.backward.mean', '$.time.backward.median', '$.time.backward.std',
      '$.time.backward.std_population', '$.time.backward.min', '$.time.backward.max', '$.time.optimizer.count',
      '$.time.optimizer.mean', '$.time.optimizer.median', '$.time.optimizer.std',
      '$.time.optimizer.std_population', '$.time.optimizer.min', '$.time.optimizer.max', '$.time.step.count',
      '$.time.step.mean', '$.time.step.median', '$.time.step.std', '$.time.step.std_population',
      '$.time.step.min', '$.time.step.max', '$.time.forward_backward.count', '$.time.forward_backward.mean',
      '$.time.forward_backward.median', '$.time.forward_backward.std', '$.time.forward_backward.std_population',
      '$.time.forward_backward.min', '$.time.forward_backward.max', '$.time.inference.count',
      '$.time.inference.mean', '$.time.inference.median', '$.time.inference.std',
      '$.time.inference.std_population', '$.time.inference.min', '$.time.inference.max',
      '$.config') FROM records;
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
      INSERT INTO kernel_choices VALUES ('m1', 'matmul a', 'blocked', 1, '2025');
      INSERT INTO measured_peaks VALUES ('m1', 'bytes_per_second', 1e9, 'bytes/s', '2025');
      PRAGMA application_id = 1280332884;
      PRAGMA user_version = 5;
    )sql",
    kSchema6 + "PRAGMA user_version = 6;",
    kSchema7 + "PRAGMA user_version = 7;",
    kSchema7 + kResumed8 + "PRAGMA user_version = 8;",
    kSchema9 + "PRAGMA user_version = 9;",
    kSchema9 + kListing10 + "PRAGMA user_version = 10;"};

}  // namespace laptime
