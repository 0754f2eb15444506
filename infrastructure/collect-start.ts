/**
 * Frees what a start leaves: texts of modules, trees of the configuration, code that runs once. V8 collects by what is
 * allocated, and an idle replica allocates nothing, so it would hold some 40 MB of them until its first busy minute.
 * Only where the process was started with `--expose-gc`, as the supervisor does; takes some 0.1 s, before anybody is
 * let in.
 */
export function collectStart(): void {
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
