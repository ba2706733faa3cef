//! Architectures and PTX versions.

use std::fmt;
use std::str::FromStr;

/// A version of the PTX instruction set, `major.minor`.
///
/// A driver loads PTX up to the version that it was released for: 7.0 needs driver 450 or newer, 7.8 needs 520, 8.0 needs
/// 525, 8.7 needs 570.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion {
    /// The major version.
    pub major: u8,
    /// The minor version, one digit.
    pub minor: u8,
}

impl PtxVersion {
    /// Creates the version `major.minor`.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// Returns LLVM's name of the target feature: `+ptx78`.
    pub(crate) fn feature(self) -> String {
        format!("+ptx{}{}", self.major, self.minor)
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The error of parsing a text that names no architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseArchError(String);

impl fmt::Display for ParseArchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = NvvmArch::ALL.iter().map(|arch| arch.sm()).collect();
        write!(
            f,
            "architecture: one of {} required, given `{}`",
            known.join(", "),
            self.0
        )
    }
}

impl std::error::Error for ParseArchError {}

macro_rules! architectures {
    ($($variant:ident $sm:literal ($major:literal, $minor:literal),)*) => {
        /// A GPU architecture, by its compute capability.
        ///
        /// PTX for an architecture runs on that architecture and all later ones. Architectures with a letter are
        /// exceptions: `a` runs on exactly that architecture, `f` on its family. CUDA 13 renames `sm_101` to `sm_110`: its
        /// `ptxas` no longer accepts the old name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum NvvmArch {
            $(
                #[doc = concat!("`", $sm, "`")]
                $variant,
            )*
        }

        impl NvvmArch {
            /// Every architecture, oldest first.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the name in `ptxas`, LLVM and rustc: `sm_80`.
            pub const fn sm(self) -> &'static str {
                match self { $(Self::$variant => $sm,)* }
            }

            /// Returns the lowest PTX version that supports this architecture.
            pub const fn minimum_ptx_version(self) -> PtxVersion {
                match self { $(Self::$variant => PtxVersion::new($major, $minor),)* }
            }
        }
    };
}

architectures! {
    Compute35 "sm_35" (3, 2),
    Compute37 "sm_37" (4, 1),
    Compute50 "sm_50" (4, 0),
    Compute52 "sm_52" (4, 1),
    Compute53 "sm_53" (4, 2),
    Compute60 "sm_60" (5, 0),
    Compute61 "sm_61" (5, 0),
    Compute62 "sm_62" (5, 0),
    Compute70 "sm_70" (6, 0),
    Compute72 "sm_72" (6, 1),
    Compute75 "sm_75" (6, 3),
    Compute80 "sm_80" (7, 0),
    Compute86 "sm_86" (7, 1),
    Compute87 "sm_87" (7, 4),
    Compute88 "sm_88" (9, 0),
    Compute89 "sm_89" (7, 8),
    Compute90 "sm_90" (7, 8),
    Compute90a "sm_90a" (8, 0),
    Compute100 "sm_100" (8, 6),
    Compute100a "sm_100a" (8, 6),
    Compute100f "sm_100f" (8, 8),
    Compute101 "sm_101" (8, 6),
    Compute101a "sm_101a" (8, 6),
    Compute101f "sm_101f" (8, 8),
    Compute103 "sm_103" (8, 8),
    Compute103a "sm_103a" (8, 8),
    Compute103f "sm_103f" (8, 8),
    Compute110 "sm_110" (9, 0),
    Compute110a "sm_110a" (9, 0),
    Compute110f "sm_110f" (9, 0),
    Compute120 "sm_120" (8, 7),
    Compute120a "sm_120a" (8, 7),
    Compute120f "sm_120f" (8, 8),
    Compute121 "sm_121" (8, 8),
    Compute121a "sm_121a" (8, 8),
    Compute121f "sm_121f" (8, 8),
}

impl NvvmArch {
    /// Returns the default PTX version: the lowest that supports the architecture, so that old drivers accept it, but at
    /// least 7.0 (CUDA 11.0), which has all instructions of `cuda_std`. It is 7.0 for `sm_75` and `sm_80`, 7.8 for `sm_90`
    /// and 8.0 for `sm_90a`.
    ///
    /// A kernel with newer instructions in `asm!` needs a higher version, set by
    /// [`CudaBuilder::ptx_version`](crate::CudaBuilder::ptx_version). `ptxas` names the version that an instruction needs.
    pub const fn default_ptx_version(self) -> PtxVersion {
        let minimum = self.minimum_ptx_version();
        if minimum.major < 7 {
            PtxVersion::new(7, 0)
        } else {
            minimum
        }
    }

    /// Returns the name of Rust-CUDA's target feature: `compute_80`.
    pub fn compute(self) -> String {
        self.sm().replacen("sm_", "compute_", 1)
    }

    /// Returns the architectures whose code this one can run: itself and all earlier ones without a letter. If it has a
    /// letter, also the family's earlier ones of letter `f`.
    pub(crate) fn included(self) -> impl Iterator<Item = Self> {
        let (number, letter) = self.parts();
        Self::ALL.iter().copied().filter(move |other| {
            let (other_number, other_letter) = other.parts();
            match other_letter {
                None => other_number <= number,
                Some('f') => {
                    letter.is_some() && other_number / 10 == number / 10 && other_number <= number
                }
                Some(_) => *other == self,
            }
        })
    }

