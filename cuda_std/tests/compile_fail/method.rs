use cuda_std::prelude::*;

struct Type;

impl Type {
    #[kernel]
    pub unsafe fn method(&self, output: GlobalMut<f32>) {
        output.set(0, 1.0);
    }
}

fn main() {}
