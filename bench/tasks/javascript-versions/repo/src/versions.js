// Negative when a is older than b, positive when it is newer, 0 when they are the same.
function compare(a, b) {
  if (a < b) return -1;
  if (a > b) return 1;
  return 0;
}

module.exports = { compare };
