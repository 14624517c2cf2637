// Calls `work(attempt)` up to `attempts` times, waiting in between with `sleep(ms)`; each wait is twice the one before.
async function retry(work, { attempts = 3, first = 100, sleep }) {
  let wait = first;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      await sleep(wait);
      wait *= 2;
    }
  }
}

module.exports = { retry };
