/**
 * stdout or stderr may be closed, or on a full disk. A failed write must never end the process; each writer still gets
 * the error of its own write. roarr, a dependency of the database client, adds a listener that throws as soon as it is
 * loaded, so that listener and any added later are removed.
 */
export function surviveOutputErrors(): void {
  for (const output of [process.stdout, process.stderr]) {
    output.removeAllListeners('error');
    output.on('error', () => undefined);
    output.on('newListener', (event, listener) => {
      if (event === 'error') process.nextTick(() => output.off('error', listener));
    });
  }
}
