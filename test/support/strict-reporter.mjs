// Prints one plain closing line, and fails a run with skipped tests if CI is set.
export default class StrictReporter {
  #error;

  onRunComplete(_contexts, results) {
    const {
      numPassedTests: passed,
      numFailedTests: failed,
      numPendingTests: pending,
      numTodoTests: todo,
    } = results;
    const skipped = pending + todo;
    if (process.env.CI === 'true' && skipped > 0) this.#error = new Error(`${skipped} tests were skipped`);
    process.stdout.write(
      `total: ${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
    );
  }

  getLastError() {
    return this.#error;
  }
}
