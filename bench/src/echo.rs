//! The requests of a run, sent again by nobody in particular: what the model's server takes by itself.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::BenchFailure;
use crate::bench_model::AgentRequest;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(30);
/// How an answer in chunks ends.
const END: &[u8] = b"0\r\n\r\n";

/// Sends all of them over one connection, each after the answer to the one before, and gives the time for one.
pub(crate) fn each(base: &str, requests: &[AgentRequest]) -> Result<Duration, BenchFailure> {
    let broken = |e: std::io::Error| format!("{base}: {e}");
    let address = base.trim_start_matches("http://").split('/').next().unwrap_or_default();
    let count = u32::try_from(requests.len()).unwrap_or(u32::MAX);
    if count == 0 {
        return Err("the run asked the model nothing".to_owned());
    }
    let packets: Vec<String> = requests.iter().map(|request| packet(address, request)).collect();
    let mut stream = TcpStream::connect(address).map_err(broken)?;
    stream.set_nodelay(true).map_err(broken)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
    let began = Instant::now();
    for packet in packets {
        stream.write_all(packet.as_bytes()).map_err(broken)?;
        hear_out(&mut stream).map_err(broken)?;
    }
    Ok(began.elapsed() / count)
}

fn packet(address: &str, request: &AgentRequest) -> String {
    format!(
        "POST {} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
        request.path,
        request.body.len(),
        request.body
    )
}

fn hear_out(stream: &mut TcpStream) -> std::io::Result<()> {
    let (mut heard, mut piece) = (Vec::new(), [0; 16 * 1024]);
    while !heard.ends_with(END) {
        match stream.read(&mut piece)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            length => heard.extend_from_slice(&piece[..length]),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::bench_model::{BenchModel, ModelRole};

    use super::*;

    #[test]
    fn every_request_is_answered_and_counted() {
        let mind = BenchModel::start();
        mind.prepare(&ModelRole::default());
        let body = r#"{"model":"m","stream":true,"tools":[{"name":"execute"}]}"#.to_owned();
        let request = AgentRequest { path: "/v1/messages".to_owned(), body };
        assert!(each(&mind.base(), &[]).is_err());
        assert!(!each(&mind.base(), &vec![request; 3]).unwrap().is_zero());
        assert_eq!(mind.sight().unwrap().rounds, 3);
    }
}
