import { setTimeout as sleep } from 'node:timers/promises';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

type ProjectConfig = ConstructorParameters<typeof ModernFakeTimers>[0]['config'];
type Listener = () => void;

const dayMs = 86_400_000;

/** Longer than most suites take, also on a busy machine. */
const suiteMs = 180_000;

/** Process state that a suite may have changed, and that the next suite shares. */
interface Kept {
  readonly env: NodeJS.ProcessEnv;
  readonly exit: PropertyDescriptor;
  readonly console: typeof console;
  readonly listeners: ReadonlyMap<string | symbol, readonly Listener[]>;
}

/** The global environment of a suite is that of its worker; changes by the suite are undone when it ends. */
// oxlint-disable-next-line import/no-default-export -- jest calls the default export
export default class NativeEnvironment {
  readonly global = globalThis;
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimersModern: ModernFakeTimers;
  readonly fakeTimers = null;
  readonly #kept: Kept = keep();

  constructor({ projectConfig }: { readonly projectConfig: ProjectConfig }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    Object.assign(globalThis, { jest: this.#forSuites() });
  }

  /** Jest requires it, and uses it for coverage only. */
  getVmContext(): null {
    return null;
  }

  exportConditions(): string[] {
    return ['node', 'node-addons'];
  }

  /** Waits for the next day (UTC) if this one is about to end: spend and limits of a day begin again at midnight. */
  async setup(): Promise<void> {
    const leftMs = dayMs - (Date.now() % dayMs);
    if (leftMs < suiteMs) await sleep(leftMs);
  }

  async teardown(): Promise<void> {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    putBack(this.#kept);
  }

  /** The part of `jest` that suites use. */
  #forSuites(): object {
    const timers = this.fakeTimersModern;
    const mocks = this.moduleMocker;
    return {
      advanceTimersByTime: timers.advanceTimersByTime.bind(timers),
      advanceTimersByTimeAsync: timers.advanceTimersByTimeAsync.bind(timers),
      getTimerCount: timers.getTimerCount.bind(timers),
      useFakeTimers: timers.useFakeTimers.bind(timers),
      useRealTimers: timers.useRealTimers.bind(timers),
      spyOn: mocks.spyOn.bind(mocks),
      restoreAllMocks: mocks.restoreAllMocks.bind(mocks),
    };
  }
}

/** Where Jest keeps the listeners to a suite's tests. */
const handlers = Symbol.for('EVENT_HANDLERS');

const listenersOf = (name: string | symbol): Listener[] => process.rawListeners(name) as Listener[];

function keep(): Kept {
  return {
    env: { ...process.env },
    exit: Object.getOwnPropertyDescriptors(process).exit,
    console: globalThis.console,
    listeners: new Map(process.eventNames().map((name) => [name, listenersOf(name)])),
  };
}

function putBack(kept: Kept): void {
  Object.defineProperty(process, 'exit', kept.exit);
  globalThis.console = kept.console;
  Reflect.deleteProperty(globalThis, handlers);
  for (const name of Object.keys(process.env)) if (!(name in kept.env)) delete process.env[name];
  Object.assign(process.env, kept.env);
  for (const name of process.eventNames())
    for (const listener of listenersOf(name)) {
      if (kept.listeners.get(name)?.includes(listener) === true) continue;
      // Exit handlers of the suite run when the suite ends.
      if (name === 'exit') listener();
      process.off(name, listener);
    }
}
