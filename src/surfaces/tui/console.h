// The console on the operator's terminal: `holon tui`.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "service/mcp.h"
#include "service/plans.h"
#include "service/service.h"
#include "surfaces/tui/overlays/overlay.h"

namespace tui {

// Where the console draws. Auto: in the terminal's own scrollback, overlays on the alternate
// screen. Always: everything on the alternate screen. Never: the alternate screen is not used at
// all.
enum class AlternateScreen { Auto, Always, Never };
// "auto", "always", "never"; Auto for anything else.
AlternateScreen parse_alternate_screen(std::string_view text);

// Reports a broken connection to the console that is open, if one is. Any thread.
class Link {
public:
    void lost(const base::Error& error);
    void connect(std::function<void(const base::Error&)> lost);

private:
    std::mutex mutex_;
    std::function<void(const base::Error&)> lost_;
};

struct ConsoleParts {
    service::Service& service;
    service::Plans& plans;
    base::Clock& clock;
    std::shared_ptr<Link> link;
    std::string agent;  // Empty: the one that was shown last, else `default_agent`.
    std::string default_agent;
    std::string where{};  // Which runtime, when it is not the one of this home.
    std::string user{};   // The approver of approvals given here.
    std::filesystem::path cwd{};
    std::filesystem::path kept_file{};
    AlternateScreen alternate_screen{AlternateScreen::Auto};
    bool colours{true};
    std::string greeting{};  // Shown first.
    bool picks{false};       // The operator chooses an agent first, where there are several.
    Models models{};
    service::McpLive* mcp{nullptr};  // Null: the runtime has no MCP servers.
    std::stop_source leaves{};       // Stopped when the operator leaves: calls of `mcp` end then.
};

// Whether the console can be shown: standard input and output are a terminal that can move its
// cursor. The error says what to use instead.
base::Status check_terminal_for_console();

// Blocks until the operator leaves. The terminal is as before on return, and also after a signal or
// an exception. An Error: the console cannot be shown on this terminal.
base::Status run_console(const ConsoleParts& parts);

}  // namespace tui
