const { Bus } = require("./bus");

module.exports = { Bus, bus: new Bus() };
