//! Brings up the loopback of a new network namespace: one netlink message.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

use crate::words::{Doing as _, Problem};

const RTM_NEWLINK: u16 = 16;
const NLMSG_ERROR: u16 = 2;
/// `NLM_F_REQUEST | NLM_F_ACK`
const FLAGS: u16 = 1 | 4;
const IFF_UP: u32 = 1;
/// The loopback is the first interface of every network namespace.
const LOOPBACK: i32 = 1;

/// The header of 16 bytes, then `ifinfomsg` of 16.
fn message() -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[0..4].copy_from_slice(&32_u32.to_ne_bytes());
    bytes[4..6].copy_from_slice(&RTM_NEWLINK.to_ne_bytes());
    bytes[6..8].copy_from_slice(&FLAGS.to_ne_bytes());
    bytes[8..12].copy_from_slice(&1_u32.to_ne_bytes());
    bytes[20..24].copy_from_slice(&LOOPBACK.to_ne_bytes());
    bytes[24..28].copy_from_slice(&IFF_UP.to_ne_bytes());
    bytes[28..32].copy_from_slice(&IFF_UP.to_ne_bytes());
    bytes
}

/// Sets the loopback up, and waits for the answer.
pub(crate) fn up() -> Result<(), Problem> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)
        .doing("no netlink socket for the loopback")?;
    send(&socket, &message(), SendFlags::empty()).doing("the loopback cannot be set up")?;
    let mut answer = [0_u8; 256];
    let (length, _) =
        recv(&socket, &mut answer[..], RecvFlags::empty()).doing("no answer about the loopback")?;
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    let error = i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]);
    if length < 20 || kind != NLMSG_ERROR || error != 0 {
        return Err(Problem::Layer(format!("the loopback cannot be set up: error {}", -error)));
    }
    Ok(())
}
