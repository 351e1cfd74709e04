// By which channels the operator is notified of what needs them and of what is done.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/typed.h"

namespace config {

inline constexpr std::int64_t kNotifyTimeoutMsMax = 300'000;
inline constexpr std::int64_t kNotifyAttemptsMax = 100;

struct NotifySection {
    std::optional<std::vector<std::string>> command{};
    std::optional<std::string> webhook{};
    std::optional<std::string> webhook_credential{};
    std::optional<std::int64_t> timeout_ms{};
    std::optional<std::int64_t> max_attempts{};
};
BOOST_DESCRIBE_STRUCT(NotifySection, (),
                      (command, webhook, webhook_credential, timeout_ms, max_attempts))

// An error names the setting. A webhook without the credential that signs it is one.
base::Status check_notify(const NotifySection& section);

struct Notify {
    std::vector<std::string> command{};  // Empty: none.
    std::string webhook{};               // Empty: none.
    std::string webhook_credential{};
    std::string webhook_secret{};  // Empty when the profile does not exist.
    std::int64_t timeout_ms{10'000};
    std::int64_t max_attempts{20};
    friend bool operator==(const Notify&, const Notify&) = default;
};
// `secrets` are the credentials by the names of their profiles.
Notify notify_of(const NotifySection& section, const std::map<std::string, std::string>& secrets);

}  // namespace config
