#include "base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/result.h"

namespace base {

struct Sha256::Context {
    EVP_MD_CTX* evp;
};

Sha256::Sha256() : context_(new Context{EVP_MD_CTX_new()}) {
    // Fetched once: looking the digest up costs as much as hashing a kilobyte.
    static EVP_MD* const digest = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    CHECK(context_->evp && EVP_DigestInit_ex2(context_->evp, digest, nullptr) == 1,
          "SHA-256 is missing");
}
Sha256::~Sha256() {
    if (context_) EVP_MD_CTX_free(context_->evp);
}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&& other) noexcept {
    std::swap(context_, other.context_);
    return *this;
}

void Sha256::add(std::string_view bytes) {
    EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size());
}

std::string Sha256::finish_hex() {
    unsigned char digest[32];
    unsigned size = 0;
    EVP_DigestFinal_ex(context_->evp, digest, &size);
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string hex(2 * sizeof digest, '0');
    for (std::size_t i = 0; i < sizeof digest; ++i) {
        hex[2 * i] = kDigits[digest[i] >> 4];
        hex[2 * i + 1] = kDigits[digest[i] & 15];
    }
    return hex;
}

std::string sha256_hex(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.finish_hex();
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
    unsigned char digest[32];
    unsigned size = 0;
    const auto* made =
        HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest, &size);
    CHECK(made && size == sizeof digest, "HMAC-SHA-256 is missing");
    std::string hex;
    for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
    return hex;
}

bool equal_in_constant_time(std::string_view left, std::string_view right) {
    return left.size() == right.size() &&
           CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace base
