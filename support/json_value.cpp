#include <cmath>

#include "espalier/support/json.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

const char* name_of(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::Null: return "null";
    case Json::Kind::Bool: return "a boolean";
    case Json::Kind::Integer: return "an integer";
    case Json::Kind::Double: return "a number";
    case Json::Kind::String: return "a string";
    case Json::Kind::Array: return "an array";
    case Json::Kind::Object: return "an object";
  }
  ESP_UNREACHABLE("JSON kind ", static_cast<int>(kind));
}

Error unexpected(const char* expected, const Json& value) {
  return make_error(ErrorCode::Parse, "expected ", expected, ", got ", name_of(value.kind()));
}

template <class T>
Result<std::vector<T>> as_list(const Json& value, Result<T> (Json::*element)() const) {
  if (!value.is_array()) return unexpected("an array", value);
  std::vector<T> list;
  list.reserve(value.size());
  for (const Json& item : value.items()) {
    ESP_TRY(list.emplace_back(), (item.*element)());
  }
  return list;
}

template <class T>
Result<T> member_as(const Json& object, std::string_view key, Result<T> (Json::*convert)() const) {
  const Json* member = object.find(key);
  if (member == nullptr) {
    if (!object.is_object()) return unexpected("an object", object);
    return make_error(ErrorCode::NotFound, "no member \"", key, "\"");
  }
  Result<T> value = (member->*convert)();
  if (!value.ok()) {
    return make_error(value.error().code, "member \"", key, "\": ", value.error().message);
  }
  return value;
}

template <class T>
T member_or(const Json& object, std::string_view key, Result<T> (Json::*convert)() const,
            T otherwise) {
  const Json* member = object.find(key);
  return member == nullptr ? otherwise : (member->*convert)().value_or(std::move(otherwise));
}

// Length of the well-formed UTF-8 sequence at the start of the text, or 0.
size_t utf8_length(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                                       : 4;
  if (length == 0 || first > 0xf4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90)) {
    return 0;
  }
  return length;
}

