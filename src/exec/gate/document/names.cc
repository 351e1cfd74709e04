// The names in a document: ids, digests and paths.
#include <algorithm>

#include "base/text.h"
#include "exec/gate/document/document.h"

namespace gate {

namespace {

constexpr std::size_t kRequestIdCharsMax = 140;
constexpr std::size_t kPathBytesMax = 1024;

bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

}  // namespace

std::string result_id(base::Time created, std::string_view request_id) {
    std::string stamp = base::to_text(created).substr(0, 19);  // 2031-01-02T03:04:05
    std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
    stamp[8] = '-';
    return fmt::format("TS-{}Z-{}", stamp, request_id);
}

bool is_request_id(std::string_view text) {
    return text.starts_with("TR-") && text.size() > 3 && text.size() <= kRequestIdCharsMax &&
           std::ranges::all_of(text, is_name_char);
}

bool is_sha256(std::string_view text) {
    return text.size() == 64 && std::ranges::all_of(text, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

bool is_artifact_path(std::string_view path) {
    if (path.empty() || path.size() > kPathBytesMax || !base::is_utf8(path)) return false;
    if (std::ranges::any_of(path, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
        return false;
    while (true) {
        const auto slash = path.find('/');
        const auto part = path.substr(0, slash);
        if (part.empty() || part == "." || part == "..") return false;
        if (slash == path.npos) return true;
        path.remove_prefix(slash + 1);
    }
}

}  // namespace gate
