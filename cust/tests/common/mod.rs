//! The mock driver of the project's fault injection tests, in place of `libcuda.so.1`.

#[path = "../../../tests/src/faults/compile.rs"]
mod compile;
#[allow(dead_code)]
#[path = "../../../tests/src/faults/driver.rs"]
mod levers;

use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cust::context::Context;
use cust::stream::{Stream, StreamFlags};
pub use levers::{Driver, Plan};

/// The variable that names the library to open in the driver's place.
pub const LIBRARY: &str = "WARPWRIGHT_LIBCUDA";

/// Exclusive access to the mock driver, for one test at a time.
pub struct Mock {
    pub driver: &'static Driver,
    /// The resources that existed before: a test of failing calls leaves those that it could not release.
    there: (u64, String),
    _turn: MutexGuard<'static, ()>,
}

/// Compiles the driver and returns its path.
pub fn library() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libfault_driver.so");
    compile::compiled(&workspace, &library)
}

/// Returns the initialized driver with two devices of 1 GiB each.
pub fn mock() -> Mock {
    static TURN: Mutex<()> = Mutex::new(());
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let driver = DRIVER.get_or_init(|| {
        let library = library();
        // SAFETY: the tests run one at a time, and nothing else in the process reads the environment.
        unsafe { env::set_var(LIBRARY, &library) };
        let driver = Driver::open(&library).expect("the driver that was compiled");
        assert_eq!(cust::driver::library(), Ok(&*library.to_string_lossy()));
        driver
    });
    driver.devices(2, 1 << 30);
    driver.disarm();
    cust::init(cust::CudaFlags::empty()).expect("it starts");
    Mock {
        driver,
        there: (driver.live_in_all(), driver.wrong()),
        _turn: turn,
    }
}

impl Mock {
    /// Returns a context of the first device, and a stream.
    #[allow(dead_code)]
    pub fn open(&self) -> (Context, Stream) {
        let context = cust::quick_init().expect("a context");
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
        (context, stream)
    }

    /// Checks that all resources were released, and that no call violated the driver's rules.
    #[allow(dead_code)]
    pub fn nothing_is_left(&self) {
        assert_eq!((self.driver.live_in_all(), self.driver.wrong()), self.there);
    }
}
