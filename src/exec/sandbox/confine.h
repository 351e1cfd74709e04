// Turns a command into the same command behind a boundary that the kernel enforces.
//
// The boundary consists of namespaces (mounts, processes, network, ipc, host name and users), a
// system call filter and resource limits, made by `holon-confine`, our embedded program. The
// confined world contains what the policy puts into it and nothing else. Nothing that a command
// contains changes it. It fails closed: what cannot be enforced is not run. All functions are free
// of shared state, so any thread may call them; those that say so block on the file system.
#pragma once

#include "base/os/process.h"
#include "base/result.h"
#include "exec/sandbox/machine.h"
#include "exec/sandbox/policy.h"
#include "exec/sandbox/program/plan.h"

namespace sandbox {

// Succeeds if `machine` can enforce the boundary. Otherwise Unavailable, with everything that is
// missing and how to install it. Pure.
base::Status can_confine(const Machine& machine);

// The instructions to holon-confine for `spec`, a command whose folder and variables are those
// inside. Fails as lay_out() does. Blocks on the file system.
base::Result<Plan> plan_for(const base::ProcessSpec& spec, const Policy& policy,
                            const Machine& machine,
                            const std::vector<std::string>& mounted_settings = {});

// Gives the spec of the confined command: program, arguments and folder of `spec` inside the
// boundary, with the variables TMPDIR and HOLON_SANDBOX and those of the proxy set. The spec itself
// has no variables and inherits the sealed files it needs. Fails as can_confine() and plan_for()
// do; the command must not be started then. Leaves nothing behind that belongs to this command if
// it is never started. Blocks on the file system.
base::Result<base::ProcessSpec> confine(base::ProcessSpec spec, const Policy& policy,
                                        const Machine& machine);

}  // namespace sandbox
