#include "espalier/search/database.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "espalier/support/fd.h"

namespace espalier {
namespace {

constexpr size_t kMaxFileBytes = size_t{8} << 30;
constexpr int kMaxWarnings = 5;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Finds out now, not after an hour of measuring, that a record cannot be written. An empty write is
// refused by a full device; asking for room is refused by a full disk.
Result<void> check_appendable(const std::string& path) {
  const int raw = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (raw < 0) {
    Error error = system_error(errno, "append records to", path);
    if (error.code == ErrorCode::NotFound) {
      error.message += "; its folder must exist: make it, or name another file";
    }
    return error;
  }
  UniqueFd fd(raw);
  if (write(fd.get(), "", 0) < 0) return system_error(errno, "append records to", path);
#if defined(FALLOC_FL_KEEP_SIZE)
  struct stat info{};
  if (fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) &&
      fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, info.st_size, 1 << 16) < 0 &&
      (errno == ENOSPC || errno == EDQUOT)) {
    return system_error(errno, "append records to", path);
  }
#endif
  return {};
}

}  // namespace

Result<Database> Database::open(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return system_error(errno, "read the records", path);
  if (!S_ISREG(info.st_mode)) {
    return make_error(ErrorCode::InvalidArgument, "cannot read the records '", path,
                      "': expected a file, it is a ", S_ISDIR(info.st_mode) ? "folder" : "device");
  }
  Database db;
  ESP_TRY_VOID(db.read(path));
  db.path_ = path;
  return db;
}

Result<Database> Database::open_for_append(const std::string& path) {
  struct stat info{};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return make_error(ErrorCode::InvalidArgument, "cannot append records to '", path,
                      "': it is a folder; name a file in it");
  }
  // Looked at before anything is made or written: a foreign file stays as it is.
  Database db;
  if (exists && S_ISREG(info.st_mode)) ESP_TRY_VOID(db.read(path));
  ESP_TRY_VOID(check_appendable(path));
  db.path_ = path;
  return db;
}

Result<void> Database::read(const std::string& path) {
  ESP_TRY(const std::string text, read_file(path, kMaxFileBytes));
  int number = 0, bad = 0;
  std::string first_bad;
  for (size_t at = 0; at < text.size();) {
    ++number;
    const size_t end = text.find('\n', at);
    const bool torn = end == std::string::npos;
    const std::string_view line =
        std::string_view(text).substr(at, torn ? std::string_view::npos : end - at);
    at = torn ? text.size() : end + 1;
    if (is_blank(line) || line.front() == '#') continue;
    Result<TuningRecord> record = parse_record(line);
    if (record.ok()) {
      keep(std::move(*record), number);
      continue;
    }
    if (record.error().code == ErrorCode::Unsupported) {
      return with_note(std::move(record).error(), "in line ", number, " of '", path, "'");
    }
    ++bad;
    if (first_bad.empty()) first_bad = record.error().message;
    if (torn) {
      warnings_.push_back(detail::concat(path, ": the last line (", number,
                                         ") is not complete, its writer was stopped; skipped"));
    } else if (bad <= kMaxWarnings) {
      warnings_.push_back(detail::concat(path, ":", number, ": skipped, ", record.error().message));
    }
  }
  if (bad > kMaxWarnings) {
    warnings_.push_back(detail::concat(path, ": ", bad, " lines are not records"));
  }
  const bool only_torn = bad == 1 && number == 1 && text.back() != '\n' && text.front() == '{';
  if (records_.empty() && bad > 0 && !only_torn) {
    return make_error(ErrorCode::Parse, "'", path,
                      "' holds no tuning records, so it is left as it is: ", first_bad,
                      "; name another file");
  }
  return {};
}

void Database::keep(TuningRecord record, int line) {
  by_dag_[record.run.dag_hash].push_back(records_.size());
  records_.push_back(std::move(record));
  lines_.push_back(line);
}

Result<void> Database::append(TuningRecord record) {
  if (!path_.empty()) ESP_TRY_VOID(append_line(path_, to_json_line(record)));
  keep(std::move(record), 0);
  return {};
}

const std::vector<size_t>& Database::of_dag(uint64_t dag_hash) const {
  static const std::vector<size_t> none;
  const auto it = by_dag_.find(dag_hash);
  return it == by_dag_.end() ? none : it->second;
}

}  // namespace espalier
