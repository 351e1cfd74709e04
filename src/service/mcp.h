// The MCP servers of the configuration as operators use them: who is logged in to which. It works
// on files and the network; no agent, no model and no daemon are needed.
//
// No secret crosses this interface outwards.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/typed.h"

namespace service {

// How long a login waits for the operator's browser.
inline constexpr std::chrono::minutes kMcpLoginPatience{10};

struct McpAccess {
    std::string server;
    std::string address;  // Its URL, or its command.
    // local (a program), headers (the settings have its credential), logged_in, expired (and cannot
    // be renewed), logged_out.
    std::string state;
    std::optional<std::string> issuer{};
    std::optional<std::string> scope{};
    std::optional<base::Time> expires_at{};  // Of the token; it is renewed where `renews`.
    std::optional<bool> renews{};
};
BOOST_DESCRIBE_STRUCT(McpAccess, (), (server, address, state, issuer, scope, expires_at, renews))

struct McpLogin {
    std::string server;
    std::string scope{};  // Empty: what the server asks for.
    // The address that the operator is to open, and the one that their browser comes back to.
    std::function<void(const std::string& url, const std::string& redirect_uri)> show;
    std::function<void()> on_refused;  // What was pasted does not belong to this login.
    int in{-1};  // A descriptor where the address that the browser ended at may be pasted.
};

class Mcp {
public:
    virtual ~Mcp() = default;
    // All servers, by name.
    virtual base::Result<std::vector<McpAccess>> status() = 0;
    // Logs in to a remote server and stores the tokens in credentials.json. Waits for the operator
    // for kMcpLoginPatience.
    virtual base::Result<McpAccess> login(const McpLogin& login) = 0;
    // Removes the tokens, and asks the authorization server to forget them. False when there were
    // none.
    virtual base::Result<bool> logout(const std::string& server) = 0;
};

// What a server asks the operator while one of its calls waits. `message`, `schema` and `url` are
// the server's words.
struct McpQuestion {
    std::string id;
    std::string server;
    std::string mode;  // form: values for `schema`. url: an address that the operator may open.
    std::string message;
    std::optional<json::object> schema{};
    std::optional<std::string> url{};
    base::Time asked_at{};
    base::Time expires_at{};  // It is declined then.
};
BOOST_DESCRIBE_STRUCT(McpQuestion, (),
                      (id, server, mode, message, schema, url, asked_at, expires_at))

struct McpAnswer {
    std::string action;  // accept, decline, cancel
    std::optional<json::object> content{};
};
BOOST_DESCRIBE_STRUCT(McpAnswer, (), (action, content))

// A prompt that a server offers. Names and descriptions are the server's words.
struct McpPromptArgument {
    std::string name;
    std::string description{};
    bool required{false};
};
BOOST_DESCRIBE_STRUCT(McpPromptArgument, (), (name, description, required))
struct McpPrompt {
    std::string server;
    std::string name;
    std::string description{};
    std::vector<McpPromptArgument> arguments{};
};
BOOST_DESCRIBE_STRUCT(McpPrompt, (), (server, name, description, arguments))
struct McpPromptRequest {
    std::string server;
    std::string name;
    std::map<std::string, std::string> arguments{};
};
BOOST_DESCRIBE_STRUCT(McpPromptRequest, (), (server, name, arguments))
// What a prompt expands to: text of the server, which nobody has read yet.
struct McpPromptText {
    std::string server;
    std::string name;
    std::string text;
    std::vector<std::string> left_out{};  // Kinds of content that are no text.
};
BOOST_DESCRIBE_STRUCT(McpPromptText, (), (server, name, text, left_out))

// The servers of a runtime that runs.
class McpLive {
public:
    virtual ~McpLive() = default;
    // Those that wait, the oldest first.
    virtual base::Result<std::vector<McpQuestion>> questions() = 0;
    // NotFound when nobody waits for it any more; InvalidInput when the values do not fit.
    virtual base::Status answer(const std::string& id, const McpAnswer& answer) = 0;
    // Of all servers that have some, by server and name. One that does not answer is left out.
    virtual base::Result<std::vector<McpPrompt>> prompts() = 0;
    virtual base::Result<McpPromptText> expand(const McpPromptRequest& request) = 0;
};

}  // namespace service
