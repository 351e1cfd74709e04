#include "service/local/webhooks/sealed.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <memory>
#include <optional>

#include "base/hash.h"

namespace service {
namespace {

constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

Cipher new_cipher() {
    Cipher cipher(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
    CHECK(cipher != nullptr, "a cipher can be made");
    return cipher;
}

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

std::string to_hex(std::string_view bytes) {
    std::string hex;
    for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return hex;
}

std::optional<int> digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return std::nullopt;
}

std::optional<std::string> from_hex(std::string_view hex) {
    if (hex.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    for (std::size_t at = 0; at < hex.size(); at += 2) {
        const auto high = digit(hex[at]);
        const auto low = digit(hex[at + 1]);
        if (!high || !low) return std::nullopt;
        bytes += static_cast<char>(*high * 16 + *low);
    }
    return bytes;
}

std::string key_bytes(std::string_view key) {
    return *from_hex(base::hmac_sha256_hex(key, "sealed-secrets"));
}

}  // namespace

std::string seal(std::string_view key, std::string_view name, std::string_view secret) {
    std::string nonce(kNonceBytes, '\0');
    CHECK(RAND_bytes(bytes_of(nonce), kNonceBytes) == 1, "the system has randomness");
    const std::string with = key_bytes(key);
    const Cipher cipher = new_cipher();
    std::string text(secret.size(), '\0');
    std::string tag(kTagBytes, '\0');
    int size = 0;
    const bool is_made =
        EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(with),
                           bytes_of(nonce)) == 1 &&
        EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(name),
                          static_cast<int>(name.size())) == 1 &&
        EVP_EncryptUpdate(cipher.get(), bytes_of(text), &size, bytes_of(secret),
                          static_cast<int>(secret.size())) == 1 &&
        EVP_EncryptFinal_ex(cipher.get(), bytes_of(tag), &size) == 1 &&
        EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) == 1;
    CHECK(is_made, "AES-256-GCM encrypts");
    return to_hex(nonce + tag + text);
}

base::Result<std::string> unseal(std::string_view key, std::string_view name,
                                 std::string_view sealed) {
    const auto damaged = [] {
        return base::fail(base::ErrorCode::Corrupt,
                          "a stored secret cannot be decrypted: it was changed, or the key of this "
                          "home (trigger.key) was replaced");
    };
    const auto bytes = from_hex(sealed);
    if (!bytes || bytes->size() < kNonceBytes + kTagBytes) return damaged();
    const std::string nonce = bytes->substr(0, kNonceBytes);
    std::string tag = bytes->substr(kNonceBytes, kTagBytes);
    const std::string text = bytes->substr(kNonceBytes + kTagBytes);
    const std::string with = key_bytes(key);
    const Cipher cipher = new_cipher();
    std::string secret(text.size(), '\0');
    std::array<unsigned char, kTagBytes> rest{};
    int size = 0;
    const bool is_right =
        EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(with),
                           bytes_of(nonce)) == 1 &&
        EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(name),
                          static_cast<int>(name.size())) == 1 &&
        EVP_DecryptUpdate(cipher.get(), bytes_of(secret), &size, bytes_of(text),
                          static_cast<int>(text.size())) == 1 &&
        EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
        EVP_DecryptFinal_ex(cipher.get(), rest.data(), &size) == 1;
    if (!is_right) return damaged();
    return secret;
}

}  // namespace service
