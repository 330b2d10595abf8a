#include "espalier/runtime/result_check.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "espalier/ir/scalar_ops.h"
#include "espalier/support/check.h"
#include "espalier/support/number.h"

namespace espalier {
namespace {

struct Worst {
  double excess = -1;  // error over bound; -1: none
  int64_t at = -1;
  int64_t failures = 0;

  void count(double excess_here, int64_t i) {
    ++failures;
    if (excess_here > excess) {
      excess = excess_here;
      at = i;
    }
  }
};

// How far off in units of the bound, above 1 is wrong; only called when |got - expected| <= bound
// does not hold.
double excess_of(double expected, double got, double bound, double threshold) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(expected) && std::isnan(got)) return 0;
  if (bound == kWrong) return 0;
  if (std::isnan(expected) || std::isnan(got)) return kWrong;
  if (got == expected) return 0;  // infinities
  if (std::isinf(got)) {
    const double reach = std::copysign(1.0, got) * expected + bound;
    return reach >= threshold ? 0 : kWrong;
  }
  return bound > 0 ? std::fabs(got - expected) / bound : kWrong;
}

template <class Load>
void check_floats(const ExpectedOutput& output, int64_t n, const Load& load, Worst& worst,
                  CheckResult& result) {
  const auto* expected = static_cast<const double*>(output.value);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double threshold = overflow_threshold(output.dtype);
  for (int64_t i = 0; i < n; ++i) {
    const double got = load(i);
    const double error = std::fabs(got - expected[i]);
    if (error > result.max_error && error < kInfinity) result.max_error = error;
    result.unchecked += output.bound[i] == kInfinity;
    if (error <= output.bound[i]) [[likely]] {
      continue;
    }
    const double excess = excess_of(expected[i], got, output.bound[i], threshold);
    if (excess > 1) worst.count(excess, i);
  }
}

std::string element_text(DType dtype, const void* data, int64_t i) {
  const ScalarBits bits =
      load_scalar(dtype, static_cast<const std::byte*>(data) + i * bytes_of(dtype));
  if (is_float(dtype)) return format_double(double_from_bits(dtype, bits));
  if (dtype == DType::U64) return std::to_string(bits);
  return std::to_string(int_from_bits(dtype, bits));
}

void check_integers(const ExpectedOutput& output, const ArrayView& got, int64_t n, Worst& worst) {
  const DType dtype = output.dtype;
  const int64_t width = bytes_of(dtype);
  const auto* a = static_cast<const std::byte*>(output.value);
  const auto* b = static_cast<const std::byte*>(got.data);
  for (int64_t i = 0; i < n; ++i, a += width, b += width) {
    if (memcmp(a, b, static_cast<size_t>(width)) == 0) [[likely]] {
      continue;
    }
    const double error = std::fabs(double_from_bits(dtype, load_scalar(dtype, a)) -
                                   double_from_bits(dtype, load_scalar(dtype, b)));
    const double bound = output.bound[i];
    if (bound > 0 && error <= bound) continue;
    worst.count(bound > 0 ? error / bound : std::numeric_limits<double>::infinity(), i);
  }
}

Worst check_output(const ExpectedOutput& output, const ArrayView& got, CheckResult& result) {
  Worst worst;
  const int64_t n = got.elements();
  if (!is_float(output.dtype)) {
    check_integers(output, got, n, worst);
  } else if (output.dtype == DType::F32) {
    const auto* at = static_cast<const float*>(got.data);
    check_floats(output, n, [at](int64_t i) { return static_cast<double>(at[i]); }, worst, result);
  } else {
    const DType dtype = output.dtype;
    const auto* at = static_cast<const std::byte*>(got.data);
    const int64_t width = bytes_of(dtype);
    check_floats(
        output, n,
        [=](int64_t i) { return double_from_bits(dtype, load_scalar(dtype, at + i * width)); },
        worst, result);
  }
  return worst;
}

void describe(const ExpectedOutput& output, const ArrayView& got, const Worst& worst,
              CheckResult& result) {
  const DType value_type = is_float(output.dtype) ? DType::F64 : output.dtype;
  result.ok = false;
  result.output = output.name;
  int64_t flat = worst.at;
  result.index.resize(output.shape.size());
  for (size_t d = output.shape.size(); d-- > 0;) {
    result.index[d] = flat % output.shape[d];
    flat /= output.shape[d];
  }
  const std::string expected_text = element_text(value_type, output.value, worst.at);
  const std::string got_text = element_text(output.dtype, got.data, worst.at);
  result.expected = parse_double(expected_text).value_or(0);
  result.got = parse_double(got_text).value_or(0);
  result.bound = output.bound[worst.at];
  result.message = "element " + shape_to_string(result.index) + " of output '" + output.name +
                   "' is " + got_text + " where " + expected_text + " is expected";
  if (result.bound > 0) result.message += " (at most " + format_double(result.bound) + " off)";
  if (worst.failures > 1) {
    result.message += "; " + std::to_string(worst.failures) + " of " +
                      std::to_string(got.elements()) + " elements are wrong";
  }
}

}  // namespace

CheckResult check_outputs(std::span<const ExpectedOutput> expected,
                          std::span<const ArrayView> outputs) {
  ESP_CHECK(expected.size() == outputs.size());
  CheckResult result;
  double worst_excess = -1;
  for (size_t o = 0; o < outputs.size(); ++o) {
    ESP_CHECK(outputs[o].dtype == expected[o].dtype && outputs[o].shape == expected[o].shape);
    const Worst worst = check_output(expected[o], outputs[o], result);
    if (worst.failures > 0 && (result.ok || worst.excess > worst_excess)) {
      worst_excess = worst.excess;
      describe(expected[o], outputs[o], worst, result);
    }
  }
  return result;
}

}  // namespace espalier
