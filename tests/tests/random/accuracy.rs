//! How far the transformations are from what they stand for.

use cuda_std::random::{
    MOST_NORMAL_F32, MOST_NORMAL_F64, exp_f32, exp_f64, exp_moderate_f32, exp_moderate_f64,
    normal_pair_f32, normal_pair_f64, uniform_f32, uniform_f64,
};

/// Words all over their range, and those at the ends.
fn sample() -> impl Iterator<Item = u32> {
    let ends = (0..32).flat_map(|bit| [1 << bit, (1_u32 << bit).wrapping_neg(), (1 << bit) - 1]);
    ends.chain((0..400_000_u32).map(|i| i.wrapping_mul(0x9e37_79b9)))
}

/// The error in units in the last place of an `f32` of the right value.
fn ulps_f32(got: f32, want: f64) -> f64 {
    let unit = f64::from(f32::EPSILON) * 2.0_f64.powi(want.abs().log2().floor() as i32);
    (f64::from(got) - want).abs() / unit
}

#[test]
fn normal_pairs_in_f32_are_within_four_units() {
    let mut worst = (0.0_f64, 0, 0);
    for (i, first) in sample().enumerate() {
        let second = sample().nth(i % 96).unwrap_or(0) ^ (i as u32).wrapping_mul(0x85eb_ca6b);
        let (x, y) = normal_pair_f32(first, second);
        let radius = (-2.0 * f64::from(uniform_f32(first)).ln()).sqrt();
        // As documented: 30 bits of a quarter turn, then an exchange and a sign.
        let part = f64::from((second << 2) as i32) / 4_294_967_296.0;
        let (sine, cosine) = (part * std::f64::consts::FRAC_PI_2).sin_cos();
        let cosine = if second >> 31 == 0 { cosine } else { -cosine };
        let (a, b) = if second >> 30 & 1 == 0 {
            (cosine, sine)
        } else {
            (sine, cosine)
        };
        for (got, want) in [(x, radius * a), (y, radius * b)] {
            if want == 0.0 {
                // A radius of 2^-32 for one of 0, as documented.
                let most = if radius == 0.0 {
                    2.0_f32.powi(-32)
                } else {
                    0.0
                };
                assert!(got.abs() <= most, "{first} {second}: {got}");
                continue;
            }
            let error = ulps_f32(got, want);
            assert!(error.is_finite(), "{first} {second}");
            if error > worst.0 {
                worst = (error, first, second);
            }
        }
    }
    println!("normal_pair_f32: {worst:?} units in the last place");
    assert!(worst.0 <= 4.0, "{worst:?}");
    let largest = normal_pair_f32(0, 0).0;
    assert!((largest - 6.763_8).abs() < 1e-3, "{largest}");
}

#[test]
fn normal_pairs_in_f64_are_those_of_the_host() {
    let mut worst = 0.0_f64;
    let words: Vec<u32> = sample().collect();
    for quad in words.chunks_exact(4) {
        let (x, y) = normal_pair_f64([quad[0], quad[1], quad[2], quad[3]]);
        let radius = (-2.0 * uniform_f64(quad[0], quad[1]).ln()).sqrt();
        let bits = u64::from(quad[2]) | u64::from(quad[3]) << 32;
        let part = (bits << 2) as i64 as f64 / 18_446_744_073_709_551_616.0;
        let (sine, cosine) = (part * std::f64::consts::FRAC_PI_2).sin_cos();
        let cosine = if bits >> 63 == 0 { cosine } else { -cosine };
        let (a, b) = if bits >> 62 & 1 == 0 {
            (cosine, sine)
        } else {
            (sine, cosine)
        };
        for (got, want) in [(x, radius * a), (y, radius * b)] {
            let error = (got - want).abs() / want.abs().max(f64::MIN_POSITIVE);
            worst = worst.max(error / f64::EPSILON);
            assert!(error <= 6.0 * f64::EPSILON, "{quad:?}: {got} and {want}");
        }
    }
    println!("normal_pair_f64: {worst} units of 2^-52 from the host's functions");
}

#[test]
fn no_normal_number_is_larger_than_stated() {
    let (most, _) = normal_pair_f32(0, 0);
    assert!(
        (0.99 * MOST_NORMAL_F32..MOST_NORMAL_F32).contains(&most),
        "{most}"
    );
    let (most, _) = normal_pair_f64([0; 4]);
    assert!(
        (0.99 * MOST_NORMAL_F64..MOST_NORMAL_F64).contains(&most),
        "{most}"
    );
}

#[test]
fn powers_of_e_are_within_two_units() {
    let mut worst = 0.0_f64;
    for i in -870_000..=880_000 {
        let x = i as f32 * 1e-4;
        worst = worst.max(ulps_f32(exp_f32(x), f64::from(x).exp()));
        assert_eq!(exp_moderate_f32(x), exp_f32(x), "{x}");
    }
    println!("exp_f32: {worst} units in the last place");
    assert!(worst <= 2.0, "{worst}");
    let mut worst = 0.0_f64;
    for i in -708_000..=709_000 {
        let x = f64::from(i) * 1e-3;
        worst = worst.max((exp_f64(x) - x.exp()).abs() / x.exp() / f64::EPSILON);
        assert_eq!(exp_moderate_f64(x), exp_f64(x), "{x}");
    }
    println!("exp_f64: {worst} units of 2^-52 from the host's function");
    assert!(worst <= 2.0, "{worst}");
}

#[test]
fn powers_of_e_have_their_limits() {
    assert_eq!(exp_f32(0.0), 1.0);
    assert_eq!(exp_f64(0.0), 1.0);
    assert_eq!(exp_f32(f32::INFINITY), f32::INFINITY);
    assert_eq!(exp_f64(f64::INFINITY), f64::INFINITY);
    assert_eq!(exp_f32(f32::NEG_INFINITY), 0.0);
    assert_eq!(exp_f64(f64::NEG_INFINITY), 0.0);
    assert_eq!(exp_f32(88.8), f32::INFINITY);
    assert_eq!(exp_f64(709.8), f64::INFINITY);
    assert_eq!(exp_f32(-103.5), f32::from_bits(1));
    assert_eq!(exp_f64(-744.5), f64::from_bits(1));
}
