#include "config/stored.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/os/files.h"
#include "base/text.h"
#include "config/config.h"
#include "config/sections/sandbox.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

constexpr mode_t kFileMode = 0600;
constexpr mode_t kHomeMode = 0700;
bool is_provider_id(std::string_view id) {
    return !id.empty() && std::ranges::all_of(id, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    });
}

Status check_base_url(std::string_view url, const std::string& place) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (!url.starts_with(scheme)) continue;
        const std::string_view host =
            url.substr(scheme.size(), url.find('/', scheme.size()) - scheme.size());
        if (host.contains('@'))
            return fail(ErrorCode::InvalidInput,
                        "{}/base_url: must not hold a user or password; use auth", place);
        if (!host.empty()) return {};
    }
    return fail(ErrorCode::InvalidInput, "{}/base_url: must be an http or https URL, got '{}'",
                place, base::printable(url.substr(0, 200)));
}

bool is_header_name(std::string_view name) {
    constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
    return !name.empty() && std::ranges::all_of(name, [&](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || kMarks.contains(c);
    });
}

// The name under which an API offers the model's own search; none where it has none.
std::string_view search_type(Transport transport) {
    switch (transport) {
        case Transport::OpenaiResponses:
            return "web_search_preview";
        case Transport::OpenaiCodexResponses:
            return "web_search";
        case Transport::AnthropicMessages:
            return "web_search_20250305";
        case Transport::OpenaiChatCompletions:
        case Transport::Scripted:
            return "";
    }
    return "";
}

Status check_search(const json::object& search, Transport transport, const std::string& place) {
    const auto refuse = [&](std::string_view what) {
        return fail(ErrorCode::InvalidInput, "{}/builtin_web_search: {}", place, what);
    };
    const auto expected = search_type(transport);
    for (const auto& [name, value] : search) {
        if (name == "enabled" ? !value.is_bool() : !value.is_string())
            return refuse("enabled is true or false, and the other members are texts");
        if (name == "advertised_tool_type" && !expected.empty() && value.get_string() != expected)
            return refuse(
                fmt::format("advertised_tool_type must be {} with this transport", expected));
    }
    return {};
}

Status check_adaptation(const ProviderSection& section, Transport transport,
                        const std::string& place) {
    for (const auto& [name, value] : section.headers.value_or(Environment{})) {
        if (!is_header_name(name))
            return fail(ErrorCode::InvalidInput, "{}/headers: '{}' is not the name of a header",
                        place, base::printable(name.substr(0, 80)));
        if (value.find_first_of("\r\n") != std::string::npos || value.contains('\0'))
            return fail(ErrorCode::InvalidInput, "{}/headers/{}: must be one line", place, name);
    }
    if (section.keeps_state.value_or(false) && transport != Transport::OpenaiResponses)
        return fail(ErrorCode::InvalidInput,
                    "{}/keeps_state: only the transport openai_responses can continue a stored "
                    "conversation",
                    place);
    if (section.builtin_web_search)
        TRY(check_search(*section.builtin_web_search, transport, place));
    for (const auto& [name, value] :
         {std::pair("first_byte_timeout_ms", section.first_byte_timeout_ms),
          std::pair("idle_timeout_ms", section.idle_timeout_ms)})
        if (value && *value <= 0)
            return fail(ErrorCode::InvalidInput, "{}/{}: must be above 0, got {}", place, name,
                        *value);
    return {};
}

Status check_provider(const std::string& id, const ProviderSection& section) {
    const std::string place = base::typed::child_pointer("/providers", id);
    if (!is_provider_id(id))
        return fail(ErrorCode::InvalidInput,
                    "{}: a provider is named with a-z, 0-9, '-' and '_' only", place);
    const auto transport = base::enum_from<Transport>(section.transport);
    if (!transport)
        return fail(ErrorCode::InvalidInput,
                    "{}/transport: the transport contract '{}' is not supported; use one of {}",
                    place, base::printable(section.transport),
                    fmt::join(base::typed::type_of<Transport>().names, ", "));
    if (*transport != Transport::Scripted) TRY(check_base_url(section.base_url, place));
    if (!section.stream.value_or(true) && *transport == Transport::OpenaiCodexResponses)
        return fail(ErrorCode::InvalidInput, "{}/stream: Codex always streams", place);
    TRY(check_adaptation(section, *transport, place));
    return check_auth(section.auth, place + "/auth");
}

Status check_limit(const std::optional<std::int64_t>& value, std::string_view name,
                   std::string_view section = "/runtime/") {
    if (value && *value <= 0)
        return fail(ErrorCode::InvalidInput, "{}{}: must be above 0, got {}", section, name,
                    *value);
    return {};
}

Status check_ref(const std::string& text, const std::string& place) {
    const auto ref = parse_model_ref(text);
    if (ref) return {};
    return fail(ErrorCode::InvalidInput, "{}: {}", place, ref.error().message);
}

Status make_home(const std::filesystem::path& home) {
    return base::make_folders(home, kHomeMode);
}

}  // namespace

