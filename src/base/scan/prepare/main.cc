// Builds, once and with the program, the engine of the rules in some files.
// Usage: holon_prepare_rules OUT RULES.json...
#include <cstdio>
#include <fstream>

#include "base/os/files.h"
#include "base/scan/engine/matcher.h"
#include "base/scan/rule.h"

namespace {

constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;

base::Status prepare(const std::string& out, const std::vector<std::string>& files) {
    std::vector<scan::Sought> all;
    for (const auto& file : files)
        for (const auto& rule : TRY(scan::parse_rules(TRY(base::read_file(file, kFileBytesMax)))))
            all.push_back(scan::sought(rule));
    const std::string prepared = TRY(scan::Matcher::prepare(all));
    std::ofstream(out, std::ios::binary) << prepared;
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const auto done = prepare(argv[1], std::vector<std::string>(argv + 2, argv + argc));
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return done ? 0 : 1;
}
