// The store: appended records survive a killed process and a full disk; a damaged file is an error or hides few
// records. Also tests searches, and files of earlier schemas and of other programs.
#include "record/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "data/json_documents.h"
#include "record/old_schemas.h"
#include "record/sample_record.h"
#include "record/store_fixture.h"

namespace laptime {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

// Runs `body` in a child process, which exits with 1 if `body` throws and with 0 otherwise. Returns the child's id.
template <class Body>
pid_t in_child(Body body) {
  const pid_t child = fork();
  if (child != 0) return child;
  int code = 1;
  try {
    body();
    code = 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "child: {}\n", error.what());
  }
  _exit(code);
}

int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(StoreTest, KeepsRecordsInOrder) {
  {
    Store store = Store::open(path_);
    store.append(sample_record("first"));
    store.append(sample_record("second"));
  }
  const Store store = Store::open(path_, Store::Access::kRead);
  const std::vector<Record> records = whole_records(store);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0], sample_record("first"));
  EXPECT_EQ(records[1], sample_record("second"));
}

TEST_F(StoreTest, RejectsATextThatIsTooLong) {
  Store store = Store::open(path_);
  EXPECT_THROW(store.append('"' + std::string(kMaxDocumentBytes, 'x') + '"'), Error);
}

TEST_F(StoreTest, FindsFinishedTracesWithEnoughSteps) {
  Store store = Store::open(path_);
  Record record = sample_record("three");
  StepTrace trace;
  trace.steps.resize(3);
  store.append(record, trace);
  record.name = "one";
  trace.steps.resize(1);
  store.append(record, trace);
  record.name = "none";
  store.append(record);
  const auto name_with = [&](std::optional<int64_t> steps) {
    const auto found = store.find_finished(record.config_hash, record.binary.id, record.fingerprint, steps);
    return found ? found->record.name : std::string();
  };
  EXPECT_EQ(name_with(std::nullopt), "none");
  EXPECT_EQ(name_with(0), "one");
  EXPECT_EQ(name_with(1), "one");
  EXPECT_EQ(name_with(2), "three");
  EXPECT_EQ(name_with(3), "three");
  EXPECT_EQ(name_with(4), "");
}

TEST_F(StoreTest, OnlyMeasuredPointsCountAsFinished) {
  const std::pair<Status, bool> cases[] = {{Status::kOk, true},           {Status::kOutOfMemory, false},
                                           {Status::kUnsupported, false}, {Status::kTimeout, false},
                                           {Status::kFailed, false},      {Status::kInterrupted, false}};
  Store store = Store::open(path_);
  for (const auto& [status, final] : cases) {
    Record record = sample_record();
    record.status = status;
    record.config_hash = std::string(name_of(status));
    store.append(record);
    EXPECT_EQ(store.find_finished(record.config_hash, record.binary.id, record.fingerprint).has_value(), final)
        << name_of(status);
  }
}

TEST_F(StoreTest, FindsFinishedRecordsByRequestHash) {
  Store store = Store::open(path_);
  Record record = sample_record();
  record.asked_hash = "one";
  store.append(record);
  record.fingerprint = "another machine";
  const int64_t newest = store.append(record);
  record.asked_hash = "two";
  record.status = Status::kFailed;
  store.append(record);
  record.asked_hash.clear();  // not run by a launcher
  record.status = Status::kOk;
  store.append(record);
  const std::map<std::string, int64_t> one{{"one", newest}};
  EXPECT_EQ(store.finished_by_asked_hash(record.binary.id), one);
  EXPECT_TRUE(store.finished_by_asked_hash("another").empty());
  ASSERT_TRUE(store.record_at(newest));
  EXPECT_EQ(store.record_at(newest)->fingerprint, "another machine");
  EXPECT_FALSE(store.record_at(newest + 100));
}

TEST_F(StoreTest, RecordsWithoutAHashNeverCountAsFinished) {
  Store store = Store::open(path_);
  Record record = sample_record();
  record.config_hash = "";
  store.append(record);
  EXPECT_FALSE(store.find_finished("", record.binary.id, record.fingerprint));
}

