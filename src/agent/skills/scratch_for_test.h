// A folder of its own for one test, gone with it.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <stdlib.h>

namespace skills {

class Scratch {
public:
    Scratch() {
        std::string name =
            (std::filesystem::temp_directory_path() / "holon-skills-XXXXXX").string();
        path_ = std::filesystem::canonical(::mkdtemp(name.data()));
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;

    std::filesystem::path at(const std::string& path = "") const { return path_ / path; }
    void write(const std::string& file, const std::string& text) const {
        std::filesystem::create_directories(at(file).parent_path());
        std::ofstream(at(file)) << text;
    }
    std::string read(const std::string& file) const {
        std::ifstream in(at(file));
        return {std::istreambuf_iterator<char>(in), {}};
    }
    bool has(const std::string& path) const { return std::filesystem::exists(at(path)); }

private:
    std::filesystem::path path_;
};

}  // namespace skills
