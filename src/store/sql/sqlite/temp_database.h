// A database file in a folder of its own that goes away with it. For tests.
#pragma once

#include <filesystem>
#include <string>

#include <stdlib.h>

#include "base/result.h"

namespace sqlite {

class TempDatabase {
public:
    TempDatabase() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "holon-store-XXXXXX").string();
        CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary folder can be made");
        folder_ = pattern;
    }
    ~TempDatabase() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    TempDatabase(const TempDatabase&) = delete;
    TempDatabase& operator=(const TempDatabase&) = delete;

    std::filesystem::path file() const { return folder_ / "holon.db"; }
    const std::filesystem::path& folder() const { return folder_; }

private:
    std::filesystem::path folder_;
};

}  // namespace sqlite
