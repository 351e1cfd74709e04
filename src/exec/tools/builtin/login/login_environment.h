// The environment of a login shell, captured once instead of by every command: a profile with nvm,
// conda and the like takes 100 to 300 ms, a shell without start files two.
//
// Only in memory. Captured outside of any boundary, so only the operator's own start files are
// executed, by a shell of the system. A capture is used for a command only if it was checked: a
// shell without start files that gets it knows the same variables, functions and options. Else
// every command is a login shell, as before.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "exec/tools/builtin/login/shell_state.h"

namespace builtin {

inline constexpr std::chrono::minutes kCaptureAge{15};

class LoginEnvironments {
public:
    explicit LoginEnvironments(base::Clock& clock) : clock_(clock) {}

    // How a command line is run so that it finds what a login shell would have had.
    struct Start {
        std::filesystem::path program;
        std::string flag;
        Variables environment;
        std::shared_ptr<const base::Fd> preamble{};  // Inherited as kFirstFile; BASH_ENV names it.
    };

    // For an unconfined command in `folder`: the same variables as a login shell that is started
    // there with `environment`. Nothing when only a login shell is known to be the same. Blocks:
    // the first time for as long as the start files take, and once again when the start files or
    // the files of the workspace that they depend on have changed, and after kCaptureAge. Any
    // thread.
    std::optional<Start> start(const std::string& shell, const std::filesystem::path& folder,
                               const Variables& environment, const std::string& command);

    struct ConfinedStart {
        Variables environment;
        // Definitions of the functions that the command may call; empty: none. Bash only.
        std::string functions{};
    };

    // For confined commands: `environment` and the variables and elements of the search path that a
    // login of this user adds, and its functions, without what looks like a secret in them. The
    // login begins in the user's home with nothing but the system's search path, so that no file of
    // a workspace is read. `environment` itself when no login could be captured. The caller decides
    // which variables a command may have. Blocks in the same way; any thread.
    ConfinedStart confined(const std::string& shell, const Variables& environment,
                           const std::string& command);

private:
    struct Entry {
        std::mutex mutex;
        bool is_known{false};
        std::optional<ShellState> state{};  // None: no capture is usable.
        std::shared_ptr<const base::Fd> settings{}, all{};
        std::set<std::string> function_names{};
        std::optional<std::string> shown_functions{};  // Without secrets; none: not asked for yet.
        std::vector<std::filesystem::path> files{};
        std::string stamp{};
        base::Time at{};
    };

    std::shared_ptr<Entry> entry_of(const std::string& key);
    bool is_fresh(const Entry& entry) const;
    static void capture(Entry& entry, const KnownShell& shell, const std::filesystem::path& folder,
                        const Variables& environment, bool needs_same_shell);

    base::Clock& clock_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace builtin