void dump_string(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const auto c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (length > 1) {
      out += text.substr(0, length);
    } else if (c == '"' || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c < 32) {
      out += {'\\', 'u', '0', '0', "0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]};
    } else {
      out += static_cast<char>(c);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

void dump_double(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const std::string text = format_double(value);
  out += text;
  // "3" would read back as an integer.
  if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

// indent < 0: on one line.
void dump_value(const Json& value, int indent, std::string& out) {
  auto new_line = [&](size_t by) {
    if (indent >= 0) out.append(1, '\n').append(static_cast<size_t>(indent) + by, ' ');
  };
  const int inner = indent < 0 ? indent : indent + 2;
  const char* separator = indent < 0 ? ", " : ",";
  switch (value.kind()) {
    case Json::Kind::Null: out += "null"; return;
    case Json::Kind::Bool: out += value.as_bool().value() ? "true" : "false"; return;
    case Json::Kind::Integer: out += std::to_string(value.as_int().value()); return;
    case Json::Kind::Double: dump_double(value.as_double().value(), out); return;
    case Json::Kind::String: dump_string(value.as_string().value(), out); return;
    case Json::Kind::Array: {
      out += '[';
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out += separator;
        new_line(2);
        dump_value(value.items()[i], inner, out);
      }
      if (value.size() > 0) new_line(0);
      out += ']';
      return;
    }
    case Json::Kind::Object: {
      out += '{';
      for (size_t i = 0; i < value.size(); ++i) {
        if (i > 0) out += separator;
        new_line(2);
        dump_string(value.members()[i].first, out);
        out += ": ";
        dump_value(value.members()[i].second, inner, out);
      }
      if (value.size() > 0) new_line(0);
      out += '}';
      return;
    }
  }
}

}  // namespace

Result<bool> Json::as_bool() const {
  if (const bool* value = std::get_if<bool>(&value_)) return *value;
  return unexpected("a boolean", *this);
}

Result<int64_t> Json::as_int() const {
  if (const int64_t* value = std::get_if<int64_t>(&value_)) return *value;
  if (const double* value = std::get_if<double>(&value_)) {
    if (*value >= -0x1p63 && *value < 0x1p63 && *value == std::trunc(*value)) {
      return static_cast<int64_t>(*value);
    }
    return make_error(ErrorCode::Parse, "expected an integer, got ", format_double(*value));
  }
  return unexpected("an integer", *this);
}

Result<double> Json::as_double() const {
  if (const double* value = std::get_if<double>(&value_)) return *value;
  if (const int64_t* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  return unexpected("a number", *this);
}

Result<std::string> Json::as_string() const {
  if (const std::string* value = std::get_if<std::string>(&value_)) return *value;
  return unexpected("a string", *this);
}

Result<std::vector<int64_t>> Json::as_ints() const { return as_list(*this, &Json::as_int); }
Result<std::vector<double>> Json::as_doubles() const { return as_list(*this, &Json::as_double); }
Result<std::vector<std::string>> Json::as_strings() const {
  return as_list(*this, &Json::as_string);
}

const Json* Json::find(std::string_view key) const {
  const Object& object = members();
  for (size_t i = object.size(); i-- > 0;) {
    if (object[i].first == key) return &object[i].second;
  }
  return nullptr;
}

Result<Json> Json::get(std::string_view key) const {
  if (const Json* member = find(key)) return *member;
  if (!is_object()) return unexpected("an object", *this);
  return make_error(ErrorCode::NotFound, "no member \"", key, "\"");
}
Result<bool> Json::get_bool(std::string_view key) const {
  return member_as(*this, key, &Json::as_bool);
}
Result<int64_t> Json::get_int(std::string_view key) const {
  return member_as(*this, key, &Json::as_int);
}
Result<double> Json::get_double(std::string_view key) const {
  return member_as(*this, key, &Json::as_double);
}
Result<std::string> Json::get_string(std::string_view key) const {
  return member_as(*this, key, &Json::as_string);
}
Result<std::vector<int64_t>> Json::get_ints(std::string_view key) const {
  return member_as(*this, key, &Json::as_ints);
}
Result<std::vector<double>> Json::get_doubles(std::string_view key) const {
  return member_as(*this, key, &Json::as_doubles);
}
Result<std::vector<std::string>> Json::get_strings(std::string_view key) const {
  return member_as(*this, key, &Json::as_strings);
}

bool Json::bool_or(std::string_view key, bool otherwise) const {
  return member_or(*this, key, &Json::as_bool, otherwise);
}
int64_t Json::int_or(std::string_view key, int64_t otherwise) const {
  return member_or(*this, key, &Json::as_int, otherwise);
}
double Json::double_or(std::string_view key, double otherwise) const {
  return member_or(*this, key, &Json::as_double, otherwise);
}
std::string Json::string_or(std::string_view key, std::string_view otherwise) const {
  return member_or(*this, key, &Json::as_string, std::string(otherwise));
}

const Json::Array& Json::items() const {
  static const Array kEmpty;
  const Array* array = std::get_if<Array>(&value_);
  return array != nullptr ? *array : kEmpty;
}

const Json::Object& Json::members() const {
  static const Object kEmpty;
  const Object* object = std::get_if<Object>(&value_);
  return object != nullptr ? *object : kEmpty;
}

const Json& Json::operator[](size_t i) const {
  ESP_CHECK(i < items().size(), "element ", i, " of ", name_of(kind()), " with ", items().size());
  return items()[i];
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = Object();
  Object* object = std::get_if<Object>(&value_);
  ESP_CHECK(object != nullptr, "member \"", key, "\" of ", name_of(kind()));
  for (Member& member : *object) {
    if (member.first == key) {
      member.second = std::move(value);
      return *this;
    }
  }
  object->emplace_back(key, std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) value_ = Array();
  Array* array = std::get_if<Array>(&value_);
  ESP_CHECK(array != nullptr, "element of ", name_of(kind()));
  array->push_back(std::move(value));
  return *this;
}

std::string Json::dump() const {
  std::string out;
  dump_value(*this, -1, out);
  return out;
}

std::string Json::dump_pretty() const {
  std::string out;
  dump_value(*this, 0, out);
  return out;
}

}  // namespace espalier
