// Does not send anything: the monitor asks for this, and sendMail would be far too slow here.
function health() {
  return { ok: true };
}

module.exports = { health };
