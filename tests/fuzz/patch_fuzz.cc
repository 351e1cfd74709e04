// Any bytes are a patch: both parsers and the matcher have to answer, never to fall over.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/text.h"
#include "exec/tools/patch/match.h"
#include "exec/tools/patch/parse/parse.h"

namespace {

constexpr std::string_view kFiles[] = {"", "one\ntwo\nthree\n", "one\r\ntwo\r\n\r\nthree",
                                       "\n\n\none\n\xff\none\n"};

void check_error(const domain::ToolError& error) {
    CHECK(!error.kind.empty() && !error.message.empty() && !error.retryable,
          "an error has a kind and a message");
    CHECK(base::is_utf8(error.message) && base::is_utf8(json::serialize(error.details.value())),
          "an error is valid UTF-8");
}

void check(const patch::Outcome<patch::Parsed>& parsed) {
    if (!parsed) return check_error(parsed.error());
    for (const auto& file : parsed->files) {
        CHECK(!file.path.empty(), "a file patch has a path");
        if (file.action == patch::Action::Add) patch::new_content(file.hunks);
        for (const auto bytes : kFiles) {
            const auto changed = patch::apply_hunks(bytes, file.hunks, file.path);
            if (!changed) check_error(changed.error());
            if (file.hunks.empty()) CHECK(changed == bytes, "no hunk, no change");
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check(patch::parse_unified(text));
    check(patch::parse_freeform(text));
    check(patch::parse(text, patch::Format::UnifiedDiff));
    return 0;
}
