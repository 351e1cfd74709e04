// Parts of /proc and /sys that confined commands may not write or see, as container runtimes have
// it: the owner of the machine may write there, or they describe the machine or its kernel, and no
// build needs them.
#pragma once

namespace sandbox {

inline constexpr const char* kReadOnlyProc[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                                "/proc/sysrq-trigger"};
inline constexpr const char* kMaskedFolders[] = {
    "/proc/acpi",    "/proc/asound",      "/proc/scsi",           "/sys/devices/virtual/powercap",
    "/sys/firmware", "/sys/kernel/debug", "/sys/kernel/security", "/sys/kernel/tracing"};
inline constexpr const char* kMaskedFiles[] = {
    "/proc/interrupts",  "/proc/kcore",      "/proc/keys",       "/proc/latency_stats",
    "/proc/sched_debug", "/proc/timer_list", "/proc/timer_stats"};

}  // namespace sandbox
