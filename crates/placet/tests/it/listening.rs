//! A server on loopback has both addresses of its port, or does not start.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Output},
};

use placet_testkit::Program;

use crate::program::{binary, found};

/// Both loopback addresses at a port. `None` on a machine without IPv6.
fn both(port: u16) -> Option<[SocketAddr; 2]> {
    TcpListener::bind("[::1]:0").ok()?;
    Some([SocketAddr::from(([127, 0, 0, 1], port)), SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], port))])
}

fn serve(listen: &str) -> Output {
    let data = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(binary());
    command.args(["serve", "--listen", listen, "--data"]).arg(data.path()).env_remove("PLACET_DATABASE");
    let output = command.output().expect("it runs");
    assert!(!data.path().join("placet.db").exists(), "a server that cannot listen leaves no data");
    output
}

/// Whether a Placet server answers there.
fn answers(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let asked = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok() && answer.starts_with("HTTP/1.1 200")
}

#[test]
fn a_program_on_one_loopback_address_keeps_the_server_from_starting_and_is_named() {
    let Some(any) = both(0) else { return };
    for address in any {
        let squatter = TcpListener::bind(address).expect("a free port");
        let taken = squatter.local_addr().expect("an address");
        for host in ["127.0.0.1", "[::1]", "localhost"] {
            let output = serve(&format!("{host}:{}", taken.port()));
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success(), "{host} beside {taken}");
            assert!(output.stdout.is_empty(), "{host} beside {taken}: it does not say that it listens");
            assert!(said.contains(&format!("cannot listen on {taken}: another program")), "{host}: {said}");
        }
    }
}

#[test]
fn a_server_on_loopback_answers_on_both_addresses_and_keeps_other_programs_off_them() {
    if both(0).is_none() {
        return;
    }
    for listen in ["127.0.0.1:0", "[::1]:0", "localhost:0"] {
        let data = tempfile::tempdir().expect("a folder");
        let mut server = Program::serve_at(listen, binary(), data.path(), |_| {});
        let address: SocketAddr = server.address().parse().expect("an address with a port");
        let addresses = both(address.port()).expect("this machine has both");
        for address in addresses {
            assert!(answers(address), "{listen}: {address}");
            let taken = TcpListener::bind(address).expect_err("the server has it");
            assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse, "{listen}: {address}");
        }
        // As wide as a program can request.
        for wide in ["0.0.0.0", "[::]"] {
            assert!(TcpListener::bind(format!("{wide}:{}", address.port())).is_err(), "{listen}: {wide}");
        }
        server.kill();
        for address in addresses {
            found("the address to be free again", || TcpListener::bind(address).ok());
        }
    }
}
