const { userByName } = require("./store");

async function login(request, response) {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { name, password } = JSON.parse(body);
  const user = userByName(name);
  if (user && user.password === password) response.writeHead(204).end();
  else response.writeHead(401).end("wrong name or password");
}

module.exports = { login };
