use sha2::{Digest, Sha256};

use super::write_double;

fn written(bits: u64) -> String {
    let mut out = String::new();
    write_double(&mut out, f64::from_bits(bits));
    out
}

#[test]
fn doubles_are_written_as_in_appendix_b_of_rfc_8785() {
    let table = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];
    for (bits, expected) in table {
        assert_eq!(written(bits), expected, "{bits:016x}");
    }
}

#[test]
fn every_layout_has_its_edges_where_ecmascript_has_them() {
    for (double, expected) in [
        (1.0, "1"),
        (10.0, "10"),
        (1.5, "1.5"),
        (123.456, "123.456"),
        (0.1, "0.1"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (1e20, "100000000000000000000"),
        (1.5e20, "150000000000000000000"),
        (1e21, "1e+21"),
        (1.5e21, "1.5e+21"),
        (-1e-10, "-1e-10"),
        (1e100, "1e+100"),
    ] {
        assert_eq!(written(f64::to_bits(double)), expected);
    }
}

/// The sample generator published by the authors of RFC 8785: fixed edge cases (`doubles.txt`), two
/// thousand neighbours of the smallest normal number, then doubles out of a chain of SHA-256 blocks.
fn published_samples() -> impl Iterator<Item = u64> {
    let fixed = include_str!("../../../tests/vectors/doubles.txt")
        .lines()
        .map(|line| u64::from_str_radix(line, 16).expect("one double in hexadecimal per line"));
    let neighbours = (0..2_000).map(|step| 0x0010_0000_0000_0000 + step);
    let mut block = [0_u8; 32];
    let random = std::iter::repeat_with(move || {
        block = Sha256::digest(block).into();
        let (words, _) = block.as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>()
    })
    .flatten()
    .filter(|&bits| f64::from_bits(bits).is_finite() && f64::from_bits(bits) != 0.0);
    fixed.chain(neighbours).chain(random)
}

#[test]
fn the_published_samples_have_the_published_digests() {
    let mut lines = Sha256::new();
    for (count, bits) in published_samples().enumerate() {
        let expected = match count {
            1_000 => "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687",
            10_000 => "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892",
            100_000 => "22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7",
            _ => "",
        };
        if !expected.is_empty() {
            let digest = data_encoding::HEXLOWER.encode(&lines.clone().finalize());
            assert_eq!(digest, expected, "after {count} samples");
        }
        if count == 100_000 {
            break;
        }
        lines.update(format!("{bits:x},{}\n", written(bits)));
    }
}

#[test]
fn a_written_double_reads_back_bit_for_bit() {
    for bits in published_samples().take(20_000) {
        let back: f64 = written(bits).parse().expect("a number");
        assert!(back.to_bits() == bits || bits << 1 == 0, "{bits:016x}");
    }
}
