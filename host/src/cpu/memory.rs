//! The memory that this process may use. It is bounded by the machine's memory, by the process's control groups (version 1
//! and 2, with all groups above its own), and by its own limits (`ulimit -v` and `-d`).
//!
//! A system promises more memory than there is, and kills a program that uses it all. The free memory is therefore checked
//! before an allocation. Cached contents of files count as a group's memory until others need it, so they are treated as
//! free.

use std::{fs, sync::OnceLock};

/// A bound on the memory of this process, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bound {
    /// The bound itself.
    limit: u64,
    /// The part of the bound that is not used.
    left: u64,
}

/// Returns the bytes that can be allocated now, or `None` if the system does not report it.
pub fn free() -> Option<u64> {
    bounds(groups(), read).map(|bound| bound.left).min()
}

/// Returns the bytes that could be allocated if none were in use, or `None` if the system does not report it.
pub fn total() -> Option<u64> {
    bounds(groups(), read).map(|bound| bound.limit).min()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Returns the control groups in which this process was started.
fn groups() -> &'static [Group] {
    static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
    GROUPS.get_or_init(|| {
        let texts = read("/proc/self/mountinfo").zip(read("/proc/self/cgroup"));
        texts.map_or_else(Vec::new, |(mounts, own)| groups_of(&mounts, &own))
    })
}

/// Returns all bounds. `read` returns the contents of a file by its path.
fn bounds<R: Fn(&str) -> Option<String>>(groups: &[Group], read: R) -> impl Iterator<Item = Bound> {
    let mut all = Vec::new();
    all.extend(read("/proc/meminfo").as_deref().and_then(machine));
    for (limit, used) in [
        ("Max address space", "VmSize:"),
        ("Max data size", "VmData:"),
    ] {
        all.extend(own_limit(&read, limit, used));
    }
    all.extend(groups.iter().filter_map(|group| group.bound(&read)));
    all.into_iter()
}

fn machine(table: &str) -> Option<Bound> {
    Some(Bound {
        limit: kib(table, "MemTotal:")?,
        left: kib(table, "MemAvailable:")?,
    })
}

/// Returns a row of a table such as `/proc/meminfo`, in bytes.
fn kib(table: &str, row: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.strip_prefix(row))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Returns a limit of the process that the kernel enforces: `limit` is its row in the table of limits, `used` its row in
/// the process's status.
fn own_limit(read: impl Fn(&str) -> Option<String>, limit: &str, used: &str) -> Option<Bound> {
    let limits = read("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
    // The soft limit; an unlimited one is no number.
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let used = kib(&read("/proc/self/status")?, used)?;
    Some(Bound {
        limit,
        left: limit.saturating_sub(used),
    })
}

/// A control group that contains this process, directly or through a group below.
#[derive(Debug, PartialEq, Eq)]
struct Group {
    /// The folder of the group's files.
    folder: String,
    names: &'static Names,
}

/// The names of the group's files, and the rows of `memory.stat` that count cached file contents.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    limit: &'static str,
    used: &'static str,
    files: [&'static str; 2],
}

const VERSION_1: Names = Names {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    files: ["total_inactive_file", "total_active_file"],
};

const VERSION_2: Names = Names {
    limit: "memory.max",
    used: "memory.current",
    files: ["inactive_file", "active_file"],
};

impl Group {
    /// Returns the group's bound, or `None` if it has no limit or the kernel does not report it.
    fn bound(&self, read: impl Fn(&str) -> Option<String>) -> Option<Bound> {
        let file = |name: &str| read(&format!("{}/{name}", self.folder));
        let number = |name: &str| file(name)?.trim().parse::<u64>().ok();
        let limit = number(self.names.limit)?;
        let stat = file("memory.stat").unwrap_or_default();
        let row = |name: &str| {
            let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
            line.strip_prefix(' ')?.parse::<u64>().ok()
        };
        let files = self.names.files.iter().filter_map(|name| row(name));
        let files = files.fold(0, u64::saturating_add);
        let used = number(self.names.used)?.saturating_sub(files);
        Some(Bound {
            limit,
            left: limit.saturating_sub(used),
        })
    }
}

/// Returns the groups of the process and those above them, by the tables `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn groups_of(mounts: &str, own: &str) -> Vec<Group> {
    let mut groups = Vec::new();
    for line in own.lines() {
        // The fields are number, controllers and path. Version 2 has number 0 and names no controllers.
        let mut fields = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let names = if (number, controllers) == ("0", "") {
            &VERSION_2
        } else if controllers.split(',').any(|name| name == "memory") {
            &VERSION_1
        } else {
            continue;
        };
        let Some((root, point)) = mounts.lines().find_map(|mount| mounted(mount, names)) else {
            continue;
        };
        // A container may see its own group as the root, or may have only its part mounted.
        let below = path.strip_prefix(root.trim_end_matches('/'));
        let below = below.filter(|below| below.starts_with('/') && !below.contains("/.."));
        let mut below = below.unwrap_or_default().trim_end_matches('/');
        loop {
            groups.push(Group {
                folder: format!("{}{below}", point.trim_end_matches('/')),
                names,
            });
            let Some(end) = below.rfind('/') else { break };
            below = &below[..end];
        }
    }
    groups
}

