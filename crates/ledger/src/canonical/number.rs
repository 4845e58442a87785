//! Numbers as ECMAScript prints them, which is what RFC 8785 asks for.

/// Appends a finite double in the form of ECMAScript's `Number.prototype.toString`; −0 is `0`.
///
/// The standard library also finds the shortest digits that read back as the same double, but where two
/// are equally near it takes the larger and ECMAScript the even one: 1424953923781206.25 must be
/// written with a final `.2`.
pub(super) fn write_double(out: &mut String, double: f64) {
    out.push_str(ryu_js::Buffer::new().format_finite(double));
}

#[cfg(test)]
mod tests;
