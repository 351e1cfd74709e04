// The homes of agents: how one comes into being, whole or not at all.
//
// A home is built in <holon home>/staging/<agent>/, moved into place by one rename, and kept when
// the agent is stored. What a process that died in between has left is removed by the next one. The
// functions block on files and, for templates on GitHub, on the network; any thread but the loop's.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/homes/templates.h"
#include "base/os/files.h"
#include "base/time.h"
#include "domain/ids.h"

namespace homes {

// A home that is in place, for an agent that is not stored yet. Without keep() it is removed again.
class Creation {
public:
    Creation() = default;
    ~Creation();
    Creation(Creation&& other) noexcept;
    Creation& operator=(Creation&& other) noexcept;

    // The agent is stored.
    void keep();

private:
    friend class Homes;
    base::Fd lock_{};
    std::filesystem::path staging_{};  // Empty: there is nothing to remove.
    std::filesystem::path home_{};
};

class Homes {
public:
    struct Parts {
        std::filesystem::path holon_home;  // Empty: homes are plain folders, as tests have them.
        std::function<std::filesystem::path(const domain::AgentId&)> home_of;
        TemplateSources templates{};
        std::string default_agent{"main"};
    };
    explicit Homes(Parts parts) : parts_(std::move(parts)) {}

    // Writes the builtin templates, and removes what interrupted creations have left; the first
    // call does it. `is_known` says whether an agent is stored. A folder that cannot be written is
    // logged: nothing depends on it.
    void prepare(const std::function<bool(const domain::AgentId&)>& is_known);

    // Makes the home of an agent that is not stored: from the template, if one is named, and from
    // holon-default for the default agent. An Error means that nothing was made: the template or
    // one of its skills cannot be had, or the home has content (Conflict). Without a template such
    // a home is completed instead.
    base::Result<Creation> create(const domain::AgentId& agent,
                                  const std::optional<std::string>& selector, base::Time now);

    // Adds what the home of a stored agent lacks. Nothing that exists is changed. Safe to repeat.
    base::Status complete(const domain::AgentId& agent);

    std::vector<CatalogueEntry> templates() const;

private:
    std::filesystem::path staging_of(const domain::AgentId& agent) const;
    void sweep(const std::function<bool(const domain::AgentId&)>& is_known) const;

    Parts parts_;
    std::once_flag prepared_;
};

}  // namespace homes
