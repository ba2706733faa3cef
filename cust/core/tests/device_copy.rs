//! Tests of the types that may be copied to a device.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::num::{NonZeroU32, Wrapping};

use cust_core::DeviceCopy;

const fn device_copy<T: DeviceCopy>() {}

#[derive(Clone, Copy, DeviceCopy)]
struct Unit;

#[derive(Clone, Copy, DeviceCopy)]
struct Tuple(u8, [f32; 3], Option<NonZeroU32>);

#[derive(Clone, Copy, DeviceCopy)]
struct List {
    value: Tuple,
    next: *mut List,
}

#[derive(Clone, Copy, DeviceCopy)]
enum Choice {
    Nothing,
    One(u32),
    Named { x: f64, unit: Unit },
}

#[derive(Clone, Copy, DeviceCopy)]
union Either {
    float: f32,
    word: u32,
}

#[derive(Clone, Copy, DeviceCopy)]
struct Generic<T, const N: usize>
where
    T: PartialEq,
{
    values: [T; N],
    mark: PhantomData<T>,
}

#[test]
fn types_whose_fields_may_be_copied_may_be_copied() {
    const {
        device_copy::<Unit>();
        device_copy::<Tuple>();
        device_copy::<List>();
        device_copy::<Choice>();
        device_copy::<Either>();
        device_copy::<Generic<u16, 4>>();
        device_copy::<(
            u8,
            (i128, usize),
            [Wrapping<i8>; 2],
            Result<(), MaybeUninit<bool>>,
        )>();
        device_copy::<PhantomData<&()>>();
        device_copy::<(u8, u8, u8, u8, u8, u8, u8, char)>();
    }
    let list = List {
        value: Tuple(1, [0.0; 3], None),
        next: std::ptr::null_mut(),
    };
    assert!(list.next.is_null() && list.value.0 == 1 && list.value.1.len() == 3);
    assert!(list.value.2.is_none());
    let sizes = [
        Choice::Nothing,
        Choice::One(1),
        Choice::Named { x: 1.0, unit: Unit },
    ]
    .map(|it| match it {
        Choice::Nothing => 0.0,
        Choice::One(value) => f64::from(value),
        Choice::Named { x, unit: Unit } => x + 1.0,
    });
    assert_eq!(sizes, [0.0, 1.0, 2.0]);
    // SAFETY: every word is a float.
    assert_eq!(unsafe { Either { word: 0x3f80_0000 }.float }, 1.0);
    assert_eq!(
        Generic {
            values: [1, 2],
            mark: PhantomData
        }
        .values
        .len(),
        2
    );
}

#[test]
fn types_of_other_crates_may_be_copied() {
    #[cfg(feature = "glam")]
    const {
        device_copy::<(glam::Vec3, glam::Mat4, glam::Quat, glam::USizeVec2)>();
    }
    #[cfg(feature = "vek")]
    const {
        device_copy::<(vek::Vec3<f32>, vek::Mat4<f64>, vek::Quaternion<f32>)>();
    }
    #[cfg(feature = "mint")]
    const {
        device_copy::<(mint::Vector3<f32>, mint::RowMatrix3x4<f32>)>();
    }
    #[cfg(feature = "half")]
    const {
        device_copy::<(half::f16, half::bf16)>();
    }
    #[cfg(feature = "num-complex")]
    const {
        device_copy::<num_complex::Complex<f32>>();
    }
}
