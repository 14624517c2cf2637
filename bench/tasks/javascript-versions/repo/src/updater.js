const { compare } = require("./versions");

// The newest version that is newer than what is installed, or null.
function offer(installed, available) {
  const newer = available.filter((version) => compare(version, installed) > 0);
  return newer.sort(compare).pop() || null;
}

module.exports = { offer };
