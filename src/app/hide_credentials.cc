#include "app/hide_credentials.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/log/log.h"
#include "base/text.h"

namespace app {

void hide_credentials(const config::Config& config) {
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        base::log_warn("the memory of this process stays readable for programs of its user: {}",
                       std::strerror(errno));
    std::vector<std::string> names;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const std::size_t equals = text.find('=');
        if (equals == std::string_view::npos) continue;
        const auto value = base::trim(text.substr(equals + 1));
        if (!value.empty() &&
            std::ranges::find(config.credentials, value) != config.credentials.end())
            names.emplace_back(text.substr(0, equals));
    }
    for (const auto& name : names) {
        // unsetenv() only drops the pointer; the bytes would still be shown.
        if (char* value = std::getenv(name.c_str())) ::explicit_bzero(value, std::strlen(value));
        ::unsetenv(name.c_str());
    }
}

}  // namespace app
