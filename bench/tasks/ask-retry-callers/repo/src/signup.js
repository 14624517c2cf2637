const { notify } = require("./notify");

async function signup(user, transport) {
  user.createdAt = Date.now();
  await notify(user, { title: "Welcome", text: "Good to have you." }, transport);
  return user;
}

module.exports = { signup };
