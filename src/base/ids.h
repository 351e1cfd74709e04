// Identity: distinct id types over text, and the source of fresh ones.
#pragma once

#include <compare>
#include <mutex>
#include <random>
#include <string>

#include "base/time.h"

namespace base {

// An id that cannot be mistaken for another kind of id. Tag is an incomplete type.
template <class Tag>
struct Id {
    std::string value;
    bool empty() const { return value.empty(); }
    friend bool operator==(const Id&, const Id&) = default;
    friend auto operator<=>(const Id&, const Id&) = default;
};

template <class Tag>
std::string to_text(const Id<Tag>& id) {
    return id.value;
}

// Where fresh ids come from. Passed in, so that a simulated run has the same ids every time.
class Ids {
public:
    virtual ~Ids() = default;
    // 128 random bits as 32 lower-case hex digits.
    virtual std::string hex32() = 0;
    // A UUID (version 7) in its usual spelling; later ones sort after earlier ones.
    virtual std::string uuid() = 0;
    // A number below `bound`, for jitter.
    virtual std::uint64_t below(std::uint64_t bound) = 0;

    template <class T>
    T fresh() {
        return T{uuid()};
    }
};

// Any thread may use one. Seeded from the system unless a seed is given.
class RandomIds final : public Ids {
public:
    explicit RandomIds(Clock& clock);
    RandomIds(Clock& clock, std::uint64_t seed);
    std::string hex32() override;
    std::string uuid() override;
    std::uint64_t below(std::uint64_t bound) override;

private:
    Clock& clock_;
    std::mutex mutex_;
    std::mt19937_64 random_;
    std::uint64_t last_stamp_{0};  // 48-bit milliseconds and a 12-bit counter within them.
};

}  // namespace base

template <class Tag>
struct fmt::formatter<base::Id<Tag>> : fmt::formatter<std::string_view> {
    auto format(const base::Id<Tag>& id, fmt::format_context& context) const {
        return fmt::formatter<std::string_view>::format(id.value, context);
    }
};
