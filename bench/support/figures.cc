#include "bench/support/figures.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

namespace bench {
namespace {

bool is_met(double value, Target target) {
    return target.kind == Target::Kind::AtMost ? value <= target.bound : value >= target.bound;
}

}  // namespace

double percentile(std::vector<double> values, double part) {
    const auto last = static_cast<double>(values.size() - 1);
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(last * part + 0.5);
    std::ranges::nth_element(values, at);
    return *at;
}

void figure(std::string_view name, double value, std::string_view unit, Target target) {
    std::string bound = "-", verdict = "-";
    if (target.kind != Target::Kind::None) {
        bound =
            fmt::format("{}{:g}", target.kind == Target::Kind::AtMost ? "<=" : ">=", target.bound);
        verdict = is_met(value, target) ? "met" : "MISSED";
    }
    fmt::print("{} {:.2f} {} {} {}\n", name, value, unit, bound, verdict);
    std::fflush(stdout);
}

void note(const std::string& text) {
    fmt::print("# {}\n", text);
    std::fflush(stdout);
}

}  // namespace bench
