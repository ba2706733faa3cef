//! The rungs of the ladder below `best`, which are compiled with the feature `ladder` alone.

mod per_thread;

pub use per_thread::{
    RandomPerThreadPhilox, RandomPerThreadXorwow, random_per_thread_philox,
    random_per_thread_xorwow,
};
