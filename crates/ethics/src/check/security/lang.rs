//! Languages by the name of a file, and how each writes comments and strings.

/// A language or a family of languages that are written alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum CodeLanguage {
    Py,
    Js,
    Java,
    Kt,
    Scala,
    Go,
    Rs,
    C,
    Cs,
    Php,
    Rb,
    Swift,
    Dart,
    Ex,
    Pl,
    Lua,
    Sh,
    Ps,
    Sql,
    Html,
}

/// How values get into a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interpolation {
    None,
    /// `{x}`, as in `f"{x}"`.
    Brace,
    /// `$x` and `${x}`.
    Dollar,
    /// `${x}` alone.
    DollarBrace,
    /// `$x`, `${x}` and `$(x)`.
    Shell,
    /// `#{x}`.
    Hash,
    /// `\(x)`.
    Backslash,
}

impl CodeLanguage {
    pub(super) const ALL: [(Self, &'static str); 20] = [
        (Self::Py, "py"),
        (Self::Js, "js"),
        (Self::Java, "java"),
        (Self::Kt, "kt"),
        (Self::Scala, "scala"),
        (Self::Go, "go"),
        (Self::Rs, "rs"),
        (Self::C, "c"),
        (Self::Cs, "cs"),
        (Self::Php, "php"),
        (Self::Rb, "rb"),
        (Self::Swift, "swift"),
        (Self::Dart, "dart"),
        (Self::Ex, "ex"),
        (Self::Pl, "pl"),
        (Self::Lua, "lua"),
        (Self::Sh, "sh"),
        (Self::Ps, "ps"),
        (Self::Sql, "sql"),
        (Self::Html, "html"),
    ];

    /// The language of a file by its name; scripts without an ending are told by their first line.
    pub(crate) fn of(path: &str, first: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let lang = match ending {
            "py" | "r" | "pyw" | "pyi" | "pyx" | "star" | "bzl" => Self::Py,
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte" | "astro"
            | "coffee" => Self::Js,
            "java" => Self::Java,
            "kt" | "kts" | "groovy" | "gradle" => Self::Kt,
            "scala" | "sc" | "sbt" => Self::Scala,
            "go" => Self::Go,
            "rs" => Self::Rs,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "m" | "mm" | "ino" => Self::C,
            "cs" | "fs" | "vb" => Self::Cs,
            "php" | "phtml" | "inc" => Self::Php,
            "rb" | "rake" | "gemspec" | "ru" | "cr" => Self::Rb,
            "swift" => Self::Swift,
            "dart" => Self::Dart,
            "ex" | "exs" => Self::Ex,
            "pl" | "pm" | "cgi" | "t" => Self::Pl,
            "lua" => Self::Lua,
            "sh" | "bash" | "zsh" | "ksh" | "fish" | "bats" => Self::Sh,
            "ps1" | "psm1" | "psd1" => Self::Ps,
            "sql" | "psql" | "pgsql" | "ddl" | "tsql" | "plsql" | "pks" | "pkb" => Self::Sql,
            "html" | "htm" | "erb" | "ejs" | "hbs" | "handlebars" | "mustache" | "jinja" | "jinja2"
            | "j2" | "twig" | "jsp" | "jspx" | "cshtml" | "razor" | "ftl" | "vm" | "haml" | "slim"
            | "pug" | "njk" | "liquid" | "tmpl" | "gohtml" | "eex" | "heex" | "leex" | "blade" | "aspx"
            | "ascx" => Self::Html,
            _ => {
                let words: &[(&str, Self)] = &[
                    ("python", Self::Py),
                    ("node", Self::Js),
                    ("ruby", Self::Rb),
                    ("perl", Self::Pl),
                    ("php", Self::Php),
                    ("lua", Self::Lua),
                    ("pwsh", Self::Ps),
                    ("sh", Self::Sh),
                ];
                let told =
                    first.starts_with("#!").then(|| words.iter().find(|(word, _)| first.contains(word)));
                match told.flatten() {
                    Some((_, lang)) => *lang,
                    None if name == "jenkinsfile" => Self::Kt,
                    None if ["rakefile", "gemfile", "vagrantfile"].contains(&name.as_str()) => Self::Rb,
                    None => return None,
                }
            }
        };
        Some(if name.ends_with(".blade.php") { Self::Html } else { lang })
    }

    pub(super) fn line_comments(self) -> &'static [&'static str] {
        match self {
            Self::Py | Self::Rb | Self::Ex | Self::Pl | Self::Sh | Self::Ps => &["#"],
            Self::Php => &["//", "#"],
            Self::Lua | Self::Sql => &["--"],
            Self::Html => &[],
            _ => &["//"],
        }
    }

    pub(super) fn block_comment(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Py | Self::Rb | Self::Ex | Self::Pl | Self::Sh => None,
            Self::Ps => Some(("<#", "#>")),
            Self::Lua => Some(("--[[", "]]")),
            Self::Html => Some(("<!--", "-->")),
            _ => Some(("/*", "*/")),
        }
    }

    /// The characters that open a text.
    pub(super) fn quotes(self) -> &'static [u8] {
        match self {
            Self::Js | Self::Go | Self::Rb | Self::Sh | Self::Php | Self::Pl => b"\"'`",
            Self::Sql => b"'\"",
            Self::Html => b"",
            _ => b"\"'",
        }
    }

    /// Whether a text in these quotes may go on on the next line.
    pub(super) fn spans(self, quote: u8) -> bool {
        match self {
            Self::Js | Self::Go => quote == b'`',
            Self::Rs => quote == b'"',
            Self::Php | Self::Rb | Self::Sh | Self::Pl | Self::Ps | Self::Sql | Self::Ex => true,
            _ => false,
        }
    }

    pub(super) fn triple(self) -> bool {
        matches!(
            self,
            Self::Py | Self::Java | Self::Kt | Self::Scala | Self::Swift | Self::Dart | Self::Ex | Self::Cs
        )
    }

    /// How values get into a text with these quotes and these letters before it.
    pub(super) fn interp(self, quote: u8, prefix: &[u8]) -> Interpolation {
        let has = |letter: u8| prefix.iter().any(|p| p.eq_ignore_ascii_case(&letter));
        match self {
            Self::Py if has(b'f') => Interpolation::Brace,
            Self::Cs if prefix.contains(&b'$') => Interpolation::Brace,
            Self::Js if quote == b'`' => Interpolation::DollarBrace,
            Self::Kt | Self::Dart if !has(b'r') => Interpolation::Dollar,
            Self::Scala if !prefix.is_empty() => Interpolation::Dollar,
            Self::Php if quote != b'\'' => Interpolation::Dollar,
            Self::Pl | Self::Ps if quote != b'\'' => Interpolation::Shell,
            Self::Sh if quote != b'\'' => Interpolation::Shell,
            Self::Rb | Self::Ex if quote != b'\'' => Interpolation::Hash,
            Self::Swift => Interpolation::Backslash,
            Self::Rs if quote == b'"' => Interpolation::Brace,
            _ => Interpolation::None,
        }
    }

    /// Whether lines belong together only by brackets and a backslash.
    pub(super) fn by_indent(self) -> bool {
        matches!(self, Self::Py | Self::Sh | Self::Ps)
    }
}