Status check(const ConfigFile& file) {
    if (file.model) {
        if (file.model->default_) TRY(check_ref(*file.model->default_, "/model/default"));
        if (file.model->fallbacks)
            for (const auto& ref : *file.model->fallbacks) TRY(check_ref(ref, "/model/fallbacks"));
        if (file.model->unknown_fallback)
            TRY(check_override(*file.model->unknown_fallback, "/model/unknown_fallback"));
    }
    if (file.models && file.models->catalog)
        for (const auto& [ref, override_] : *file.models->catalog) {
            const std::string place = base::typed::child_pointer("/models/catalog", ref);
            TRY(check_ref(ref, place));
            TRY(check_override(override_, place));
        }
    if (file.providers)
        for (const auto& [id, section] : *file.providers) TRY(check_provider(id, section));
    if (file.web) TRY(check_web(*file.web));
    if (file.mcp) TRY(check_mcp(*file.mcp));
    TRY(check_sandbox(file));
    if (file.plan) TRY(check_plan(*file.plan));
    if (file.notify) TRY(check_notify(*file.notify));
    if (file.webhooks) {
        TRY(check_limit(file.webhooks->rate_per_minute, "rate_per_minute", "/webhooks/"));
        TRY(check_limit(file.webhooks->body_bytes_max, "body_bytes_max", "/webhooks/"));
        TRY(check_limit(file.webhooks->timestamp_tolerance_s, "timestamp_tolerance_s",
                        "/webhooks/"));
    }
    if (file.retention) TRY(check_retention(*file.retention));
    if (file.children) TRY(check_children(*file.children));
    if (!file.runtime) return {};
    if (const auto& context = file.runtime->anthropic_context_management)
        for (const auto& limit : {context->trigger_input_tokens, context->keep_recent_tool_uses,
                                  context->clear_at_least_input_tokens})
            TRY(check_limit(limit, "anthropic_context_management"));
    TRY(check_limit(file.runtime->max_output_tokens, "max_output_tokens"));
    TRY(check_limit(file.runtime->default_tool_output_tokens, "default_tool_output_tokens"));
    TRY(check_limit(file.runtime->max_command_output_bytes, "max_command_output_bytes"));
    TRY(check_limit(file.runtime->max_concurrent_turns, "max_concurrent_turns"));
    TRY(check_limit(file.runtime->max_turn_rounds, "max_turn_rounds"));
    TRY(check_limit(file.runtime->max_turn_tokens, "max_turn_tokens"));
    TRY(check_limit(file.runtime->max_turn_wall_ms, "max_turn_wall_ms"));
    TRY(check_limit(file.runtime->max_agent_rounds, "max_agent_rounds"));
    TRY(check_limit(file.runtime->max_agent_tokens, "max_agent_tokens"));
    TRY(check_limit(file.runtime->max_agent_wall_ms, "max_agent_wall_ms"));
    TRY(check_limit(file.runtime->outage_patience_ms, "outage_patience_ms"));
    TRY(check_limit(file.runtime->max_follow_up_depth, "max_follow_up_depth"));
    TRY(check_limit(file.runtime->max_follow_ups_per_hour, "max_follow_ups_per_hour"));
    TRY(check_limit(file.runtime->max_turns_without_progress, "max_turns_without_progress"));
    return check_limit(file.runtime->max_tool_output_tokens, "max_tool_output_tokens");
}

Result<ConfigFile> checked(const json::object& document, const std::string& file) {
    auto decoded = base::from_json<ConfigFile>(document, base::Unknown::Reject);
    Status status = decoded ? check(*decoded) : Status(std::unexpected(decoded.error()));
    if (!status) return fail(ErrorCode::InvalidInput, "{}: {}", file, status.error().message);
    return *decoded;
}

Result<json::object> read_document(const std::filesystem::path& home) {
    const auto path = home / "config.json";
    const auto text = base::read_file(path, kConfigBytesMax);
    if (!text && text.error().code == ErrorCode::NotFound) return json::object{};
    if (!text) return std::unexpected(text.error());
    const auto parsed = base::parse_json(*text);
    if (!parsed)
        return fail(ErrorCode::InvalidInput, "{}: {}", path.string(), parsed.error().message);
    if (!parsed->is_object())
        return fail(ErrorCode::InvalidInput, "{}: must be a JSON object", path.string());
    return parsed->get_object();
}

Result<ConfigFile> read_config(const std::filesystem::path& home) {
    return checked(TRY(read_document(home)), (home / "config.json").string());
}

Status write_document(const std::filesystem::path& home, const json::object& document) {
    const auto path = home / "config.json";
    TRY(load_sandboxes(TRY(checked(document, path.string())), home));
    TRY(make_home(home));
    return base::write_file_atomic(path, base::pretty_json(document) + "\n", kFileMode);
}

Result<CredentialsFile> read_credentials(const std::filesystem::path& home) {
    const auto path = home / "credentials.json";
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) return CredentialsFile{};
    if ((status.st_mode & 077U) != 0)
        return fail(ErrorCode::Refused, "{} can be read by others; make it private: chmod 600 {}",
                    path.string(), path.string());
    const auto parsed = base::parse_json(TRY(base::read_file(path, kConfigBytesMax)));
    // The text of a decoding error could quote a secret.
    const auto file = parsed ? base::from_json<CredentialsFile>(*parsed, base::Unknown::Reject)
                             : Result<CredentialsFile>(std::unexpected(parsed.error()));
    if (!file)
        return fail(ErrorCode::InvalidInput, "{} is not a valid credentials file", path.string());
    return *file;
}

Status write_credentials(const std::filesystem::path& home, const CredentialsFile& file) {
    TRY(make_home(home));
    return base::write_file_atomic(home / "credentials.json",
                                   base::pretty_json(base::to_json(file)) + "\n", kFileMode);
}

}  // namespace config
