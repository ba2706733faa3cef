//! Injects faults into the CUDA driver's calls, and counts those that the library handled.
//!
//! ```text
//! injected-faults          with the mock driver's devices
//! injected-faults real     with this machine's driver
//! ```

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    use std::process::{Command, ExitCode};
    use warpwright_tests::faults::{self, Behind};

    let run = || {
        if let Some(behind) = faults::is_child() {
            return faults::child(behind).map(|counts| counts.to_string());
        }
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let behind = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => Behind::Mock,
            ["real"] => Behind::RealDriver,
            _ => return Err("`real` or nothing required".to_owned()),
        };
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        faults::in_child(&mut Command::new(own), behind)
    };
    match run() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("injected-faults: {why}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("injected-faults: x86-64 Linux required: the mock driver is made for it alone");
    std::process::exit(1);
}
