// The store's schemas of earlier versions as they were, each with a row in every table of its own.
#pragma once

#include <array>
#include <string>

namespace laptime {

// Of version 7, without its number.
inline const std::string kSchema7 =
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
      created     TEXT NOT NULL, runs INTEGER NOT NULL DEFAULT 1,
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
      INSERT INTO launch_costs VALUES ('m0', 2, 'matmul a', 'blocked', 'matmul float32,float32', 1e9, 300, 1e-3, '2025', 2);
      PRAGMA application_id = 1280332884;
    )sql";

inline const std::string kResumed8 = R"sql(
      CREATE TABLE resumed (
      run         TEXT NOT NULL,
      record_id   INTEGER NOT NULL REFERENCES records (id),
      newest_id   INTEGER NOT NULL
      );
    )sql";

// SQL that makes a store of version 1, 2, ... The record is added by the test: its JSON is not part of the schema.
inline const std::array<std::string, 9> kOldSchemas{
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
      PRAGMA user_version = 6;
    )sql",
    kSchema7 + "PRAGMA user_version = 7;",
    kSchema7 + kResumed8 + "PRAGMA user_version = 8;",
    kSchema7 + kResumed8 + R"sql(
      ALTER TABLE launch_costs ADD COLUMN disturbance TEXT NOT NULL DEFAULT '';
      PRAGMA user_version = 9;
    )sql"};

}  // namespace laptime
