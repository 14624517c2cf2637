//! Small steps, each followed by a look: tuning, rows, warnings, functions one by one.

use super::healthy::{HealthyTask, repair_goal};
use super::words::NAMES;
use super::world::ScriptWorld;

/// Tries values until the check is content.
pub(super) fn tunes(world: &mut ScriptWorld) -> HealthyTask {
    let target = 200 + world.dice.below(700);
    let samples: String =
        (0..10).map(|n| format!("{}\n{}\n", target - 3 * n - 1, target + 3 * n + 1)).collect();
    world.file("data/samples.txt", samples);
    let (path, number) = (world.path.clone(), world.tongue.number);
    let line = |value: usize| format!("{}\n", number.replace("{}", &value.to_string()));
    world.file(&path, line(0));
    let (loss, done) = *world.dice.pick(&[
        ("Verlust %.3f bei %d, erlaubt ist 0.02", "Passt."),
        ("loss %.3f at %d, wanted at most 0.02", "fits"),
        ("取值 %2$d 时误差 %1$.3f,上限 0.02", "合格"),
        ("誤差 %.3f(値 %d、許容 0.02)", "よし"),
    ]);
    // awk knows no numbered places.
    let (loss, order) = if loss.contains("%2$d") {
        (loss.replace("%2$d", "%d").replace("%1$.3f", "%.3f"), "v, e")
    } else {
        (loss.to_owned(), "e, v")
    };
    world.judge(&format!(
        "v=$(sed -n 's/.*[^0-9]\\([0-9][0-9]*\\)[^0-9]*$/\\1/p' {path} | head -n 1)\n\
         awk -v v=\"$v\" '{{ s += $1; k++ }} END {{ m = s / k; e = (v - m) * (v - m) / m; printf \"{loss}\\n\", {order}; \
         if (e > 0.02) exit 1; print \"{done}\" }}' data/samples.txt\n"
    ));
    let goal = world.dice.pick(&[
        "Tune the limit in {} until the check is content",
        "Stelle den Wert in {} so ein, dass die Prüfung durchläuft",
        "调整 {} 里的数值直到检查通过",
        "{} の値を調整して検査に通してください",
    ]);
    let goal = goal.replace("{}", &path);
    world.read(&path);
    world.run_check();
    let (mut low, mut high) = (0_usize, 1024_usize);
    loop {
        let middle = (low + high) / 2;
        world.write(&path, &line(middle));
        world.run_check();
        let off = middle.abs_diff(target);
        if off * off * 100 <= target * 2 {
            return goal.into();
        }
        if middle < target { low = middle } else { high = middle }
    }
}

/// A table whose check stops at the first row that is wrong.
pub(super) fn rows(world: &mut ScriptWorld) -> HealthyTask {
    let count = 14 + world.dice.below(16);
    let table = "data/prices.csv";
    let row =
        |n: usize, point: char| format!("{};{};{}{point}{:02}", 100 + n, NAMES[n % 24], 3 + n, n * 7 % 100);
    let wrong: Vec<bool> = (0..count).map(|n| n < 8 || world.dice.below(3) > 0).collect();
    let rows = (0..count).map(|n| row(n, if wrong[n] { ',' } else { '.' }) + "\n");
    let rows: String = rows.collect();
    world.file(table, rows);
    let said = *world.dice.pick(&[
        "Zeile %d: Betrag »%s« ist keine Zahl",
        "第%d行:金额「%s」不是数字",
        "%d行目: 金額「%s」が数値ではありません",
        "row %d: amount %s is not a number",
    ]);
    let check = format!(
        "awk -F';' '$3 !~ /^[0-9]+\\.[0-9][0-9]$/ {{ printf \"{said}\\n\", NR, $3; exit 1 }}' {table}\n"
    );
    world.judge(&check);
    if world.dice.below(2) == 0 {
        world.unknown();
    }
    world.exec(&format!("head -n 5 {table}"));
    world.run_check();
    for n in (0..count).filter(|n| wrong[*n]) {
        world.edit(table, &row(n, ','), &row(n, '.'));
        world.run_check();
    }
    "data/prices.csv: die Beträge reparieren, Zeile für Zeile, bis die Prüfung nichts mehr sagt"
        .to_owned()
        .into()
}

/// Warnings, one by one.
pub(super) fn lint(world: &mut ScriptWorld) -> HealthyTask {
    let files = 3 + world.dice.below(3);
    let mut fixes = Vec::new();
    for at in 0..files {
        let path = world.source(&format!("unit{at}"));
        let mut text = String::new();
        for (k, name) in NAMES[at * 4..at * 4 + 4].iter().enumerate() {
            let function = world.function(name, k + at);
            let (first, rest) = function.split_once('\n').unwrap_or_default();
            let number = text.lines().count() + 1;
            text += &format!("{first}   \n{rest}\n");
            fixes.push((path.clone(), number));
        }
        world.file(&path, text);
    }
    let (kind, sum) = *world.dice.pick(&[
        ("warning: blanks at the end", "warnings"),
        ("Warnung: Leerzeichen am Ende", "Warnungen"),
        ("警告:行尾有空格", "个警告"),
        ("警告: 行末に空白", "件の警告"),
    ]);
    let folder = world.tongue.folder;
    world.file(
        "tools/lint.sh",
        format!(
            "grep -rn ' $' {folder} | sort | sed 's/^\\([^:]*:[0-9]*\\):.*/\\1: {kind}/'\n\
             n=$(grep -rn ' $' {folder} | wc -l)\necho \"$n {sum}\"\n[ \"$n\" -eq 0 ]\n"
        ),
    );
    world.exec("sh tools/lint.sh");
    for (path, number) in &fixes {
        world.exec(&format!("sed -i '{number}s/ *$//' {path}"));
        world.exec("sh tools/lint.sh");
    }
    let goal = world.dice.pick(&[
        "Get rid of the warnings that tools/lint.sh gives",
        "Beseitige alle Warnungen von tools/lint.sh",
        "消除 tools/lint.sh 报告的所有警告",
        "Élimine les avertissements de tools/lint.sh",
    ]);
    HealthyTask { goal: (*goal).to_owned(), proof: Some("sh tools/lint.sh".to_owned()) }
}

