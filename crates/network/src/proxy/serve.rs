//! Takes connections in and finds out what each is for; a bad one never stops the others.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::head::ProxyHead;
use super::prefixed::{ClientStream, Prefixed};
use super::refusal_answer::{RefusalAnswer, is_json_client};
use super::requests::{self, RequestsFor};
use super::run_network::RunNetwork;
use super::tunnel;
use crate::permit::HostTarget;
use crate::record::RefusalReason;

/// The pause after a failed accept, such as when all descriptors are in use.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a client that was refused may take to read why.
const LINGER: Duration = Duration::from_secs(1);

/// Serves for ever.
pub(crate) async fn listen(listener: TcpListener, network: Arc<RunNetwork>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        tokio::spawn(serve(stream, Arc::clone(&network)));
    }
}

/// Serves one connection.
pub(crate) async fn serve<S: ClientStream>(stream: S, network: Arc<RunNetwork>) {
    let mut client = Prefixed::new(stream);
    let Ok(_place) = Arc::clone(&network.places).try_acquire_owned() else {
        let reason = RefusalReason::Limit { what: "too many connections at a time".to_owned() };
        let refusal = network.refuse(None, reason);
        return turn_away(client, &refusal, false).await;
    };
    let head =
        match timeout(network.limits.head_time, read_head(&mut client, network.limits.head_bytes)).await {
            Ok(Ok(Some(head))) => head,
            // Nothing was asked, or nobody waits for an answer.
            Ok(Ok(None)) | Err(_) => return,
            Ok(Err(what)) => {
                let refusal = network.refuse(None, RefusalReason::Malformed { what: what.to_owned() });
                return turn_away(client, &refusal, false).await;
            }
        };
    let json = head.all("user-agent").any(is_json_client);
    if head.method != "CONNECT" {
        return requests::serve(client, network, RequestsFor::Anywhere).await;
    }
    let target = match connect_target(&head) {
        Ok(target) => target,
        Err(reason) => {
            let refusal = network.refuse(None, reason);
            return turn_away(client, &refusal, json).await;
        }
    };
    client.skip(head.bytes);
    tunnel::serve(client, network, target, json).await;
}

/// Reads the first head; `None` when the client goes away before it says anything.
async fn read_head<S: ClientStream>(
    client: &mut Prefixed<S>,
    most: usize,
) -> Result<Option<ProxyHead>, &'static str> {
    loop {
        let more = client.look().await.unwrap_or(false);
        if let Some(head) = ProxyHead::read(client.ahead())? {
            return if head.bytes > most { Err("its head is too large") } else { Ok(Some(head)) };
        }
        if client.ahead().len() > most {
            return Err("its head is too large");
        }
        if !more {
            return if client.ahead().is_empty() { Ok(None) } else { Err("its head is cut off") };
        }
    }
}

fn connect_target(head: &ProxyHead) -> Result<HostTarget, RefusalReason> {
    let malformed = |what: String| RefusalReason::Malformed { what };
    let target = HostTarget::parse(&head.target, None).map_err(|error| malformed(error.to_string()))?;
    for host in head.all("host") {
        let text = String::from_utf8_lossy(host);
        // Some clients leave the port out, and some say nothing at all.
        let same =
            text.is_empty() || HostTarget::parse(&text, Some(target.port)).is_ok_and(|named| named == target);
        if !same {
            return Err(RefusalReason::OtherHost { named: text.chars().take(200).collect() });
        }
    }
    Ok(target)
}

/// Tells a refusal and takes in what was sent: a connection closed with something unread is reset, and then the client may never
/// see the answer.
pub(crate) async fn turn_away<S: ClientStream>(mut client: Prefixed<S>, refusal: &RefusalAnswer, json: bool) {
    let bytes = refusal.raw(json);
    let _ = timeout(LINGER, async {
        client.write_all(&bytes).await?;
        client.shutdown().await?;
        let mut buffer = [0; 4096];
        while client.read(&mut buffer).await? > 0 {}
        Ok::<_, std::io::Error>(())
    })
    .await;
}
