// From the command line to a request: the plan, its parameters and what is selected.
#include <unistd.h>

#include <charconv>

#include "base/os/files.h"
#include "base/text.h"
#include "surfaces/cli/plan/call.h"

namespace cli {
namespace {

constexpr std::size_t kDocumentBytesMax = std::size_t{16} * 1024 * 1024;
constexpr std::size_t kSelectedFileBytesMax = std::size_t{64} * 1024 * 1024;

// A value as people type it: JSON where it is, else text.
json::value param_value(const std::string& text) {
    const auto value = base::parse_json(text);
    return value && !value->is_string() ? *value : json::value(json::string(text));
}

base::Result<json::object> selection_of(const PlanSource& source) {
    const std::string& range = *source.selection;
    const std::size_t colon = range.find(':');
    std::size_t start = 0;
    std::size_t end = 0;
    const auto number = [&](std::string_view part, std::size_t& to) {
        return !part.empty() && std::from_chars(part.data(), part.data() + part.size(), to).ptr ==
                                    part.data() + part.size();
    };
    if (colon == std::string::npos || !number(std::string_view(range).substr(0, colon), start) ||
        !number(std::string_view(range).substr(colon + 1), end) || end < start)
        return base::fail(base::ErrorCode::InvalidInput,
                          "--selection must be start:end, counted in characters, got '{}'", range);
    json::object selection{{"start", start}, {"end", end}};
    if (!source.active_file)
        return base::fail(base::ErrorCode::InvalidInput, "--selection needs --active-file");
    const auto file = std::filesystem::path(source.vault.value_or(".")) / *source.active_file;
    const auto content = TRY(base::read_file(file, kSelectedFileBytesMax));
    const std::string text = base::to_utf8(content);
    if (end > base::char_count(text))
        return base::fail(base::ErrorCode::InvalidInput,
                          "{} has {} characters, and --selection ends at {}", *source.active_file,
                          base::char_count(text), end);
    selection["text"] = base::last_chars(base::first_chars(text, end), end - start);
    return selection;
}

}  // namespace

base::Result<std::string> read_input(const Terminal& terminal, const std::string& file) {
    if (file != "-") return base::read_file(file, kDocumentBytesMax);
    std::string text;
    std::array<char, 65536> buffer;
    while (true) {
        const ssize_t got = ::read(terminal.in, buffer.data(), buffer.size());
        if (got < 0) return base::fail_errno("read standard input");
        if (got == 0) return text;
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > kDocumentBytesMax)
            return base::fail(base::ErrorCode::InvalidInput, "standard input is too long");
    }
}

base::Result<service::PlanRequest> request_of(const PlanSource& source, const Terminal& terminal) {
    service::PlanRequest request{.action = source.action, .vault = source.vault};
    if (!source.action) request.text = TRY(read_input(terminal, source.file));
    for (const auto& param : source.params) {
        const std::size_t equals = param.find('=');
        if (equals == std::string::npos || equals == 0)
            return base::fail(base::ErrorCode::InvalidInput, "--param must be name=value, got '{}'",
                              param);
        request.params[param.substr(0, equals)] = param_value(param.substr(equals + 1));
    }
    if (source.policy_file) {
        const auto policy =
            base::parse_json(TRY(base::read_file(*source.policy_file, kDocumentBytesMax)));
        if (!policy || !policy->is_object())
            return base::fail(base::ErrorCode::InvalidInput, "{} is not a policy: {}",
                              base::printable(*source.policy_file),
                              policy ? "it is not a JSON object" : policy.error().message);
        request.policy = policy->get_object();
    }
    if (source.active_file) request.context["activeFilePath"] = *source.active_file;
    if (source.selection) request.context["selection"] = TRY(selection_of(source));
    if (source.cursor) request.context["cursor"] = *source.cursor;
    return request;
}

}  // namespace cli
