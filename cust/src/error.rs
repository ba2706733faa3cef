//! Errors: the driver's error codes, with names for the known ones.

use std::ffi::{CStr, c_char};
use std::fmt;

use crate::driver::{self, FIRST_MISSING, NO_DRIVER};
use crate::sys::{self, CUresult};

/// The code of [`CudaError::UnexpectedValue`].
const UNEXPECTED_VALUE: CUresult = 100_103;

/// A value, or an error.
pub type CudaResult<T> = Result<T, CudaError>;
/// The result of releasing a resource. A failure returns the error and the resource.
pub type DropResult<T> = Result<(), (CudaError, T)>;

macro_rules! errors {
    ($($variant:ident = $code:literal, $name:literal;)*) => {
        /// An error of the driver, or of this crate.
        ///
        /// Every number that the driver returns has a value: a number without a name here becomes [`Other`](Self::Other).
        /// The displayed text has the driver's name of the error, the number, and the driver's explanation.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CudaError {
            $(
                #[doc = concat!("`", $name, "` (", stringify!($code), ").")]
                $variant,
            )*
            /// An allocation of zero bytes, or of more bytes than a `usize` can hold (100100).
            InvalidMemoryAllocation,
            /// An error of OptiX (100101). This crate never returns it.
            OptixError,
            /// There is no CUDA driver that can be opened (100102).
            NoDriver,
            /// The driver returned a value that has no name in this crate (100103).
            UnexpectedValue,
            /// The driver is too old and lacks the function of this name (100200 and later).
            #[non_exhaustive]
            MissingFunction(&'static str),
            /// An error that has no name in this crate, with its number.
            #[non_exhaustive]
            Other(u32),
        }

        /// The driver's errors that have a name here, with their numbers and the driver's names.
        const NAMED: &[(CudaError, CUresult, &str)] = &[ $( (CudaError::$variant, $code, $name), )* ];

        impl CudaError {
            /// Returns the error of this number.
            pub fn from_code(code: u32) -> Self {
                match code {
                    $( $code => Self::$variant, )*
                    100_100 => Self::InvalidMemoryAllocation,
                    100_101 => Self::OptixError,
                    NO_DRIVER => Self::NoDriver,
                    UNEXPECTED_VALUE => Self::UnexpectedValue,
                    _ => driver::missing_function(code).map_or(Self::Other(code), Self::MissingFunction),
                }
            }

            /// Returns the number of the error.
            pub fn code(self) -> u32 {
                match self {
                    $( Self::$variant => $code, )*
                    Self::InvalidMemoryAllocation => 100_100,
                    Self::OptixError => 100_101,
                    Self::NoDriver => NO_DRIVER,
                    Self::UnexpectedValue => UNEXPECTED_VALUE,
                    Self::MissingFunction(name) => {
                        let index = sys::SYMBOLS.iter().position(|symbol| symbol.name() == name);
                        FIRST_MISSING + index.unwrap_or_default() as CUresult
                    }
                    Self::Other(code) => code,
                }
            }
        }
    };
}

