#include "base/hash.h"

// The functions of SHA-256 itself, which the library calls old: behind the new ones it reads its
// configuration and sets up its providers first, and that takes longer than the start of this
// program should.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "base/result.h"

namespace base {
namespace {

std::string hex(std::string_view digest) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * digest.size());
    for (const char c : digest) {
        const auto byte = static_cast<unsigned char>(c);
        text += kDigits[byte >> 4];
        text += kDigits[byte & 15];
    }
    return text;
}

}  // namespace

struct Sha256::Context {
    SHA256_CTX state;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
    SHA256_Init(&context_->state);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::add(std::string_view bytes) {
    SHA256_Update(&context_->state, bytes.data(), bytes.size());
}

std::string Sha256::finish_hex() {
    std::string digest(SHA256_DIGEST_LENGTH, '\0');
    SHA256_Final(reinterpret_cast<unsigned char*>(digest.data()), &context_->state);
    return hex(digest);
}

std::string sha256_hex(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.finish_hex();
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
    std::string digest(SHA256_DIGEST_LENGTH, '\0');
    const auto* made = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                            reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                            reinterpret_cast<unsigned char*>(digest.data()), nullptr);
    CHECK(made, "HMAC-SHA-256 is missing");
    return hex(digest);
}

bool equal_in_constant_time(std::string_view left, std::string_view right) {
    return left.size() == right.size() &&
           CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace base
