//! What a model can do where it is served: what its server says, and what was tried.
//!
//! What a server says costs a few small questions and is asked at the start of a run. What is tried costs calls of the
//! model, is only done by `holon models probe`, and is remembered per server and model.

mod cache;
mod read;
#[cfg(feature = "http")]
mod trial;

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use cache::AbilityCache;
pub use read::{ServerMetadata, read};
#[cfg(feature = "http")]
pub use trial::{ModelTrial, try_out};

/// The programs that serve models, told apart by what they say about themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerKind {
    /// llama.cpp's server, or one that is built on it.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// vLLM.
    Vllm,
    /// LM Studio.
    LmStudio,
    /// Ollama.
    Ollama,
}

impl ServerKind {
    /// How its window is set, in words for a person.
    pub fn larger_window(self, tokens: u64) -> String {
        match self {
            Self::LlamaCpp => format!("start llama-server with `-c {tokens}`"),
            Self::Vllm => format!("start vLLM with `--max-model-len {tokens}`"),
            Self::LmStudio => format!("load the model in LM Studio with a context length of {tokens}"),
            Self::Ollama => format!("set OLLAMA_CONTEXT_LENGTH={tokens} for `ollama serve`"),
        }
    }
}

impl fmt::Display for ServerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LlamaCpp => "llama.cpp",
            Self::Vllm => "vLLM",
            Self::LmStudio => "LM Studio",
            Self::Ollama => "Ollama",
        })
    }
}

/// What a server says about a model without being made to work; what it does not say is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeclaredAbilities {
    /// What serves it.
    pub kind: Option<ServerKind>,
    /// Tokens of prompt and answer together, as the server is set up now.
    pub window: Option<u64>,
    /// The longest window that the model was made for.
    pub longest: Option<u64>,
    /// Whether it calls tools natively.
    pub tools: Option<bool>,
    /// Whether it can think before it answers.
    pub thinks: Option<bool>,
    /// Whether it looks at pictures.
    pub vision: Option<bool>,
}

/// What was found by asking a model for something small.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestedAbilities {
    /// When.
    pub at: Timestamp,
    /// Whether a tool was called natively.
    #[serde(default)]
    pub tools: Option<bool>,
    /// Whether an answer was held to a schema.
    #[serde(default)]
    pub schema: Option<bool>,
    /// Tokens of prompt that it reads in a second.
    #[serde(default)]
    pub reads_per_second: Option<f64>,
    /// Tokens that it writes in a second.
    #[serde(default)]
    pub writes_per_second: Option<f64>,
    /// The window while the model was loaded.
    #[serde(default)]
    pub window: Option<u64>,
}

/// Both together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelAbilities {
    /// What its server says.
    pub told: DeclaredAbilities,
    /// What was tried, if anything was.
    pub tested: Option<TestedAbilities>,
}

impl ModelAbilities {
    /// The window as it is; a model that is not loaded now has the one it had when it was.
    pub fn window(&self) -> Option<u64> {
        self.told.window.or_else(|| self.tested.as_ref().and_then(|tested| tested.window))
    }

    /// Whether tools are called natively: what was tried counts more than what is said.
    pub fn tools(&self) -> Option<bool> {
        self.tested.as_ref().and_then(|tested| tested.tools).or(self.told.tools)
    }

    /// Whether an answer is held to a schema, where that was tried.
    pub fn schema(&self) -> Option<bool> {
        self.tested.as_ref().and_then(|tested| tested.schema)
    }

    /// Whether nothing is known at all.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
