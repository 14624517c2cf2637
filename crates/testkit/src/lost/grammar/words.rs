//! What scripts are said with: programming languages, nouns, goals, and how checks speak.

/// A programming language: where its sources are, how they end, and how some lines of it look.
pub(super) struct ScriptLanguage {
    pub(super) name: &'static str,
    pub(super) folder: &'static str,
    pub(super) end: &'static str,
    /// A line with the word `{}`.
    pub(super) word: &'static str,
    /// A line with the number `{}`, the last one on it.
    pub(super) number: &'static str,
    /// A function NAME that gives VALUE.
    pub(super) function: &'static str,
    pub(super) comment: &'static str,
}

macro_rules! tongues {
    ($($name:literal $folder:literal $end:literal $word:literal $number:literal $function:literal $comment:literal)*) => {
        &[$(ScriptLanguage { name: $name, folder: $folder, end: $end, word: $word, number: $number, function: $function, comment: $comment }),*]
    };
}

pub(super) const TONGUES: &[ScriptLanguage] = tongues![
    "rust" "src" "rs" "pub const WORD: &str = \"{}\";" "pub const LIMIT: u32 = {};" "pub fn NAME() -> u32 {\n    VALUE\n}\n" "//"
    "python" "app" "py" "WORD = \"{}\"" "LIMIT = {}" "def NAME():\n    return VALUE\n" "#"
    "go" "pkg" "go" "const Word = \"{}\"" "const Limit = {}" "func NAME() int {\n\treturn VALUE\n}\n" "//"
    "java" "src/main/java" "java" "String WORD = \"{}\";" "static final int LIMIT = {};" "static int NAME() {\n    return VALUE;\n}\n" "//"
    "typescript" "lib" "ts" "export const word = \"{}\"" "export const limit = {}" "export function NAME(): number {\n  return VALUE\n}\n" "//"
    "ruby" "lib" "rb" "WORD = \"{}\"" "LIMIT = {}" "def NAME\n  VALUE\nend\n" "#"
    "haskell" "src" "hs" "word = \"{}\"" "limit = {}" "NAME :: Int\nNAME = VALUE\n" "--"
    "ocaml" "lib" "ml" "let word = \"{}\"" "let limit = {}" "let NAME () =\n  VALUE\n" "(*"
    "zig" "src" "zig" "const word = \"{}\";" "const limit = {};" "fn NAME() u32 {\n    return VALUE;\n}\n" "//"
    "elixir" "lib" "ex" "@word \"{}\"" "@limit {}" "def NAME do\n  VALUE\nend\n" "#"
    "kotlin" "src/main/kotlin" "kt" "const val WORD = \"{}\"" "const val LIMIT = {}" "fun NAME(): Int {\n    return VALUE\n}\n" "//"
    "lua" "src" "lua" "local word = \"{}\"" "local limit = {}" "function NAME()\n  return VALUE\nend\n" "--"
];

pub(super) const NOUNS: [&str; 12] = [
    "ledger", "parser", "router", "cache", "planner", "scanner", "mixer", "index", "broker", "crate",
    "loader", "meter",
];
pub(super) const WORDS: [&str; 12] = [
    "amber", "cobalt", "jade", "ivory", "scarlet", "teal", "umber", "violet", "ochre", "coral", "azure",
    "sepia",
];
/// Names of functions, fields and the like; no two begin alike.
pub(super) const NAMES: [&str; 24] = [
    "apple", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "juniper", "kelp",
    "larch", "maple", "nettle", "otter", "poplar", "quartz", "raven", "spruce", "thistle", "upland", "vetch",
    "willow", "yarrow",
];
pub(super) const REPAIRS: [&str; 8] = [
    "Fix {} so that the checks pass",
    "Repair {}: a check fails",
    "Behebe den Fehler in {}",
    "修复 {} 中的错误",
    "{} のバグを直してください",
    "Corrige l'erreur dans {}",
    "Arregla el fallo en {}, las pruebas no pasan",
    "Исправь ошибку в {}",
];
pub(super) const CHANGES: [&str; 6] = [
    "Make every file below {} say its new word",
    "Replace the word in all files of {}",
    "Ersetze das Wort in allen Dateien unter {}",
    "把 {} 下所有文件中的词换掉",
    "{} 以下のすべてのファイルの単語を置き換える",
    "Remplace le mot dans tous les fichiers de {}",
];
pub(super) const QUESTIONS: [&str; 6] = [
    "What do the files below {} say, and which of them belong together?",
    "Was steht in den Dateien unter {}, und welche gehören zusammen?",
    "{} 下面的文件各说了什么?",
    "{} 以下のファイルには何が書いてありますか",
    "Que disent les fichiers de {} ?",
    "¿Qué dicen los archivos de {}?",
];

/// How a check speaks: its file, what it says when a case is right, and when it is not.
pub(super) const CHECKS: [(&str, &str, &str); 5] = [
    ("check.sh", "ok 1 - {}", "not ok 1 - {}"),
    ("pruefung.sh", "in Ordnung: {}", "FEHLER: {} stimmt nicht"),
    ("jiancha.sh", "【通过】{}", "【未通过】{}"),
    ("kensa.sh", "合格 {}", "不合格 {} 期待と違います"),
    ("controle.sh", "réussi : {}", "raté : {}"),
];