TEST_F(StoreTest, CheckWritableDetectsAMissingFolder) {
  Store store = Store::open(path_);
  store.append(sample_record());
  store.check_writable();
  EXPECT_EQ(whole_records(store).size(), 1U);
  // Without its directory, the store has no place for a journal.
  const fs::path moved = directory_.string() + "_moved";
  fs::rename(directory_, moved);
  EXPECT_THROW(store.check_writable(), Error);
  fs::rename(moved, directory_);
  store.check_writable();
}

TEST_F(StoreTest, ColumnsAreDerivedFromTheJson) {
  Store::open(path_).append(sample_record("the/name"));
  std::string row;
  const auto keep = [](void* out, int, char** values, char**) {
    *static_cast<std::string*>(out) = fmt::format("{} {} {}", values[0], values[1], values[2]);
    return 0;
  };
  query("SELECT name, status, binary_id FROM records", keep, &row);
  EXPECT_EQ(row, "the/name ok fedcba9876543210");
}

// A child reports each append through a pipe and is killed at a random instant; every reported record must be there.
TEST_F(StoreTest, KillLosesNoAppendedRecord) {
  std::srand(7);
  size_t written_before = 0;
  for (int round = 0; round < 25; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = in_child([&] {
      Store store = Store::open(path_);
      for (int i = 0;; ++i) {
        store.append(sample_record(fmt::format("round{}/{}", round, i)));
        if (write(pipe_ends[1], &i, sizeof i) != sizeof i) return;
      }
    });
    close(pipe_ends[1]);
    std::vector<std::string> confirmed;
    if (round % 5 == 4) {  // in other rounds, the child may be killed before it opens the store
      int first = 0;
      ASSERT_EQ(read(pipe_ends[0], &first, sizeof first), static_cast<ssize_t>(sizeof first));
      confirmed.push_back(fmt::format("round{}/{}", round, first));
    }
    usleep(static_cast<useconds_t>(std::rand() % 40'000));
    kill(child, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(wait_for(child)));
    for (int i = 0; read(pipe_ends[0], &i, sizeof i) == sizeof i;)
      confirmed.push_back(fmt::format("round{}/{}", round, i));
    close(pipe_ends[0]);

    std::set<std::string> stored;
    for (const Record& record : whole_records(Store::open(path_))) stored.insert(record.name);
    for (const std::string& name : confirmed) EXPECT_TRUE(stored.contains(name)) << name;
    EXPECT_GE(stored.size(), written_before + confirmed.size());
    written_before = stored.size();
  }
  EXPECT_GT(written_before, 0U);
}

TEST_F(StoreTest, FiveProcessesWriteConcurrently) {
  constexpr int kEach = 20;
  const auto writer = [&](const char* who) {
    return in_child([this, who] {
      for (int i = 0; i < kEach; ++i) Store::open(path_).append(sample_record(fmt::format("{}{}", who, i)));
    });
  };
  std::vector<pid_t> writers;
  for (const char* const who : {"a", "b", "c", "d", "e"}) writers.push_back(writer(who));
  for (const pid_t process : writers) EXPECT_EQ(wait_for(process), 0);
  std::set<std::string> names;
  for (const Record& record : whole_records(Store::open(path_))) names.insert(record.name);
  EXPECT_EQ(names.size(), writers.size() * kEach);
}

// While a store is created, a reader finds no file, an empty file or the whole schema, never a part of the schema.
TEST_F(StoreTest, ReaderNeverSeesAPartlyCreatedStore) {
  constexpr int kStores = 100;
  const auto store = [&](int i) { return path_.parent_path() / fmt::format("{}.sqlite", i); };
  const pid_t reader = in_child([&] {
    for (int i = 0; i < kStores; ++i) {
      std::string error;
      do {
        error = test::error_of([&] { Store::open(store(i), Store::Access::kRead); });
        if (error.find("another program") != std::string::npos || error.find("schema") != std::string::npos)
          throw Error(error);
      } while (!error.empty());
    }
  });
  for (int i = 0; i < kStores; ++i) Store::open(store(i));
  EXPECT_EQ(wait_for(reader), 0);
}

// Appends records until a write fails. Throws unless the error contains `expected` and the first record can still be
// read.
void fill(const fs::path& path, const char* expected) {
  Store store = Store::open(path);
  store.append(sample_record("kept"));
  const std::string message = test::error_of([&] {
    for (int i = 0; i < 1000; ++i) store.append(sample_record("more"));
  });
  if (message.find(expected) == std::string::npos) throw Error(message);
  if (whole_records(store).front().name != "kept") throw Error("the first record is gone");
}

TEST_F(StoreTest, KeepsRecordsIfTheDiskIsFull) {
  constexpr int kNotPermitted = 77;
  const uid_t user = geteuid();
  const gid_t group = getegid();
  const pid_t child = in_child([&] {
    // Mounts a small disk, if the system allows it.
    const bool alone = unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
    if (!alone || mount("tmpfs", directory_.c_str(), "tmpfs", 0, "size=512k") != 0) _exit(kNotPermitted);
    fill(path_, "the disk is full");
  });
  const int status = wait_for(child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNotPermitted) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_EQ(status, 0);
}

TEST_F(StoreTest, KeepsRecordsAtTheFileSizeLimit) {
  const pid_t child = in_child([this] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{256 << 10, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    fill(path_, "the disk rejected a write");
  });
  EXPECT_EQ(wait_for(child), 0);
  const std::vector<Record> records = whole_records(Store::open(path_));
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.front().name, "kept");
}

TEST_F(StoreTest, RejectsADeviceAsAStore) { EXPECT_THAT(open_error("/dev/full"), HasSubstr("--store")); }

TEST_F(StoreTest, RejectsFilesThatAreNotDatabases) {
  std::ofstream(path_) << "name,time\n" << std::string(4096, 'x');
  EXPECT_THAT(open_error(), HasSubstr("not a laptime store"));
  EXPECT_EQ(std::ifstream(path_).get(), 'n');  // the file is unchanged
}

TEST_F(StoreTest, RejectsOtherDatabases) {
  execute("CREATE TABLE songs (title TEXT)");
  EXPECT_THAT(open_error(), HasSubstr("belongs to another program"));
}

static_assert(old_schemas::kCount + 1 == Store::kSchemaVersion, "add the previous schema to old_schemas.h");

// An upgrade keeps records, and keeps kernel choices and peaks unless their old tables lack information. Reading
// leaves the file unchanged.
TEST_F(StoreTest, ReadsAndUpgradesStoresOfEveryEarlierSchema) {
  for (size_t version = 1; version <= old_schemas::kCount; ++version) {
    fs::remove(path_);
    execute(old_schemas::all().at(version - 1));
    execute(fmt::format("INSERT INTO records (json) VALUES ('{}')", to_text(sample_record())));
    const std::string before = bytes_of(path_);
    const bool by_device = version >= 2;
    {
      const Store reading = Store::open(path_, Store::Access::kRead);
      EXPECT_EQ(whole_records(reading), std::vector<Record>{sample_record()});
      EXPECT_EQ(visited(reading, Extent::kListed), std::vector<std::string>{sample_record().name});
      EXPECT_EQ(reading.kernel_choices("m1").size(), by_device ? 1U : 0U) << version;
      EXPECT_EQ(reading.measured_peaks("m1").size(), by_device ? 1U : 0U) << version;
      EXPECT_FALSE(reading.newest_resumed()) << version;
      EXPECT_TRUE(reading.resumed_by("", false).empty()) << version;
    }
    EXPECT_EQ(bytes_of(path_), before) << version;
    Store store = Store::open(path_);
    EXPECT_EQ(whole_records(store), std::vector<Record>{sample_record()});
    EXPECT_EQ(visited(store, Extent::kListed), std::vector<std::string>{sample_record().name});
    EXPECT_EQ(store.kernel_choices("m1").size(), by_device ? 1U : 0U) << version;
    EXPECT_EQ(store.measured_peaks("m1").size(), by_device ? 1U : 0U) << version;
    const std::vector<KernelChoice> choices{{"m1/cpu", "matmul a", "blocked", 1e-3, "2025-11-21T10:15:00Z"}};
    store.put(choices);
    const std::vector<LaunchCost> costs{
        {"m1/cpu", 2, "matmul a", "blocked", "matmul float32 > float32", 6e9, 300, 1e-3, "2025-11-21T10:15:00Z"}};
    store.put(costs);
    std::vector<LaunchCost> slower = costs;
    slower[0].seconds *= 2;
    store.put(slower);  // a measurement on a busy machine
    const bool has_runs = version >= 6;
    EXPECT_EQ(store.launch_costs("m0").size(), has_runs ? 1U : 0U) << version;
    store.append(sample_record("new"));
    EXPECT_EQ(Store::open(path_).kernel_choices("m1/cpu"), choices);
    EXPECT_EQ(Store::open(path_).launch_costs("m1/cpu"), costs);
    EXPECT_TRUE(Store::open(path_).launch_costs("m1").empty());
    EXPECT_EQ(visited(Store::open(path_), Extent::kListed), (std::vector<std::string>{sample_record().name, "new"}));
  }
}

TEST_F(StoreTest, UpgradedStoreHasTheSchemaOfANewOne) {
  const auto schema = [&] {
    std::string text;
    const auto add = [](void* out, int, char** values, char**) {
      *static_cast<std::string*>(out) += fmt::format("{}\n", values[0] == nullptr ? "" : values[0]);
      return 0;
    };
    query("SELECT name || ' ' || replace(replace(sql, char(10), ' '), ' ', '') FROM sqlite_schema ORDER BY name", add,
          &text);
    return text;
  };
  Store::open(path_);
  const std::string fresh = schema();
  for (const std::string& old : old_schemas::all()) {
    fs::remove(path_);
    execute(old);
    Store::open(path_);
    EXPECT_EQ(schema(), fresh);
  }
}

TEST_F(StoreTest, RejectsNewerSchemas) {
  Store::open(path_);
  execute("PRAGMA user_version = 99");
  EXPECT_THAT(open_error(), HasSubstr("schema version 99"));
  EXPECT_THAT(open_error(), HasSubstr("newer laptime"));
}

// Opening a database for writing would end its write-ahead log mode. Only the program that owns the database may end
// that mode.
TEST_F(StoreTest, LeavesDatabasesOfOtherProgramsUntouched) {
  execute("PRAGMA journal_mode = WAL; CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('a')");
  const std::string before = bytes_of(path_);
  for (const Store::Access access : {Store::Access::kRead, Store::Access::kWrite}) {
    EXPECT_THAT(open_error(access), HasSubstr("belongs to another program"));
    EXPECT_EQ(bytes_of(path_), before);
    EXPECT_FALSE(fs::exists(path_.string() + "-wal"));
  }
}

TEST_F(StoreTest, ReadingKeepsTheJournalMode) {
  Store::open(path_).append(sample_record());
  execute("PRAGMA journal_mode = WAL");
  const std::string before = bytes_of(path_);
  EXPECT_EQ(whole_records(Store::open(path_, Store::Access::kRead)).size(), 1U);
  EXPECT_EQ(bytes_of(path_), before);
}

TEST_F(StoreTest, UnreadableRowDoesNotHideOtherRows) {
  Store store = Store::open(path_);
  store.append(sample_record("first"));
  Record newer = sample_record("newer");
  newer.schema_version = Record::kSchemaVersion + 1;
  store.append(to_text(newer));
  execute("INSERT INTO records (json) VALUES ('{\"schema_version\": 1}'), ('7'), ('[]'), ('\"text\"')");
  store.append(sample_record("last"));
  for (const Extent extent : {Extent::kListed, Extent::kWithConfig, Extent::kWhole}) {
    std::vector<std::string> problems;
    EXPECT_EQ(visited(store, extent, &problems), (std::vector<std::string>{"first", "last"}));
    ASSERT_EQ(problems.size(), 5U);
    EXPECT_THAT(problems[0], testing::AllOf(HasSubstr("row 2 of table records"), HasSubstr("schema version 2")));
    EXPECT_THAT(problems[1], HasSubstr("row 3 of table records"));
  }
}

// A flipped bit anywhere after the first page, which contains the schema, hides at most the records of one page.
TEST_F(StoreTest, SlowHidesOnlyTheRecordsOfADamagedPage) {
  constexpr int kRecords = 60;
  {
    Store store = Store::open(path_);
    for (int i = 0; i < kRecords; ++i) store.append(sample_record(fmt::format("record{}", i)));
  }
  const std::string sound = bytes_of(path_);
  constexpr size_t kPage = 16384;
  constexpr char kLeaf = 13;  // SQLite's page type for a table that fits in one page
  ASSERT_EQ(sound.at(100), kLeaf) << "the first page holds the whole schema";
  uint64_t state = 5;
  for (int round = 0; round < 60; ++round) {
    std::string damaged = sound;
    const size_t at = kPage + splitmix64(++state) % (sound.size() - kPage);
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (splitmix64(++state) % 8)));
    std::ofstream(path_, std::ios::binary) << damaged;
    for (const Extent extent : {Extent::kListed, Extent::kWhole}) {
      std::vector<std::string> problems;
      const size_t names = visited(Store::open(path_, Store::Access::kRead), extent, &problems).size();
      EXPECT_GE(names, static_cast<size_t>(kRecords - 6)) << "byte " << at << " of " << sound.size();
      EXPECT_LE(names, static_cast<size_t>(kRecords));
      EXPECT_TRUE(names == kRecords || !problems.empty()) << "byte " << at;
    }
  }
}

