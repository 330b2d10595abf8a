#include "espalier/support/json.h"

// The parser is built without exceptions here, while a host may use the same library with them. An
// inline namespace of our own keeps the linker from merging the two.
#define JSON_NOEXCEPTION 1
#define NLOHMANN_JSON_NAMESPACE nlohmann::espalier_abi
#define NLOHMANN_JSON_NAMESPACE_BEGIN \
  namespace nlohmann {                \
  inline namespace espalier_abi {
#define NLOHMANN_JSON_NAMESPACE_END \
  }                                 \
  }
#include <nlohmann/json.hpp>

#include "espalier/support/number.h"

namespace espalier {
namespace {

// Builds a Json from the parser's events; returning false stops the parser.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return value <= INT64_MAX ? add(Json(value)) : add(Json(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    // The parser went through the locale's strtod; the text has the locale's point.
    std::string plain = text;
    for (char& c : plain) {
      if ((c < '0' || c > '9') && c != '-' && c != '+' && c != 'e' && c != 'E') c = '.';
    }
    return add(Json(parse_double(plain).value_or(value)));
  }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t&) override { return fail("binary data is not JSON"); }
  bool start_object(size_t) override { return open(false); }
  bool key(string_t& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool end_object() override {
    Json value(std::move(open_.back().members));
    open_.pop_back();
    return add(std::move(value));
  }
  bool start_array(size_t) override { return open(true); }
  bool end_array() override {
    Json value(std::move(open_.back().items));
    open_.pop_back();
    return add(std::move(value));
  }
  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& exception) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: …": the first bracket is
    // not for people.
    std::string_view text = exception.what();
    if (size_t end = text.find("] "); end != std::string_view::npos) text.remove_prefix(end + 2);
    // It quotes what was read, however long that is.
    constexpr size_t kMaxLength = 200;
    const bool cut = text.size() > kMaxLength;
    return fail(detail::concat("malformed JSON at byte ", position, ": ",
                               text.substr(0, kMaxLength), cut ? "..." : ""));
  }

  Result<Json> take() {
    if (error_) return *std::move(error_);
    return std::move(root_);
  }

 private:
  struct Open {
    bool is_array;
    Json::Array items;
    Json::Object members;
    std::string key;
  };

  bool fail(std::string message) {
    error_ = Error{ErrorCode::Parse, std::move(message)};
    return false;
  }
  bool open(bool is_array) {
    if (open_.size() >= kMaxJsonDepth) {
      return fail(detail::concat("JSON is nested deeper than ", kMaxJsonDepth, " levels"));
    }
    open_.push_back({is_array, {}, {}, {}});
    return true;
  }
  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Open& parent = open_.back(); parent.is_array) {
      parent.items.push_back(std::move(value));
    } else {
      parent.members.emplace_back(std::move(parent.key), std::move(value));
    }
    return true;
  }

  Json root_;
  std::vector<Open> open_;
  std::optional<Error> error_;
};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  Builder builder;
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace espalier
