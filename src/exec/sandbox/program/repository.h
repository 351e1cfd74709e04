// The confined view of a git folder (.git, or the administrative folder of a worktree).
//
// Git replaces its files by renaming new ones over them, so their folder must be writable; but the
// same folder holds settings and hooks that the operator's next git command obeys. A read-only
// mount on such a file is no protection: it disappears when the operator's own git replaces the
// file. So the command gets a private folder, in which the files of a commit are links to the real
// ones, the folders of a commit are the real ones, and everything else is read-only. When the
// command has ended, the files of a commit that it replaced are moved to the real folder, and
// nothing else is.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "exec/sandbox/program/plan.h"

namespace sandbox {

class Repository {
public:
    // Makes the private folder in `git_dir`, the open folder at `path`. Ends the program when it
    // cannot, or when a part of the git folder is a symbolic link. First settles what ended
    // commands left behind.
    Repository(int git_dir, std::string path);

    // The private folder and what lies in it, outer ones first.
    const std::vector<Part>& parts() const { return parts_; }

    // Moves the replaced files of a commit to the real folder and removes the private one.
    void settle();

private:
    void add(const std::string& name, int mine, int before);
    void show(const std::string& path, const std::string& source, const struct stat& info,
              bool is_writable);

    int git_dir_;
    std::string path_;
    std::string name_;  // Of the private folder, in kFolder.
    std::vector<Part> parts_;
};

}  // namespace sandbox
