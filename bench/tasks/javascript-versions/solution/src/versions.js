// Negative when a is older than b, positive when it is newer, 0 when they are the same.
function compare(a, b) {
  const [numbers, names] = [a, b].reduce(
    (found, version) => {
      const [core, ...rest] = version.split("-");
      found[0].push(core.split(".").map(Number));
      found[1].push(rest.join("-"));
      return found;
    },
    [[], []],
  );
  for (let i = 0; i < 3; i++) {
    if (numbers[0][i] !== numbers[1][i]) return numbers[0][i] - numbers[1][i];
  }
  if (names[0] === names[1]) return 0;
  if (!names[0]) return 1;
  if (!names[1]) return -1;
  return names[0] < names[1] ? -1 : 1;
}

module.exports = { compare };
