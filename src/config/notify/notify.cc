#include "config/notify/notify.h"

#include "base/text.h"

namespace config {
namespace {

using base::ErrorCode;
using base::fail;

base::Status check_url(std::string_view url) {
    const bool is_http = url.starts_with("http://") || url.starts_with("https://");
    if (!is_http || base::printable(url) != url || url.contains(' ') || url.ends_with("//"))
        return fail(ErrorCode::InvalidInput,
                    "/notify/webhook: '{}' is not an http or https address", base::printable(url));
    const auto start = url.find("//") + 2;
    const auto authority = url.substr(start, url.find_first_of("/?#", start) - start);
    if (authority.contains('@'))
        return fail(ErrorCode::InvalidInput,
                    "/notify/webhook: the address holds a password; sign with "
                    "notify.webhook_credential instead");
    return {};
}

base::Status check_range(const std::optional<std::int64_t>& number, std::string_view name,
                         std::int64_t most) {
    if (!number || (*number >= 1 && *number <= most)) return {};
    return fail(ErrorCode::InvalidInput, "/notify/{}: must be a number from 1 to {}", name, most);
}

}  // namespace

base::Status check_notify(const NotifySection& section) {
    if (section.command && (section.command->empty() || section.command->front().empty()))
        return fail(ErrorCode::InvalidInput,
                    "/notify/command: name a program and its arguments, or unset notify.command");
    if (section.webhook) {
        TRY(check_url(*section.webhook));
        if (section.webhook_credential.value_or("").empty())
            return fail(
                ErrorCode::InvalidInput,
                "/notify/webhook: deliveries are signed, so set the profile with the secret "
                "first: holon config set notify.webhook_credential NAME");
    }
    TRY(check_range(section.timeout_ms, "timeout_ms", kNotifyTimeoutMsMax));
    return check_range(section.max_attempts, "max_attempts", kNotifyAttemptsMax);
}

Notify notify_of(const NotifySection& section, const std::map<std::string, std::string>& secrets) {
    const Notify unset;
    Notify notify{.command = section.command.value_or(unset.command),
                  .webhook = section.webhook.value_or(""),
                  .webhook_credential = section.webhook_credential.value_or(""),
                  .timeout_ms = section.timeout_ms.value_or(unset.timeout_ms),
                  .max_attempts = section.max_attempts.value_or(unset.max_attempts)};
    if (const auto found = secrets.find(notify.webhook_credential); found != secrets.end())
        notify.webhook_secret = found->second;
    return notify;
}

}  // namespace config
