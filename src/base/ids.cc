#include "base/ids.h"

#include <algorithm>

namespace base {
namespace {

std::mt19937_64 seeded_by_system() {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device(),
                       device(), device(), device(), device()};
    return std::mt19937_64(seed);
}

}  // namespace

RandomIds::RandomIds(Clock& clock) : clock_(clock), random_(seeded_by_system()) {}
RandomIds::RandomIds(Clock& clock, std::uint64_t seed) : clock_(clock), random_(seed) {}

std::string RandomIds::hex32() {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t high = random_(), low = random_();
    return fmt::format("{:016x}{:016x}", high, low);
}

std::string RandomIds::uuid() {
    const std::scoped_lock lock(mutex_);
    const auto millis = static_cast<std::uint64_t>(to_micros(clock_.now()) / 1000);
    // The counter borrows from the next millisecond when one is full, so order always holds.
    last_stamp_ = std::max(millis << 12U, last_stamp_ + 1);
    const std::uint64_t tail = random_();
    return fmt::format("{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}", last_stamp_ >> 28U,
                       (last_stamp_ >> 12U) & 0xffffU, last_stamp_ & 0xfffU,
                       0x8000U | ((tail >> 48U) & 0x3fffU), tail & 0xffffffffffffU);
}

std::uint64_t RandomIds::below(std::uint64_t bound) {
    const std::scoped_lock lock(mutex_);
    return bound == 0 ? 0 : random_() % bound;
}

}  // namespace base
