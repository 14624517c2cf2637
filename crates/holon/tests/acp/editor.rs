//! An editor: the protocol's client library on two pipes to the real binary, and the model that answers.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, InitializeRequest, InitializeResponse, NewSessionRequest, PromptRequest,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome,
    SessionId, SessionNotification, StopReason, TextContent,
};
use agent_client_protocol::{Agent, Client, Error, Lines};
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use futures::{SinkExt, StreamExt};
use holon_testkit::ChatStage;
pub(crate) use holon_testkit::SLOWLY;
use serde_json::Value;

pub(crate) const BIN: &str = env!("CARGO_BIN_EXE_holon");

/// A repository and a model, with an editor in front of them.
pub(crate) struct EditorStage(ChatStage);

impl std::ops::Deref for EditorStage {
    type Target = ChatStage;

    fn deref(&self) -> &ChatStage {
        &self.0
    }
}

/// What a scene has at hand.
pub(crate) struct TestEditor {
    pub(crate) agent: ConnectionTo<Agent>,
    updates: UnboundedReceiver<Value>,
    /// What the person will choose, permission by permission; nothing chosen means cancelled.
    pub(crate) choices: Arc<Mutex<VecDeque<&'static str>>>,
    /// What the person was asked.
    pub(crate) permissions: Arc<Mutex<Vec<Value>>>,
}

impl EditorStage {
    pub(crate) fn new(cassette: &str) -> Self {
        Self(ChatStage::new(BIN, cassette))
    }

    /// Starts `holon acp` and hands over its two ends and the process.
    pub(crate) fn start(&self, args: &str) -> (File, File, holon_testkit::RunningCommand) {
        let [from, to] = ["from", "to"].map(|name| self.fifo(name));
        let [binary, there, back] = [self.env.binary(), &to, &from].map(|path| path.display().to_string());
        let line = format!("exec '{binary}' acp {args} < '{there}' > '{back}'");
        let call = self.env.program("sh").args(["-c", &line]);
        let running = self.with_model(call).spawn();
        (File::options().write(true).open(&to).unwrap(), File::open(&from).unwrap(), running)
    }

    /// Plays a scene with an editor; what the agent says is protocol and nothing else, and it ends when the editor does.
    pub(crate) fn edit(&self, scene: impl AsyncFnOnce(&mut TestEditor) -> Result<(), Error>) {
        let (mut there, back, running) = self.start("");
        let (line, lines) = unbounded();
        let told = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&told);
        let reader = std::thread::spawn(move || {
            for text in BufReader::new(back).lines() {
                let text = text.unwrap();
                let message: Value = serde_json::from_str(&text).expect("nothing but protocol");
                assert_eq!(message["jsonrpc"], "2.0", "{message}");
                counted.fetch_add(usize::from(message["method"] == "session/update"), Ordering::SeqCst);
                let _ = line.unbounded_send(Ok(text));
            }
        });
        let (say, mut said) = unbounded::<String>();
        let writer = std::thread::spawn(move || {
            while let Some(text) = futures::executor::block_on(said.next()) {
                writeln!(there, "{text}").unwrap();
            }
        });
        let (tell, updates) = unbounded();
        let understood = Arc::new(AtomicUsize::new(0));
        let heard = Arc::clone(&understood);
        let choices: Arc<Mutex<VecDeque<&'static str>>> = Arc::default();
        let permissions: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (chosen, wanted) = (Arc::clone(&choices), Arc::clone(&permissions));
        let connection = Client
            .v1()
            .on_receive_notification(
                async move |notification: SessionNotification, _| {
                    heard.fetch_add(1, Ordering::SeqCst);
                    let _ = tell.unbounded_send(serde_json::to_value(&notification.update).unwrap());
                    Ok(())
                },
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    wanted.lock().unwrap().push(serde_json::to_value(&request).unwrap());
                    let outcome = match chosen.lock().unwrap().pop_front() {
                        Some(id) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id)),
                        None => RequestPermissionOutcome::Cancelled,
                    };
                    responder.respond(RequestPermissionResponse::new(outcome))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(
                Lines::new(say.sink_map_err(std::io::Error::other), lines),
                async move |agent: ConnectionTo<Agent>| {
                    let mut editor = TestEditor { agent, updates, choices, permissions };
                    scene(&mut editor).await
                },
            );
        futures::executor::block_on(connection).unwrap();
        writer.join().unwrap();
        running.wait().assert_code(0);
        reader.join().unwrap();
        assert_eq!(
            understood.load(Ordering::SeqCst),
            told.load(Ordering::SeqCst),
            "every update is understood"
        );
        self.env.assert_nothing_left();
    }
}

impl TestEditor {
    pub(crate) async fn initialize(&self) -> Result<InitializeResponse, Error> {
        self.agent.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await
    }

    /// A session about the stage's repository.
    pub(crate) async fn open(&self, stage: &EditorStage) -> Result<SessionId, Error> {
        self.initialize().await?;
        let made = self.agent.send_request(NewSessionRequest::new(stage.repo.path())).block_task().await?;
        Ok(made.session_id)
    }

    /// Says something and gives the stop reason and all updates up to it.
    pub(crate) async fn say(
        &mut self,
        session: &SessionId,
        text: &str,
    ) -> Result<(StopReason, Vec<Value>), Error> {
        let blocks = vec![ContentBlock::Text(TextContent::new(text))];
        self.send(session, blocks).await
    }

    pub(crate) async fn send(
        &mut self,
        session: &SessionId,
        blocks: Vec<ContentBlock>,
    ) -> Result<(StopReason, Vec<Value>), Error> {
        let request = PromptRequest::new(session.clone(), blocks);
        let response = self.agent.send_request(request).block_task().await?;
        Ok((response.stop_reason, self.so_far()))
    }

    /// The updates that came since this was asked last.
    pub(crate) fn so_far(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.updates.try_recv().ok()).collect()
    }

    /// The next update, when it comes.
    pub(crate) async fn next(&mut self) -> Value {
        self.updates.next().await.expect("more updates")
    }

    /// Waits for an update of a kind.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let update = self.next().await;
            if update["sessionUpdate"] == kind {
                return update;
            }
        }
    }
}

/// The updates of a kind.
pub(crate) fn of<'a>(updates: &'a [Value], kind: &str) -> Vec<&'a Value> {
    updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
}

/// The words of a kind, joined.
pub(crate) fn words(updates: &[Value], kind: &str) -> String {
    of(updates, kind).iter().map(|update| update["content"]["text"].as_str().unwrap_or_default()).collect()
}
