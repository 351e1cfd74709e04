// Tools that do what a test says, and a world that remembers what they did to it, whatever becomes
// of the process that called them.
#pragma once

#include <map>
#include <string>

#include "base/os/loop.h"
#include "exec/tools/registry.h"

namespace plans_test {

struct ToolWorld {
    std::map<std::string, int> ran;   // How often a tool was really started, by step ("a", "a[3]").
    std::map<std::string, int> done;  // How often it did its work, by idempotency key.
    std::map<std::string, int> failed;  // How often test.fail has failed, by idempotency key.
    int running{0};
    int running_max{0};
};

// test.echo, test.list, test.fail, test.slow, test.stuck, test.deaf, test.write, test.remove,
// test.move, test.mkdir, test.mark, test.once, test.command, test.strict, test.liar.
void add_case_tools(tools::Registry& registry, base::Loop& loop, ToolWorld& world);

}  // namespace plans_test
