//! The logins agents keep, read and renewed on the host: what goes on a request, and until when.
//!
//! A [`CredentialProvider`] is all that the gateway and the host ask. Behind it is a key, a command, or the file an agent
//! keeps its login in. Such a file is renewed under the agent's own lock and written back, so that the agent outside goes on
//! with it; the tokens of a renewal are in a journal before anything else happens with them. What files look like, where
//! they are renewed and what an agent sees instead is data: `rules/logins.toml`.

mod command_credential;
mod credential;
mod credential_choice;
mod error;
mod file_login;
mod fixed_credential;
mod folder_lock;
mod held_lock;
mod json_comments;
mod known_login;
mod login_file;
mod login_placeholder;
mod login_survey;
mod login_text;
mod renewal;
mod renewal_journal;
mod renewal_process;
mod secret;
mod token_answer;
mod token_claims;
mod token_client;

pub use command_credential::CommandCredential;
pub use credential::{Credential, CredentialHeader, CredentialProvider, TokenHeader};
pub use credential_choice::{
    ChosenCredential, CredentialChoice, CredentialOffer, LoginOffer, choose_credential,
};
pub use error::LoginError;
pub use file_login::FileLogin;
pub use fixed_credential::FixedCredential;
pub use known_login::{
    AgentLockRule, EndForm, KnownLogin, LoginFields, PlaceholderRule, RenewalBody, RenewalRule, ServedWire,
    known_login, known_logins, logins_of,
};
pub use login_placeholder::{LoginPlaceholder, PlaceholderPlaces};
pub use login_survey::{LoginReport, LoginStanding, survey};
pub use login_text::{LoginTokens, parse};
pub use renewal::{Clock, RenewalJob, RenewalStep, Renewer};
pub use renewal_process::{
    RENEWAL_NAME, RenewalHere, RenewalProcess, RenewsLogin, become_renewer_if_asked, serve,
};
pub use secret::{Secret, SecretMark};
pub use token_answer::TokenAnswer;
