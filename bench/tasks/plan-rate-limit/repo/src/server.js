const http = require("http");
const { login } = require("./login");

// Routes: POST /login, everything else is 404.
function handler(request, response) {
  if (request.method === "POST" && request.url === "/login") return login(request, response);
  response.writeHead(404).end();
}

module.exports = { handler, start: (port) => http.createServer(handler).listen(port) };
