// The part of the command line that is about the gate.
#pragma once

#include "surfaces/cli/command.h"

namespace CLI {
class App;
}

namespace cli {

// `invocation` must live as long as `app` parses.
void add_gate(CLI::App& app, Invocation& invocation);

}  // namespace cli