errors! {
    InvalidValue = 1, "CUDA_ERROR_INVALID_VALUE";
    OutOfMemory = 2, "CUDA_ERROR_OUT_OF_MEMORY";
    NotInitialized = 3, "CUDA_ERROR_NOT_INITIALIZED";
    Deinitialized = 4, "CUDA_ERROR_DEINITIALIZED";
    ProfilerDisabled = 5, "CUDA_ERROR_PROFILER_DISABLED";
    ProfilerNotInitialized = 6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED";
    ProfilerAlreadyStarted = 7, "CUDA_ERROR_PROFILER_ALREADY_STARTED";
    ProfilerAlreadyStopped = 8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED";
    StubLibrary = 34, "CUDA_ERROR_STUB_LIBRARY";
    DeviceUnavailable = 46, "CUDA_ERROR_DEVICE_UNAVAILABLE";
    NoDevice = 100, "CUDA_ERROR_NO_DEVICE";
    InvalidDevice = 101, "CUDA_ERROR_INVALID_DEVICE";
    DeviceNotLicensed = 102, "CUDA_ERROR_DEVICE_NOT_LICENSED";
    InvalidImage = 200, "CUDA_ERROR_INVALID_IMAGE";
    InvalidContext = 201, "CUDA_ERROR_INVALID_CONTEXT";
    ContextAlreadyCurrent = 202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT";
    MapFailed = 205, "CUDA_ERROR_MAP_FAILED";
    UnmapFailed = 206, "CUDA_ERROR_UNMAP_FAILED";
    ArrayIsMapped = 207, "CUDA_ERROR_ARRAY_IS_MAPPED";
    AlreadyMapped = 208, "CUDA_ERROR_ALREADY_MAPPED";
    NoBinaryForGpu = 209, "CUDA_ERROR_NO_BINARY_FOR_GPU";
    AlreadyAcquired = 210, "CUDA_ERROR_ALREADY_ACQUIRED";
    NotMapped = 211, "CUDA_ERROR_NOT_MAPPED";
    NotMappedAsArray = 212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY";
    NotMappedAsPointer = 213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER";
    EccUncorrectable = 214, "CUDA_ERROR_ECC_UNCORRECTABLE";
    UnsupportedLimit = 215, "CUDA_ERROR_UNSUPPORTED_LIMIT";
    ContextAlreadyInUse = 216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE";
    PeerAccessUnsupported = 217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED";
    InvalidPtx = 218, "CUDA_ERROR_INVALID_PTX";
    InvalidGraphicsContext = 219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT";
    NvlinkUncorrectable = 220, "CUDA_ERROR_NVLINK_UNCORRECTABLE";
    JitCompilerNotFound = 221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND";
    UnsupportedPtxVersion = 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
    JitCompilationDisabled = 223, "CUDA_ERROR_JIT_COMPILATION_DISABLED";
    UnsupportedExecAffinity = 224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY";
    UnsupportedDevsideSync = 225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC";
    Contained = 226, "CUDA_ERROR_CONTAINED";
    InvalidSource = 300, "CUDA_ERROR_INVALID_SOURCE";
    FileNotFound = 301, "CUDA_ERROR_FILE_NOT_FOUND";
    SharedObjectSymbolNotFound = 302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND";
    SharedObjectInitFailed = 303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED";
    OperatingSystemError = 304, "CUDA_ERROR_OPERATING_SYSTEM";
    InvalidHandle = 400, "CUDA_ERROR_INVALID_HANDLE";
    IllegalState = 401, "CUDA_ERROR_ILLEGAL_STATE";
    LossyQuery = 402, "CUDA_ERROR_LOSSY_QUERY";
    NotFound = 500, "CUDA_ERROR_NOT_FOUND";
    NotReady = 600, "CUDA_ERROR_NOT_READY";
    IllegalAddress = 700, "CUDA_ERROR_ILLEGAL_ADDRESS";
    LaunchOutOfResources = 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
    LaunchTimeout = 702, "CUDA_ERROR_LAUNCH_TIMEOUT";
    LaunchIncompatibleTexturing = 703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING";
    PeerAccessAlreadyEnabled = 704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED";
    PeerAccessNotEnabled = 705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED";
    PrimaryContextActive = 708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE";
    ContextIsDestroyed = 709, "CUDA_ERROR_CONTEXT_IS_DESTROYED";
    AssertError = 710, "CUDA_ERROR_ASSERT";
    TooManyPeers = 711, "CUDA_ERROR_TOO_MANY_PEERS";
    HostMemoryAlreadyRegistered = 712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED";
    HostMemoryNotRegistered = 713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED";
    HardwareStackError = 714, "CUDA_ERROR_HARDWARE_STACK_ERROR";
    IllegalInstruction = 715, "CUDA_ERROR_ILLEGAL_INSTRUCTION";
    MisalignedAddress = 716, "CUDA_ERROR_MISALIGNED_ADDRESS";
    InvalidAddressSpace = 717, "CUDA_ERROR_INVALID_ADDRESS_SPACE";
    InvalidProgramCounter = 718, "CUDA_ERROR_INVALID_PC";
    LaunchFailed = 719, "CUDA_ERROR_LAUNCH_FAILED";
    CooperativeLaunchTooLarge = 720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE";
    NotPermitted = 800, "CUDA_ERROR_NOT_PERMITTED";
    NotSupported = 801, "CUDA_ERROR_NOT_SUPPORTED";
    SystemNotReady = 802, "CUDA_ERROR_SYSTEM_NOT_READY";
    SystemDriverMismatch = 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
    CompatNotSupportedOnDevice = 804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE";
    StreamCaptureUnsupported = 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
    StreamCaptureInvalidated = 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
    StreamCaptureMerge = 902, "CUDA_ERROR_STREAM_CAPTURE_MERGE";
    StreamCaptureUnmatched = 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED";
    StreamCaptureUnjoined = 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED";
    StreamCaptureIsolation = 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION";
    StreamCaptureImplicit = 906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT";
    CapturedEvent = 907, "CUDA_ERROR_CAPTURED_EVENT";
    StreamCaptureWrongThread = 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD";
    Timeout = 909, "CUDA_ERROR_TIMEOUT";
    GraphExecUpdateFailure = 910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE";
    ExternalDevice = 911, "CUDA_ERROR_EXTERNAL_DEVICE";
    InvalidClusterSize = 912, "CUDA_ERROR_INVALID_CLUSTER_SIZE";
    UnknownError = 999, "CUDA_ERROR_UNKNOWN";
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = self.code();
        let own = match self {
            Self::InvalidMemoryAllocation => {
                "an allocation of no bytes, or of more than can be counted"
            }
            Self::OptixError => "an error of OptiX",
            Self::UnexpectedValue => "the driver answered with a number that has no name here",
            Self::NoDriver => {
                let reason = driver::library().err().unwrap_or("it could not be opened");
                return write!(f, "no CUDA driver: {reason}");
            }
            Self::MissingFunction(name) => {
                let path = driver::library().unwrap_or_default();
                return write!(
                    f,
                    "the CUDA driver {path} has no function {name}: a newer driver is required"
                );
            }
            _ => {
                // SAFETY: both functions write a constant C string, or return an error.
                let (name, text) = unsafe {
                    (
                        driver_text(sys::cuGetErrorName, code),
                        driver_text(sys::cuGetErrorString, code),
                    )
                };
                let known = NAMED
                    .iter()
                    .find(|(_, number, _)| *number == code)
                    .map(|(_, _, name)| *name);
                let name = name.or(known).unwrap_or("unrecognized error");
                return match text {
                    Some(text) => write!(f, "{name} ({code}): {text}"),
                    None => write!(f, "{name} ({code})"),
                };
            }
        };
        f.write_str(own)
    }
}

