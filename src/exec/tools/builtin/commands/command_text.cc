#include "exec/tools/builtin/commands/command_text.h"

#include <re2/re2.h>

#include "base/text.h"

namespace builtin {
namespace {

// Bearer and basic credentials, then name=value and --name value, then user info in URLs.
const RE2& header_secret() {
    static const RE2 pattern(R"((?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,})");
    return pattern;
}
// The value is a shell word: quoted and bare parts joined. One whose quote stays open ends with the
// text, as the text may have been cut there.
const RE2& named_secret() {
    static const std::string name =
        R"(([\w-]*(?:token|secret|passwd|password|api[_-]?key|credential|private[_-]?key)[\w-]*))";
    static const std::string separator = R"((\\?["']?\s*[=:]\s*|\s+))";
    static const std::string quoted = R"("(?:\\.|[^"\\])*"|'[^']*')";
    static const std::string open = R"("(?:\\.|[^"\\])*\\?$|'[^']*$)";
    static const std::string bare = R"(\\.|[^\s"';|&\\])";
    static const RE2 pattern("(?i)" + name + separator + "(?:" + quoted + "|" + open + "|" + bare +
                             ")(?:" + quoted + "|" + bare + ")*");
    return pattern;
}
const RE2& url_user() {
    static const RE2 pattern(R"(([a-zA-Z][a-zA-Z0-9+.-]*://)[^/\s"']+@)");
    return pattern;
}

}  // namespace

bool contains_heredoc(std::string_view cmd) {
    return cmd.find("<<") != std::string_view::npos;
}

bool contains_inline_script(std::string_view cmd) {
    static const RE2 pattern(
        R"((^|[\s;&|(/])((python3?|node|ruby|perl)\s+-(\s|$)|(ba|z)?sh\s+-l?c\s))");
    return RE2::PartialMatch(re2::StringPiece(cmd.data(), cmd.size()), pattern);
}

std::string command_preview(std::string_view cmd) {
    if (contains_heredoc(cmd) || contains_inline_script(cmd))
        return fmt::format("[command with an inline script, {} characters]", base::char_count(cmd));
    // Cut before masking, so that a megabyte of command costs no megabyte of matching, and leave
    // room for what the masks add.
    std::string text =
        base::collapse_whitespace(base::first_chars(cmd, kCommandPreviewCharsMax * 4));
    RE2::GlobalReplace(&text, header_secret(), R"(\1 ***)");
    RE2::GlobalReplace(&text, named_secret(), R"(\1\2***)");
    RE2::GlobalReplace(&text, url_user(), R"(\1***@)");
    return base::ellipsize(base::printable(text), kCommandPreviewCharsMax);
}

}  // namespace builtin
