// Database: the records of a file, and the appending of new ones.
//
// The file holds one record a line (search/record.h), oldest first, and is only ever appended to.
// Several processes may append to it at once. Blank lines and lines that start with '#' are
// skipped. A last line without its end, as a killed writer leaves it, is skipped with a warning and
// the next append starts on a line of its own; other lines that are no records are skipped with a
// warning too, unless nothing in the file is a record: then it is somebody else's file and is
// refused, as is one with records of another version.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "espalier/search/record.h"

namespace espalier {

class Database {
 public:
  // Empty, in memory only.
  Database() = default;

  // The records of an existing file.
  static Result<Database> open(const std::string& path);
  // The same for a file that will be appended to: it may be missing (its folder may not), and
  // whether it can be written is found out now. A device or pipe counts as empty.
  static Result<Database> open_for_append(const std::string& path);

  // Writes a line when there is a file, then keeps the record. An error leaves both as they were.
  Result<void> append(TuningRecord record);

  const std::vector<TuningRecord>& records() const { return records_; }
  int line(size_t record) const { return lines_[record]; }  // in the file, from 1; 0: not from it
  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::string& path() const { return path_; }

  // Numbers of the records of a DAG, oldest first.
  const std::vector<size_t>& of_dag(uint64_t dag_hash) const;

 private:
  Result<void> read(const std::string& path);
  void keep(TuningRecord record, int line);

  std::string path_;  // empty: in memory
  std::vector<TuningRecord> records_;
  std::vector<int> lines_;
  std::vector<std::string> warnings_;
  std::unordered_map<uint64_t, std::vector<size_t>> by_dag_;
};

// Verified, ran, and with a time to compare.
inline bool is_usable(const TuningRecord& r) { return r.result.ok() && r.verified; }

}  // namespace espalier