    /// Returns the compute capability times ten, and the letter.
    pub(crate) fn parts(self) -> (u32, Option<char>) {
        let name = &self.sm()["sm_".len()..];
        let digits = name.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        (
            digits.parse().unwrap_or(0),
            name[digits.len()..].chars().next(),
        )
    }

    /// Returns the value of the environment variable `CUDA_ARCH` for the device crate at compile time: the compute
    /// capability times ten, `800` for `sm_80`, without a letter.
    pub(crate) fn cuda_arch(self) -> String {
        let digits: String = self.sm().chars().filter(char::is_ascii_digit).collect();
        format!("{digits}0")
    }
}

impl Default for NvvmArch {
    /// Returns `Compute75`, the oldest architecture that current CUDA toolkits assemble for.
    fn default() -> Self {
        Self::Compute75
    }
}

impl fmt::Display for NvvmArch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sm())
    }
}

impl FromStr for NvvmArch {
    type Err = ParseArchError;

    /// Parses `sm_80`, `compute_80` or `80`.
    fn from_str(text: &str) -> Result<Self, ParseArchError> {
        let number = text
            .strip_prefix("sm_")
            .or_else(|| text.strip_prefix("compute_"));
        let number = number.unwrap_or(text);
        Self::ALL
            .iter()
            .copied()
            .find(|arch| arch.sm()["sm_".len()..] == *number)
            .ok_or_else(|| ParseArchError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_includes_the_earlier_ones_and_its_family() {
        let included = |arch: NvvmArch| arch.included().map(NvvmArch::sm).collect::<Vec<_>>();
        let old = [
            "sm_35", "sm_37", "sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70",
            "sm_72", "sm_75",
        ];
        assert_eq!(included(NvvmArch::Compute75), old);
        let later = &included(NvvmArch::Compute101f)[old.len()..];
        let expected = [
            "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_100", "sm_100f", "sm_101",
            "sm_101f",
        ];
        assert_eq!(later, expected);
        let exact = included(NvvmArch::Compute120a);
        assert!(
            exact.contains(&"sm_120a") && exact.contains(&"sm_120f") && !exact.contains(&"sm_100f")
        );
        assert!(!exact.contains(&"sm_90a") && !included(NvvmArch::Compute120).contains(&"sm_120f"));
    }

    #[test]
    fn names_are_read_back() {
        for &arch in NvvmArch::ALL {
            assert_eq!(arch.sm().parse(), Ok(arch));
        }
        assert_eq!(
            NvvmArch::Compute90a.compute().parse(),
            Ok(NvvmArch::Compute90a)
        );
        assert_eq!("compute_75".parse(), Ok(NvvmArch::Compute75));
        assert_eq!("90a".parse(), Ok(NvvmArch::Compute90a));
        let error = "sm_81".parse::<NvvmArch>().unwrap_err().to_string();
        assert!(
            error.contains("sm_80") && error.ends_with("given `sm_81`"),
            "{error}"
        );
    }

    #[test]
    fn default_versions_are_no_lower_than_the_minimum() {
        for &arch in NvvmArch::ALL {
            assert!(arch.default_ptx_version() >= arch.minimum_ptx_version());
        }
        let default = |arch: NvvmArch| arch.default_ptx_version().to_string();
        assert_eq!(default(NvvmArch::Compute52), "7.0");
        assert_eq!(default(NvvmArch::Compute75), "7.0");
        assert_eq!(default(NvvmArch::Compute80), "7.0");
        assert_eq!(default(NvvmArch::Compute90a), "8.0");
    }

    /// By default LLVM writes the lowest version that supports an architecture.
    #[test]
    fn the_table_is_llvms_from_sm_75_on() {
        let options = crate::ToolchainOptions::default();
        let llc = crate::Toolchain::install(&options, false)
            .unwrap()
            .tool("llc");
        let run = |arguments: &[&str]| {
            let mut command = std::process::Command::new(&llc);
            command.arg("-mtriple=nvptx64-nvidia-cuda").args(arguments);
            let output = command.stdin(std::process::Stdio::null()).output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            String::from_utf8(text).unwrap()
        };
        let mut known: Vec<NvvmArch> = Vec::new();
        let help = run(&["-mcpu=help"]);
        let processors = help.lines().filter(|line| line.ends_with(" processor."));
        for name in processors.filter_map(|line| line.split_whitespace().next()) {
            let digits = name.trim_matches(|c: char| !c.is_ascii_digit());
            if digits.parse::<u32>().unwrap() < 75 {
                continue;
            }
            let arch: NvvmArch = name.parse().unwrap();
            let ptx = run(&[&format!("-mcpu={name}")]);
            let version = format!(".version {}\n", arch.minimum_ptx_version());
            assert!(ptx.contains(&version), "{name}: {version} in {ptx}");
            known.push(arch);
        }
        known.sort();
        let first = NvvmArch::ALL
            .iter()
            .position(|arch| *arch == NvvmArch::Compute75);
        assert_eq!(known, NvvmArch::ALL[first.unwrap()..]);
    }

    #[test]
    fn cuda_arch_has_upstreams_form() {
        assert_eq!(NvvmArch::Compute80.cuda_arch(), "800");
        assert_eq!(NvvmArch::Compute90a.cuda_arch(), "900");
        assert_eq!(NvvmArch::Compute103f.cuda_arch(), "1030");
        assert_eq!(NvvmArch::Compute120.cuda_arch(), "1200");
    }

    #[test]
    fn feature_is_llvms_name() {
        assert_eq!(PtxVersion::new(7, 8).feature(), "+ptx78");
    }
}
