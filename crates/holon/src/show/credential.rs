//! Which credential runs use here, and why.

use holon_host::AgentCredential;

use crate::show::table::TextTable;
use crate::terminal::{TerminalStream, TextStyle, visible};

/// A section with a row for each agent.
pub(crate) fn section(credentials: &[AgentCredential], stream: TerminalStream) -> String {
    let mut table = TextTable::indented(2);
    for credential in credentials {
        table.row([credential.agent.as_str(), &visible(&credential.choice.reasons.join(" "))]);
    }
    format!("{}\n{}", stream.paint(TextStyle::Bold, "Credentials, when none is named"), table.render(stream))
}
