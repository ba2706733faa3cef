//! A synthetic picture: hills in the haze under a low sun.
//!
//! It replaces a photograph if none is available: it has large smooth areas, edges, texture and fine grain, and therefore a
//! histogram with several peaks. Every pixel is a function of its position, the picture's size and the seed. The computation
//! uses only integer arithmetic and additions, multiplications and square roots of floats, so that every machine draws the same
//! picture.

use rayon::prelude::*;

/// The number of ridges behind each other.
const RIDGES: usize = 5;

/// Draws a picture of `width` x `height` pixels: gray values, row by row from the top.
///
/// The same arguments give the same picture on every machine. Features grow with the picture.
///
/// # Panics
/// Panics if `width * height` overflows `usize` or memory is insufficient.
///
/// ```
/// let picture = warpwright_cli::render::landscape(64, 48, 1);
/// assert_eq!(picture.len(), 64 * 48);
/// assert_eq!(picture, warpwright_cli::render::landscape(64, 48, 1));
/// assert_ne!(picture, warpwright_cli::render::landscape(64, 48, 2));
/// ```
pub fn landscape(width: usize, height: usize, seed: u64) -> Vec<u8> {
    let mut pixels = vec![0u8; width.checked_mul(height).expect("the picture is too large")];
    if pixels.is_empty() {
        return pixels;
    }
    let scene = Scene::new(width, height, seed);
    pixels.par_chunks_mut(width).enumerate().for_each_init(
        || Row::new(width),
        |row, (y, line)| scene.draw(row, y, line),
    );
    pixels
}

/// The values that are the same for all rows.
struct Scene {
    height: usize,
    seed: u32,
    /// For every ridge, from the farthest, and every column: the first row that belongs to the ridge.
    ridges: Vec<Vec<f32>>,
    /// The center and radius of the sun in pixels.
    sun: (f32, f32, f32),
}

/// Buffers for one row, which the next row reuses.
struct Row {
    clouds: Vec<f32>,
    ground: Vec<f32>,
}

impl Row {
    fn new(width: usize) -> Self {
        Row {
            clouds: vec![0.0; width],
            ground: vec![0.0; width],
        }
    }
}

impl Scene {
    fn new(width: usize, height: usize, seed: u64) -> Self {
        let seed = mix(seed as u32 ^ mix((seed >> 32) as u32));
        let size = height as f32;
        let ridges = (0..RIDGES)
            .map(|ridge| {
                let near = ridge as f32 / (RIDGES - 1) as f32;
                let base = size * (0.46 + 0.40 * near);
                let relief = size * (0.24 - 0.08 * near);
                let noise = fractal_line(width, height, seed ^ mix(100 + ridge as u32));
                noise.iter().map(|value| base - relief * value).collect()
            })
            .collect();
        let across = 0.25 + 0.5 * unit(mix(seed ^ 7));
        let sun = (
            across * width as f32,
            0.27 * size,
            0.055 * size.min(width as f32),
        );
        Scene {
            height,
            seed,
            ridges,
            sun,
        }
    }

    fn draw(&self, row: &mut Row, y: usize, line: &mut [u8]) {
        let size = self.height.max(2);
        // Clouds are flat, so their cells are wider than they are high.
        row.clouds.fill(0.0);
        for (octave, amplitude) in [(2, 0.5), (5, 0.3), (11, 0.2)] {
            let cell = (size / octave).max(1);
            add_noise(
                &mut row.clouds,
                y,
                (2 * cell, cell / 2 + 1),
                amplitude,
                self.seed ^ octave as u32,
            );
        }
        row.ground.fill(0.0);
        for (octave, amplitude) in [(24, 0.45), (80, 0.3), (260, 0.25)] {
            let cell = (size / octave).max(1);
            add_noise(
                &mut row.ground,
                y,
                (cell, cell / 2 + 1),
                amplitude,
                self.seed ^ octave as u32,
            );
        }
        let depth = y as f32 / self.height as f32;
        let row_seed = mix(self.seed ^ mix(y as u32));
        let textures = row.clouds.iter().zip(&row.ground);
        for ((x, pixel), (&clouds, &ground)) in line.iter_mut().enumerate().zip(textures) {
            let light = self.light(x, y as f32, depth, clouds, ground);
            // The sum of two uniform numbers: triangular grain like a sensor's, up to 4 levels.
            let hash = mix(row_seed.wrapping_add((x as u32).wrapping_mul(0x9e37_79b9)));
            let grain = ((hash & 0xffff) + (hash >> 16)) as f32 / 65_536.0 - 1.0;
            *pixel = (light + 4.0 * grain + 0.5).clamp(0.0, 255.0) as u8;
        }
    }

