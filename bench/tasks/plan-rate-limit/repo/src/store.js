const users = new Map([["ann", { name: "ann", password: "correct horse" }]]);

module.exports = { userByName: (name) => users.get(name) };
