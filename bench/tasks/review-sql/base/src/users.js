class Users {
  constructor(database) {
    this.database = database;
  }

  byId(id) {
    return this.database.query("SELECT id, name FROM users WHERE id = ?", [id]);
  }
}

module.exports = { Users };
