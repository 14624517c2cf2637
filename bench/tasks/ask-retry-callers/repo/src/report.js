const mail = require("./mail");

async function weekly(admins, transport) {
  for (const admin of admins) {
    await mail.sendMail(admin.email, "Weekly report", "All well.", transport);
  }
}

module.exports = { weekly };