    /// Returns the light of one pixel before grain, 0 to 255.
    fn light(&self, x: usize, y: f32, depth: f32, clouds: f32, ground: f32) -> f32 {
        // The nearest ridge that reaches this height hides the others.
        for (ridge, tops) in self.ridges.iter().enumerate().rev() {
            let below = y - tops[x];
            if below >= 0.0 {
                let near = ridge as f32 / (RIDGES - 1) as f32;
                // Far hills are pale in the haze, and haze collects at the foot of each.
                let haze = 1.0 - near;
                let foot = (below / (0.25 * self.height as f32)).min(1.0);
                let texture = (ground - 0.5) * (8.0 + 58.0 * near);
                return 34.0 + 104.0 * haze + 26.0 * haze * foot + texture;
            }
        }
        let (sun_x, sun_y, radius) = self.sun;
        let (dx, dy) = (x as f32 - sun_x, y - sun_y);
        let distance = (dx * dx + dy * dy).sqrt() / radius.max(1.0);
        let glow = 60.0 / (1.0 + 0.35 * distance * distance);
        let disc = ((1.0 - distance) * 12.0).clamp(0.0, 1.0) * 40.0;
        let cloud = ((clouds - 0.5) * 3.2).clamp(0.0, 1.0) * 34.0;
        132.0 + 130.0 * depth * (1.0 - 0.35 * depth) + glow + disc + cloud
    }
}

/// Returns a hash of 32 bits. Every bit of the input affects every bit of the output. The rounds and constants are those of
/// Chris Wellons's `lowbias32`.
fn mix(mut value: u32) -> u32 {
    value ^= value >> 16;
    value = value.wrapping_mul(0x7feb_352d);
    value ^= value >> 15;
    value = value.wrapping_mul(0x846c_a68b);
    value ^ value >> 16
}

/// Returns a hash as a number from 0 to 1.
fn unit(hash: u32) -> f32 {
    (hash >> 8) as f32 / (1 << 24) as f32
}

/// Returns a curve from 0 to 1 that starts and ends flat.
fn ease(t: f32) -> f32 {
    t * t * (3.0 - 2.0 * t)
}

/// Returns the random height of one corner of the lattice.
fn corner(x: usize, y: usize, seed: u32) -> f32 {
    unit(mix(
        seed ^ mix((x as u32).wrapping_mul(0x9e37_79b9) ^ mix(y as u32))
    ))
}

/// Adds one octave of two-dimensional value noise, 0 to `amplitude`, to a row.
fn add_noise(row: &mut [f32], y: usize, cell: (usize, usize), amplitude: f32, seed: u32) {
    let (cell_width, cell_height) = cell;
    let (above, part) = (y / cell_height, y % cell_height);
    let down = ease(part as f32 / cell_height as f32);
    let height_at = |x| {
        let (top, bottom) = (corner(x, above, seed), corner(x, above + 1, seed));
        amplitude * (top + down * (bottom - top))
    };
    let step = 1.0 / cell_width as f32;
    let mut left = height_at(0);
    for (index, part) in row.chunks_mut(cell_width).enumerate() {
        let right = height_at(index + 1);
        for (offset, value) in part.iter_mut().enumerate() {
            *value += left + ease(offset as f32 * step) * (right - left);
        }
        left = right;
    }
}

/// Returns one-dimensional noise of several octaves, 0 to 1, as long as the picture is wide.
fn fractal_line(width: usize, height: usize, seed: u32) -> Vec<f32> {
    let mut line = vec![0.0; width];
    let mut amplitude = 0.5;
    for octave in 0..9u32 {
        let cell = (height.max(2) * 2 / 3) >> octave;
        if cell == 0 {
            break;
        }
        add_noise(&mut line, 0, (cell, 1), amplitude, seed ^ mix(octave));
        amplitude *= 0.5;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_the_same_on_every_machine() {
        let sum = |pixels: &[u8]| {
            pixels
                .iter()
                .fold(0xcbf2_9ce4_8422_2325_u64, |hash, &pixel| {
                    (hash ^ u64::from(pixel)).wrapping_mul(0x0000_0100_0000_01b3)
                })
        };
        assert_eq!(sum(&landscape(320, 200, 1)), 12_328_874_077_525_687_783);
        assert_ne!(landscape(320, 200, 1), landscape(320, 200, 2));
    }

    #[test]
    fn the_histogram_is_neither_flat_nor_narrow() {
        let pixels = landscape(512, 512, 1);
        let mut counts = [0usize; 256];
        pixels
            .iter()
            .for_each(|&pixel| counts[usize::from(pixel)] += 1);
        let used = counts.iter().filter(|&&count| count > 0).count();
        let most = counts.iter().max().copied().unwrap();
        assert!(used > 180, "only {used} grey values");
        assert!(
            most > 2 * pixels.len() / 256,
            "flat: the fullest bin holds {most}"
        );
        assert!(
            most < pixels.len() / 8,
            "narrow: the fullest bin holds {most}"
        );
    }

    #[test]
    fn every_size_is_drawn() {
        for (width, height) in [
            (0, 0),
            (0, 5),
            (5, 0),
            (1, 1),
            (1, 7),
            (7, 1),
            (2, 2),
            (33, 3),
        ] {
            assert_eq!(landscape(width, height, 3).len(), width * height);
        }
    }
}
