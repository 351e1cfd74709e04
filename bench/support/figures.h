// The output format of a measurement: lines "name value unit target verdict" on standard output.
// Lines that start with '#' explain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bench {

// The value below which `part` (0 to 1) of `values` lie; `values` is not empty.
double percentile(std::vector<double> values, double part);

inline double median(std::vector<double> values) {
    return percentile(std::move(values), 0.5);
}

// At most or at least so much, or no target at all.
struct Target {
    enum class Kind { None, AtMost, AtLeast };
    Kind kind{Kind::None};
    double bound{0};
};

inline constexpr Target kNoTarget{};
constexpr Target at_most(double bound) {
    return {Target::Kind::AtMost, bound};
}
constexpr Target at_least(double bound) {
    return {Target::Kind::AtLeast, bound};
}

// Prints one line and sends it off; the verdict is "met", "MISSED" or "-".
void figure(std::string_view name, double value, std::string_view unit, Target target = kNoTarget);

void note(const std::string& text);

}  // namespace bench
