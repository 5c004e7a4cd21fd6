// The store's schemas of earlier versions as they were, each with a row in every table of its own.
#pragma once

#include <array>

namespace laptime {

// SQL that makes a store of version 1, 2, ... The record is added by the test: its JSON is not part of the schema.
constexpr std::array kOldSchemas{
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
    )sql"};

}  // namespace laptime
