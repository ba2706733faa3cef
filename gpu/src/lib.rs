//! The kernels.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
pub mod probe {
    //! probe
    use cuda_std::prelude::*;
    /// k
    #[kernel(launch_bounds(256, 2), instances(f32, u8))]
    pub unsafe fn probe_rev<T: Copy>(input: Global<T>, output: GlobalMut<T>, n: u32) {
        let tile = shared![T; 256];
        let i = thread::index_1d_wide();
        let t = thread::thread_idx_x() as usize;
        if i < n as usize { tile.set(t, input.get(i)); }
        thread::sync_threads();
        if i < n as usize { output.set(i, tile.get(255 - t)); }
    }
}
