#include "exec/sandbox/boundary.h"

#include "exec/sandbox/confine.h"

namespace sandbox {

Boundary::Boundary(Settings settings, std::filesystem::path own_program,
                   std::filesystem::path user_home, std::filesystem::path holon_home)
    : settings_(std::move(settings)),
      own_program_(std::move(own_program)),
      user_home_(std::move(user_home)),
      holon_home_(std::move(holon_home)) {}

const Machine& Boundary::machine() const {
    if (!machine_) machine_ = probe(own_program_);
    return *machine_;
}

Policy Boundary::policy_for(const Work& work) const {
    Policy policy{.writable_roots = settings_.writable_roots,
                  .hidden = usual_secrets(user_home_, holon_home_),
                  .network = settings_.network,
                  .allowed_hosts = settings_.allowed_hosts,
                  .network_log = work.network_log.string(),
                  .limits = settings_.limits};
    policy.writable_roots.push_back(work.execution_root.string());
    policy.hidden.insert(policy.hidden.end(), settings_.hidden.begin(), settings_.hidden.end());
    return policy;
}

base::Result<base::ProcessSpec> Boundary::enclose(base::ProcessSpec spec, const Work& work) const {
    if (settings_.backend == Backend::HostLocal) return spec;
    return confine(std::move(spec), policy_for(work), machine());
}

Facts Boundary::facts() const {
    Facts facts{.backend = std::string(base::enum_name(settings_.backend))};
    if (settings_.backend == Backend::HostLocal) return facts;
    facts.network = settings_.network;
    for (const auto& [name, value] : base::to_json(settings_.limits).as_object())
        facts.limits.emplace_back(name, base::json_text(value));
    return facts;
}

}  // namespace sandbox
