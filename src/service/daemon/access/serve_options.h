// The operator's options for how clients reach the daemon.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/typed.h"

namespace service {

enum class Access { Local, Tunnel, Lan, Tailnet };
BOOST_DESCRIBE_ENUM(Access, Local, Tunnel, Lan, Tailnet)

struct ServeOptions {
    Access access{Access::Local};
    std::optional<std::string> host{};
    std::optional<std::string> listen{};
    std::optional<std::int64_t> port{};
    std::optional<std::string> advertise{};
    std::optional<std::string> token{};  // A secret: never stored, never an argument of a child.
    std::optional<std::string> token_file{};
    std::optional<std::string> tls_cert{};
    std::optional<std::string> tls_key{};
    std::optional<std::string> log_file{};  // Instead of standard error; rotated.
    friend bool operator==(const ServeOptions&, const ServeOptions&) = default;
};

// The options that may be stored: all but the token and the log file.
struct RecordedOptions {
    Access access{Access::Local};
    std::optional<std::string> host{};
    std::optional<std::string> listen{};
    std::optional<std::int64_t> port{};
    std::optional<std::string> advertise{};
    std::optional<std::string> token_file{};
    std::optional<std::string> tls_cert{};
    std::optional<std::string> tls_key{};
};
BOOST_DESCRIBE_STRUCT(RecordedOptions, (),
                      (access, host, listen, port, advertise, token_file, tls_cert, tls_key))

}  // namespace service
