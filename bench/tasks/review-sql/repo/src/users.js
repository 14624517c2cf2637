const COLUMNS = new Set(["id", "name", "created"]);

class Users {
  constructor(database) {
    this.database = database;
  }

  // Users whose name begins with `prefix`.
  search(prefix, order = "name") {
    const column = COLUMNS.has(order) ? order : "name";
    return this.database.query(
      `SELECT id, name FROM users WHERE name LIKE '${prefix}%' ORDER BY ${column}`,
    );
  }

  byId(id) {
    return this.database.query("SELECT id, name FROM users WHERE id = ?", [id]);
  }
}

module.exports = { Users };
