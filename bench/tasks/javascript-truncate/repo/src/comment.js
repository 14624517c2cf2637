const { truncate } = require("./text");

function preview(comment) {
  return `${comment.author}: ${truncate(comment.text, 10)}`;
}

module.exports = { preview };