/// Returns the text that the driver's function `ask` has for an error.
///
/// # Safety
/// If `ask` returns 0, it must have written null or a C string that is never freed.
unsafe fn driver_text(
    ask: unsafe fn(CUresult, *mut *const c_char) -> CUresult,
    code: CUresult,
) -> Option<&'static str> {
    let mut text = std::ptr::null();
    // SAFETY: the pointer is valid for a write; the caller guarantees the rest.
    unsafe {
        if ask(code, &mut text) != 0 || text.is_null() {
            return None;
        }
        CStr::from_ptr(text).to_str().ok()
    }
}

impl std::error::Error for CudaError {}

/// Converts the driver's error code to a result.
pub(crate) trait ToResult {
    /// Returns the error, if there is one.
    fn to_result(self) -> CudaResult<()>;
}

impl ToResult for CUresult {
    #[inline]
    fn to_result(self) -> CudaResult<()> {
        match self {
            sys::CUDA_SUCCESS => Ok(()),
            code => Err(CudaError::from_code(code)),
        }
    }
}

/// Returns the value that a function of the driver writes through its pointer.
#[inline]
pub(crate) fn written<T: Default>(call: impl FnOnce(&mut T) -> CUresult) -> CudaResult<T> {
    let mut value = T::default();
    call(&mut value).to_result()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_and_its_number_say_the_same() {
        for (error, code, _) in NAMED {
            assert_eq!((CudaError::from_code(*code), error.code()), (*error, *code));
        }
        let own = [100_100, 100_101, 100_102, 100_103, 100_200, 100_201];
        for code in own {
            assert_eq!(CudaError::from_code(code).code(), code);
            assert!(
                !matches!(CudaError::from_code(code), CudaError::Other(_)),
                "{code}"
            );
        }
        for code in [9, 9999, u32::MAX, FIRST_MISSING + sys::SYMBOLS.len() as u32] {
            assert_eq!(CudaError::from_code(code), CudaError::Other(code));
            assert_eq!(CudaError::from_code(code).code(), code);
        }
    }

    #[test]
    fn a_code_is_an_error_and_zero_is_none() {
        assert_eq!(0.to_result(), Ok(()));
        assert_eq!(2.to_result(), Err(CudaError::OutOfMemory));
        assert_eq!(9999.to_result(), Err(CudaError::Other(9999)));
    }
}
