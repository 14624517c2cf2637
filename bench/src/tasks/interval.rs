//! How sure a share is.

/// For 95 of 100.
const Z: f64 = 1.959_963_985;

/// Wilson's interval for `part` of `whole`, both ends between 0 and 1: it stays sensible for few trials and for shares
/// near the ends, where the usual one does not.
pub(crate) fn wilson(part: usize, whole: usize) -> (f64, f64) {
    if whole == 0 {
        return (0.0, 1.0);
    }
    let (n, share) = (whole as f64, part as f64 / whole as f64);
    let middle = share + Z * Z / (2.0 * n);
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    (((middle - spread) / scale).max(0.0), ((middle + spread) / scale).min(1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::wilson;

    #[test]
    fn known_intervals() {
        for (part, whole, low, high) in [
            (0, 0, 0.0, 1.0),
            (0, 7, 0.0, 0.354),
            (3, 7, 0.158, 0.750),
            (15, 30, 0.332, 0.668),
            (30, 30, 0.886, 1.0),
        ] {
            let (from, to) = wilson(part, whole);
            assert!(
                (from - low).abs() < 0.001 && (to - high).abs() < 0.001,
                "{part} of {whole}: {from} {to}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_share_is_inside(whole in 1usize..500, part in 0usize..500) {
            let part = part.min(whole);
            let (low, high) = wilson(part, whole);
            let share = part as f64 / whole as f64;
            prop_assert!(0.0 <= low && low <= share + 1e-9 && share <= high + 1e-9 && high <= 1.0);
        }
    }
}
