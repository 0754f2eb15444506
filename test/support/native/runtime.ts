import { createRequire, enableCompileCache, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);

const ofTests = new URL('../../', import.meta.url).href;
const globals = new URL('globals.mjs', import.meta.url).href;
/** Modules without state that are expensive to load: the description of the API, and its compiled schemas. */
const shared = ['.', '../openapi/'].map((folder) => new URL(folder, import.meta.url).href);
const mark = /\?suite=\d+$/;

enableCompileCache();

// Modules of the tests belong to the suite that imports them: each suite has its own, with their state and hooks.
// The product and the packages are loaded once per worker, since that costs more than most suites take.
registerHooks({
  resolve: (specifier, context, next) => {
    const [suite] = mark.exec(context.parentURL ?? '') ?? [];
    if (suite === undefined) return next(specifier, context);
    if (specifier === '@jest/globals') return { url: `${globals}${suite}`, shortCircuit: true };
    const found = next(specifier, context);
    const own = found.url.startsWith(ofTests) && !shared.some((folder) => found.url.startsWith(folder));
    return own ? { ...found, url: `${found.url}${suite}` } : found;
  },
});

let suites = 0;

/** Replaces Jest's `vm` contexts: a suite's modules are loaded by Node itself. */
// oxlint-disable-next-line import/no-default-export -- jest calls the default export
export default class NativeRuntime {
  readonly #suite: string;

  constructor() {
    suites += 1;
    this.#suite = `?suite=${suites}`;
  }

  /** Jest's own module that registers a suite's tests: a new one for each suite. */
  requireInternalModule(file: string): unknown {
    delete require.cache[file];
    return require(file);
  }

  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  async unstable_importModule(file: string): Promise<void> {
    await import(`${pathToFileURL(file).href}${this.#suite}`);
  }

  requireModule(file: string): unknown {
    return require(file);
  }

  /** Positions are those of the sources, because Node strips types in place. */
  getSourceMaps(): ReadonlyMap<string, string> {
    return new Map();
  }

  getAllCoverageInfoCopy(): undefined {
    return undefined;
  }

  setGlobalsForRuntime(): void {}
  enterTestCode(): void {}
  leaveTestCode(): void {}
  teardown(): void {}
}