TEST_F(StoreTest, RejectsADamagedFile) {
  {
    Store store = Store::open(path_);
    for (int i = 0; i < 50; ++i) store.append(sample_record());
  }
  const auto size = fs::file_size(path_);
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  for (uintmax_t at = 4096; at + 4096 <= size; at += 4096) {
    file.seekp(static_cast<std::streamoff>(at));
    file << std::string(200, '\x7f');
  }
  file.close();
  EXPECT_THAT(open_error(), HasSubstr("damaged"));
}

TEST_F(StoreTest, RejectsATruncatedFile) {
  {
    Store store = Store::open(path_);
    for (int i = 0; i < 50; ++i) store.append(sample_record());
  }
  fs::resize_file(path_, fs::file_size(path_) / 2 + 100);
  EXPECT_THAT(open_error(), HasSubstr("damaged"));
}

TEST_F(StoreTest, ErrorNamesRowThatIsNotARecord) {
  Store::open(path_).append(sample_record());
  execute("INSERT INTO records (json) VALUES ('{\"schema_version\": 1}')");
  EXPECT_THAT(open_error(), HasSubstr("row 2 of table records: record: 'status' is missing"));
}

TEST_F(StoreTest, ErrorsNameDirectoriesAndMissingFiles) {
  EXPECT_THAT(open_error(directory_), HasSubstr("is a directory"));
  EXPECT_THAT(open_error(Store::Access::kRead), HasSubstr("no such file"));
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_THAT(open_error(directory_ / "none" / "records.db"),
              HasSubstr("create it, or name another file with --store"));
  EXPECT_FALSE(fs::exists(directory_ / "none"));
  std::ofstream(directory_ / "file").put('x');
  EXPECT_THAT(open_error(directory_ / "file" / "records.db"), HasSubstr("does not exist"));
}

TEST_F(StoreTest, WriteProtectedStoreCanOnlyBeRead) {
  Store::open(path_).append(sample_record());
  fs::permissions(path_, fs::perms(0444));
  fs::permissions(directory_, fs::perms(0755));
  const pid_t child = in_child([this] {
    if (geteuid() == 0 && seteuid(65534) != 0) return;  // root may write anywhere
    const std::string message = open_error();
    if (message.find("no permission to write") == std::string::npos) throw Error(message);
    if (whole_records(Store::open(path_, Store::Access::kRead)).size() != 1) throw Error("the record cannot be read");
    const std::string elsewhere = open_error(directory_ / "new.db");
    if (elsewhere.find("cannot be created") == std::string::npos) throw Error(elsewhere);
  });
  EXPECT_EQ(wait_for(child), 0);
}

}  // namespace
}  // namespace laptime
