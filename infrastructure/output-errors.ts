/**
 * Whoever reads what a process says may be gone, and the disk that it goes to may be full: no process ends of that. Each
 * write still tells its own writer. A package of the database's client, roarr, brings a listener that throws, as soon as
 * it is loaded: it goes, and so does any that comes later.
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
