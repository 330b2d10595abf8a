#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "espalier/support/result.h"

namespace espalier {

/// A JSON value. Objects keep the order in which members were added, so that what is written reads
/// the same each time. Integers and doubles are told apart: 3 is an integer, 3.0 a double, and each
/// is written so.
class Json {
 public:
  enum class Kind { Null, Bool, Integer, Double, String, Array, Object };
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(float value) : value_(static_cast<double>(value)) {}
  /// Unsigned values beyond int64 wrap: write hashes as strings.
  template <class Int>
    requires(std::is_integral_v<Int> && !std::is_same_v<Int, bool>)
  Json(Int value) : value_(static_cast<int64_t>(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(Array items) : value_(std::move(items)) {}
  Json(Object members) : value_(std::move(members)) {}
  template <class T>
  Json(const std::vector<T>& values) : value_(Array(values.begin(), values.end())) {}

  static Json array(std::initializer_list<Json> items = {}) { return Json(Array(items)); }
  /// Json::object({{"trials", 200}, {"policy", "random"}})
  static Json object(std::initializer_list<Member> members = {}) { return Json(Object(members)); }

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  bool is_null() const { return kind() == Kind::Null; }
  bool is_bool() const { return kind() == Kind::Bool; }
  bool is_integer() const { return kind() == Kind::Integer; }
  bool is_number() const { return kind() == Kind::Integer || kind() == Kind::Double; }
  bool is_string() const { return kind() == Kind::String; }
  bool is_array() const { return kind() == Kind::Array; }
  bool is_object() const { return kind() == Kind::Object; }

  /// The value as a C++ type, or an Error that names what was there. A double with an integral
  /// value that fits is an integer too; any integer is a double.
  Result<bool> as_bool() const;
  Result<int64_t> as_int() const;
  Result<double> as_double() const;
  Result<std::string> as_string() const;
  Result<std::vector<int64_t>> as_ints() const;
  Result<std::vector<double>> as_doubles() const;
  Result<std::vector<std::string>> as_strings() const;

  /// The member of an object, or null if there is none (or this is no object). If a key occurs
  /// twice, the last counts.
  const Json* find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  /// The member of an object as a C++ type; the errors name the key.
  Result<Json> get(std::string_view key) const;
  Result<bool> get_bool(std::string_view key) const;
  Result<int64_t> get_int(std::string_view key) const;
  Result<double> get_double(std::string_view key) const;
  Result<std::string> get_string(std::string_view key) const;
  Result<std::vector<int64_t>> get_ints(std::string_view key) const;
  Result<std::vector<double>> get_doubles(std::string_view key) const;
  Result<std::vector<std::string>> get_strings(std::string_view key) const;
  /// The same with a default where the member is absent, null or of another type.
  bool bool_or(std::string_view key, bool otherwise) const;
  int64_t int_or(std::string_view key, int64_t otherwise) const;
  double double_or(std::string_view key, double otherwise) const;
  std::string string_or(std::string_view key, std::string_view otherwise) const;

  /// Elements of an array, members of an object; nothing for other kinds.
  const Array& items() const;
  const Object& members() const;
  size_t size() const { return is_object() ? members().size() : items().size(); }
  /// Checked: the value must be an array and i in range.
  const Json& operator[](size_t i) const;

  /// Sets a member, in place if the key is there, else at the end; null becomes an object. Returns
  /// *this for chaining.
  Json& set(std::string_view key, Json value);
  /// Appends an element; null becomes an array.
  Json& push(Json value);

  /// One line without blanks beyond one after ':' and ','. Doubles are the shortest that read back
  /// the same; NaN and infinities, which JSON lacks, become null. Strings must be UTF-8: bytes that
  /// are not become U+FFFD.
  std::string dump() const;
  /// The same over several lines, indented by two.
  std::string dump_pretty() const;

  /// Equal kinds and values; the order of members matters.
  friend bool operator==(const Json&, const Json&) = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

/// Nesting beyond this is refused, since what reads the value may recurse.
inline constexpr int kMaxJsonDepth = 128;

/// Parses one JSON text (RFC 8259, UTF-8, nothing after it but blanks). Errors give the byte
/// position. Integers beyond int64 become doubles.
Result<Json> parse_json(std::string_view text);

}  // namespace espalier
