class Bus {
  constructor() {
    this.listeners = new Map();
  }

  on(event, listener) {
    if (!this.listeners.has(event)) this.listeners.set(event, []);
    this.listeners.get(event).push(listener);
    return () => this.off(event, listener);
  }

  once(event, listener) {
    const wrapper = (...args) => {
      this.off(event, wrapper);
      listener(...args);
    };
    return this.on(event, wrapper);
  }

  off(event, listener) {
    const list = this.listeners.get(event) || [];
    const at = list.indexOf(listener);
    if (at >= 0) list.splice(at, 1);
  }

  emit(event, ...args) {
    const list = this.listeners.get(event) || [];
    for (let i = 0; i < list.length; i++) list[i](...args);
    return list.length;
  }
}

module.exports = { Bus };
