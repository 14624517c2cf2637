const { sendMail } = require("./mail");

async function notify(user, event, transport) {
  if (!user.wantsMail) return false;
  await sendMail(user.email, event.title, event.text, transport);
  return true;
}

module.exports = { notify };
