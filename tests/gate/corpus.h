// The labelled texts, one a line.
#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/scan/rule.h"
#include "domain/gate.h"

namespace gate {

// HOLON_CORPUS is the folder that they are in. Empty when there is no such file.
inline std::vector<std::string> corpus(const std::string& name) {
    std::ifstream file(std::string(HOLON_CORPUS) + "/" + name);
    std::vector<std::string> texts;
    bool is_first = true;
    for (std::string line; std::getline(file, line);) {
        if (std::exchange(is_first, false)) continue;  // Says what the file is.
        line = scan::example(line);
        for (auto at = line.find("\\n"); at != line.npos; at = line.find("\\n", at))
            line.replace(at, 2, "\n");
        texts.push_back(line);
    }
    return texts;
}

inline bool is_secret(const domain::GateReason& reason) {
    return std::ranges::any_of(scan::secret_rules(),
                               [&](const scan::Rule& rule) { return rule.id == reason.rule; });
}

}  // namespace gate
