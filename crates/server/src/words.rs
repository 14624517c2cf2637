//! The few texts the server itself says to people, in the language they ask for.

use axum::http::{HeaderMap, header};

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReplyLanguage {
    /// Chinese, unless somebody asks for another.
    #[default]
    Chinese,
    /// English.
    English,
}

impl ReplyLanguage {
    /// The language a request prefers.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let wanted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let mut best = (Self::default(), 0.0_f32);
        for part in wanted.unwrap_or_default().split(',') {
            let (tag, weight) = part.trim().split_once(";q=").unwrap_or((part.trim(), "1"));
            let weight = weight.trim().parse::<f32>().unwrap_or(0.0);
            let primary = tag.split('-').next().unwrap_or_default().to_ascii_lowercase();
            let language = match primary.as_str() {
                "en" => Self::English,
                "zh" => Self::Chinese,
                _ => continue,
            };
            if weight > best.1 {
                best = (language, weight);
            }
        }
        best.0
    }

    /// The one of two texts that is in this language.
    pub(crate) fn pick(self, chinese: &str, english: &str) -> String {
        match self {
            Self::Chinese => chinese.to_owned(),
            Self::English => english.to_owned(),
        }
    }

    /// A call that plan mode does not make.
    pub(crate) fn plan_mode(self) -> String {
        self.pick(
            "当前为思考模式，请切换到 build 模式执行操作",
            "This is plan mode, which changes nothing: switch to build mode to do this",
        )
    }

    /// A turn that would not end.
    pub(crate) fn max_iterations(self, most: u64) -> String {
        match self {
            Self::Chinese => format!("本轮已达到 {most} 次模型调用上限，已停止"),
            Self::English => {
                format!("this turn asked the model {most} times, which is the limit, and was stopped")
            }
        }
    }

    pub(crate) fn cancelled(self) -> String {
        self.pick("已取消", "stopped on request")
    }

    pub(crate) fn interrupted(self) -> String {
        self.pick(
            "服务器在本轮进行中停止，已保存的内容不会丢失",
            "the server ended during this turn; nothing that was stored is lost",
        )
    }

    pub(crate) fn no_supervisor(self) -> String {
        self.pick("此对话尚无监督记录。", "The supervisor has nothing to report about this conversation yet.")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_preferred_language_counts() {
        let check = |header: &str, expect| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_LANGUAGE, header.parse().unwrap());
            assert_eq!(ReplyLanguage::of(&headers), expect, "{header}");
        };
        check("en", ReplyLanguage::English);
        check("en-GB,en;q=0.9,zh;q=0.8", ReplyLanguage::English);
        check("zh-CN,zh;q=0.9,en;q=0.8", ReplyLanguage::Chinese);
        check("de,en;q=0.5,zh;q=0.4", ReplyLanguage::English);
        check("de", ReplyLanguage::Chinese);
        check("en;q=banana", ReplyLanguage::Chinese);
        assert_eq!(ReplyLanguage::of(&HeaderMap::new()), ReplyLanguage::Chinese);
    }
}