/// Reads the file again after each edit of it.
pub(super) fn looks_again(world: &mut ScriptWorld) -> HealthyTask {
    let count = 10 + world.dice.below(10);
    let path = world.path.clone();
    let all = |wanted: usize| -> String {
        NAMES[..count].iter().enumerate().map(|(n, name)| world.function(name, wanted * (n + 11))).collect()
    };
    let (before, after) = (all(0), all(1));
    let (left, done) = *world.dice.pick(&[
        ("left to do:", "all done"),
        ("noch offen:", "alles erledigt"),
        ("还没改:", "全部完成"),
        ("残り:", "すべて完了"),
    ]);
    let mut check = "left=\n".to_owned();
    for (n, name) in NAMES[..count].iter().enumerate() {
        check += &format!("grep -A2 -w '{name}' {path} | grep -qw {} || left=\"$left {name}\"\n", n + 11);
    }
    check += &format!("[ -z \"$left\" ] && echo '{done}' || {{ echo \"{left}$left\"; exit 1; }}\n");
    debug_assert_ne!(before, after);
    world.file(&path, before);
    world.judge(&check);
    world.read(&path);
    world.run_check();
    for (n, name) in NAMES[..count].iter().enumerate() {
        let (old, new) = (world.function(name, 0), world.function(name, n + 11));
        world.edit(&path, &old, &new);
        world.read(&path);
        if n % 3 == 2 {
            world.run_check();
        }
    }
    world.run_check();
    format!("In {path}: apple gives 11, birch 12 and so on; now they all give 0").into()
}

/// A few edits more when all is green.
pub(super) fn tidies(world: &mut ScriptWorld) -> HealthyTask {
    let reads = 4 + world.dice.below(4);
    let others = world.others(reads);
    others.iter().for_each(|path| world.read(path));
    let goal = repair_goal(world);
    world.run_check();
    world.repair();
    let (path, comment) = (world.path.clone(), world.tongue.comment);
    let right = world.right.clone();
    world.edit(&path, &right, &format!("{comment} What it says to everybody.\n{right}"));
    world.run_check();
    world.exec(&format!("printf '\\n## Unreleased\\n\\n- Repaired {path}.\\n' >> CHANGES.md"));
    world.edit(&path, "to everybody", "to all who ask");
    world.run_check();
    world.exec("git diff --stat");
    goal.into()
}

/// A check that fails now and then for a reason of its own, run again until that is sure.
pub(super) fn flaky(world: &mut ScriptWorld) -> HealthyTask {
    let goal = repair_goal(world);
    let check = world.files.get(&world.check).cloned().unwrap_or_default();
    let busy = *world.dice.pick(&[
        "port 8080 is busy, try again",
        "Port 8080 ist belegt, bitte noch einmal",
        "端口 8080 被占用,请重试",
        "ポート 8080 は使用中です",
    ]);
    world.judge(&format!(
        "n=$(cat /tmp/turn 2>/dev/null || echo 0); n=$((n + 1)); echo $n > /tmp/turn\n\
         case $n in 2|4) echo '{busy}'; exit 1;; esac\n{check}"
    ));
    let reads = 4 + world.dice.below(4);
    let others = world.others(reads);
    others.iter().for_each(|path| world.read(path));
    world.run_check();
    world.repair();
    for _ in 0..4 {
        world.run_check();
    }
    let proof = format!("grep -qF '{}' {}", world.right, world.path);
    HealthyTask { goal, proof: Some(proof) }
}

/// Files that are made from one list, and made again after each change of it.
pub(super) fn generated(world: &mut ScriptWorld) -> HealthyTask {
    let count = 5 + world.dice.below(8);
    let (end, number) = (world.tongue.end, world.tongue.number);
    let line = number.replace("{}", "$value");
    world.file("schema.txt", "apple 7\n");
    world.file(
        "gen.sh",
        format!(
            "out=${{1:-gen}}; mkdir -p $out\nwhile read -r name value; do\n\
             cat > $out/$name.{end} <<END\n{line}\nEND\ndone < schema.txt\necho \"$(ls $out | wc -l) files\"\n"
        ),
    );
    world.file(format!("gen/apple.{end}"), number.replace("{}", "7") + "\n");
    let wanted: String = NAMES[..=count].iter().map(|name| format!("{name}\n")).collect();
    world.file("wanted.txt", wanted);
    let missing = *world.dice.pick(&["missing:", "fehlt:", "缺少:", "不足:"]);
    world.judge(&format!(
        "rm -rf /tmp/fresh.$$; sh gen.sh /tmp/fresh.$$ > /dev/null; diff -r /tmp/fresh.$$ gen || exit 1\n\
         for name in $(cat wanted.txt); do [ -e gen/$name.{end} ] || {{ echo \"{missing} $name\"; exit 1; }}; done\n"
    ));
    world.read("gen.sh");
    world.run_check();
    for (n, name) in NAMES[..=count].iter().enumerate().skip(1) {
        world.exec(&format!("echo '{name} {}' >> schema.txt", 7 + n * 3));
        world.exec("sh gen.sh");
        world.exec(&format!("cat gen/{name}.{end}"));
        if n % 2 == 0 {
            world.run_check();
        }
    }
    world.run_check();
    "Add everything in wanted.txt to schema.txt and generate the files anew".to_owned().into()
}
