async function sendMail(to, subject, text, transport) {
  return transport.deliver({ to, subject, text });
}

module.exports = { sendMail };
