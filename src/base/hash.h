// SHA-256, whole and in pieces, and keyed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace base {

// The digest of `bytes` as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

// HMAC-SHA-256 of `bytes` under `key`, as 64 lower-case hex digits.
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

// Takes as long for a wrong guess as for a right one of the same length.
bool equal_in_constant_time(std::string_view left, std::string_view right);

class Sha256 {
public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;
    void add(std::string_view bytes);
    // The digest so far. Nothing may be added afterwards.
    std::string finish_hex();

private:
    struct Context;
    std::unique_ptr<Context> context_;
};

}  // namespace base