/// Parses a line of `/proc/self/mountinfo`. If it mounts a hierarchy of this version that limits memory, returns the part
/// that it mounts and where.
fn mounted<'a>(line: &'a str, names: &Names) -> Option<(&'a str, &'a str)> {
    let (places, kind) = line.split_once(" - ")?;
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1)?);
    let wanted = if *names == VERSION_2 {
        name == "cgroup2"
    } else {
        name == "cgroup" && options.split(',').any(|option| option == "memory")
    };
    let mut places = places.split(' ').skip(3);
    wanted.then_some((places.next()?, places.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    const MEMINFO: &str =
        "MemTotal:       16384 kB\nMemFree:         1024 kB\nMemAvailable:    8192 kB\n";
    const V2: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
";
    const V1: &str = "\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 master:1 - cgroup cgroup rw,memory
36 31 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

    fn folders(mounts: &str, own: &str) -> Vec<String> {
        let groups = groups_of(mounts, own);
        groups.into_iter().map(|group| group.folder).collect()
    }

    /// Returns the least free memory and the least limit, for files with these contents.
    fn least(mounts: &str, own: &str, files: &[(&str, &str)]) -> (u64, u64) {
        let read = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        let groups = groups_of(mounts, own);
        let least = |of: fn(Bound) -> u64| bounds(&groups, read).map(of).min().unwrap();
        (least(|bound| bound.left), least(|bound| bound.limit))
    }

    #[test]
    fn the_groups_above_count_too() {
        let root = "/sys/fs/cgroup";
        let all = [
            format!("{root}/a.slice/b"),
            format!("{root}/a.slice"),
            root.to_owned(),
        ];
        assert_eq!(folders(V2, "0::/a.slice/b\n"), all);
        assert_eq!(folders(V2, "0::/\n"), [root]);
        // The path does not lie in what is mounted: it is a group outside of the container.
        assert_eq!(folders(V2, "0::/../x\n"), [root]);
        let memory = "/sys/fs/cgroup/memory";
        assert_eq!(
            folders(V1, "5:cpu,cpuacct:/c\n4:memory:/job\n0::/\n"),
            [&format!("{memory}/job"), memory, "/sys/fs/cgroup/unified"]
        );
        // A container of version 1 has only its own group mounted.
        let part = V1.replace("0:32 / ", "0:32 /docker/7f ");
        assert_eq!(folders(&part, "4:memory:/docker/7f\n"), [memory]);
        assert_eq!(
            folders(&part, "4:memory:/docker/7f/x\n")[0],
            format!("{memory}/x")
        );
        assert_eq!(folders(&part, "4:memory:/docker/7fe\n"), [memory]);
        assert_eq!(folders("", "0::/\n"), [""; 0]);
        assert_eq!(folders(V2, "nothing\n\n0:\n"), [""; 0]);
    }

    #[test]
    fn what_a_group_of_version_2_leaves() {
        let files = [
            ("/proc/meminfo", MEMINFO),
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "1048576\n"),
            ("/sys/fs/cgroup/a/memory.max", "6291456\n"),
            ("/sys/fs/cgroup/a/memory.current", "5242880\n"),
            (
                "/sys/fs/cgroup/a/memory.stat",
                "anon 1\nfile 9\ninactive_file 1048576\nactive_file 1048576\n",
            ),
        ];
        // Of 5 MiB, 2 MiB are cached files.
        assert_eq!(least(V2, "0::/a/b\n", &files), (3 * MIB, 6 * MIB));
        assert_eq!(least(V2, "0::/\n", &files), (8 * MIB, 16 * MIB));
        let full = [files[3], ("/sys/fs/cgroup/a/memory.current", "7000000\n")];
        assert_eq!(least(V2, "0::/a\n", &full), (0, 6 * MIB));
    }

    #[test]
    fn what_a_group_of_version_1_leaves() {
        let files = [
            ("/proc/meminfo", MEMINFO),
            (
                "/sys/fs/cgroup/memory/job/memory.limit_in_bytes",
                "4194304\n",
            ),
            (
                "/sys/fs/cgroup/memory/job/memory.usage_in_bytes",
                "3145728\n",
            ),
            (
                "/sys/fs/cgroup/memory/job/memory.stat",
                "inactive_file 9\ntotal_inactive_file 1048576\ntotal_active_file 0\n",
            ),
            (
                "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "99999999\n"),
        ];
        assert_eq!(least(V1, "4:memory:/job\n", &files), (2 * MIB, 4 * MIB));
        assert_eq!(least(V1, "4:memory:/\n", &files), (8 * MIB, 16 * MIB));
    }

    #[test]
    fn what_the_limits_of_a_process_leave() {
        let limits = "\
Limit                     Soft Limit           Hard Limit           Units
Max data size             3145728              unlimited            bytes
Max address space         8388608              unlimited            bytes
";
        let status = "VmPeak:\t  9999 kB\nVmSize:\t    2048 kB\nVmData:\t    1024 kB\n";
        let files = [
            ("/proc/meminfo", MEMINFO),
            ("/proc/self/limits", limits),
            ("/proc/self/status", status),
        ];
        assert_eq!(least("", "", &files), (2 * MIB, 3 * MIB));
        let wide = limits.replace("3145728", "unlimited");
        let files = [files[0], ("/proc/self/limits", &wide), files[2]];
        assert_eq!(least("", "", &files), (6 * MIB, 8 * MIB));
        let none = wide.replace("8388608  ", "unlimited");
        let files = [files[0], ("/proc/self/limits", &none), files[2]];
        assert_eq!(least("", "", &files), (8 * MIB, 16 * MIB));
    }
}
