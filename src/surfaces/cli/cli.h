// Carries out one command line against the service.
#pragma once

#include "base/time.h"
#include "service/service.h"
#include "surfaces/cli/command.h"
#include "surfaces/cli/terminal.h"

namespace cli {

struct Context {
    service::Service& service;
    const Terminal& terminal;
    base::Clock& clock;
    std::string default_agent;
};

// On a terminal people get sentences and tables; piped or with --json the output is JSON.
Exit execute(const Command& command, const Context& context);

// "Error: …" on standard error.
Exit report(const Terminal& terminal, const base::Error& error);

// The text form of a run's result; see the reference of the `run` command.
std::string run_text(const service::RunResponse& response);

}  // namespace cli
