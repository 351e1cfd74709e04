// The home of a Codex command line that is logged in.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/os/files.h"

namespace test_support {

// A temporary folder, gone with this. Without a login until log_in().
class CodexHome {
public:
    CodexHome() {
        std::string name = (std::filesystem::temp_directory_path() / "codex-XXXXXX").string();
        CHECK(mkdtemp(name.data()) != nullptr, "no folder for a login");
        path = name;
    }
    ~CodexHome() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    CodexHome(const CodexHome&) = delete;
    CodexHome& operator=(const CodexHome&) = delete;

    void log_in(const std::string& token) const {
        json::object file;
        file["tokens"] = {{"access_token", token}, {"account_id", "acct_1"}};
        const auto written =
            base::write_file_atomic(path / "auth.json", base::json_text(file), 0600);
        CHECK(written.has_value(), "no login");
    }

    std::filesystem::path path;
};

}  // namespace test_support
