import path from 'node:path';
import { Worker } from 'node:worker_threads';
import * as E from 'fp-ts/lib/Either.js';
import type { LargeBodies } from '../../application/ports/large-bodies.ts';
import type { StoredPayload } from '../../domain/payload/payload.ts';
import { overloaded } from '../../domain/shared/gateway-error.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import type { Executor } from '../providers/executor.ts';
import type { TaskAnswer, TaskKind, Tasks } from './messages.ts';
import { turns } from './turns.ts';

/**
 * Heap of the thread, in MiB. The largest body that is admitted by default, parsed and rewritten, stays below a third
 * of it. A body that needs more ends the thread, not the process.
 */
const heapMb = 1536;

export interface LargeBodyOptions {
  /** Called when the thread fails by itself. */
  readonly onFault: (error: unknown) => void;
  readonly heapMb?: number;
}

/** Processes large bodies and answers in one thread, started with the first of them. Ownership scopes take turns. */
export interface LargeBodyThread extends LargeBodies {
  readonly close: () => Promise<void>;
}

export function largeBodies(executor: Executor, options: LargeBodyOptions): LargeBodyThread {
  const thread = new Thread(options);
  const tasks = turns();
  const done = <K extends TaskKind>(
    kind: K,
    scope: string,
    input: Tasks[K]['input'],
  ): Promise<Tasks[K]['answer'] | undefined> => tasks.take(scope, () => thread.answer(kind, input));

  return {
    read: async (body) => (await done('read', body.scope, { body })) ?? E.left(overloaded),
    prepare: (body, terms) =>
      executor.prepareWritten(
        terms,
        async (config) => (await done('write', body.scope, { body, terms, config })) ?? E.left(overloaded),
      ),
    redacted: async (body, redaction) => kept(await done('redact', body.scope, { body, redaction })),
    readAnswer: async (answer) => {
      const config = executor.configOf(answer.terms);
      if (config === undefined) return E.left(gone);
      return (await done('readAnswer', answer.scope, { answer, config })) ?? E.left(tooLarge);
    },
    redactedAnswer: async ({ scope, text }, rules) =>
      kept(await done('redactAnswer', scope, { text, rules })),
    close: () => thread.close(),
  };
}

const gone: UpstreamFault = {
  kind: 'protocol',
  message: 'The provider of this route is not there any more.',
};
const tooLarge: UpstreamFault = {
  kind: 'protocol',
  message: 'The upstream sent an answer that is too large.',
};

function kept(payload: StoredPayload | undefined): StoredPayload {
  if (payload === undefined)
    throw new Error('A large payload was not redacted: its thread ran out of memory, or the process ends.');
  return payload;
}

/** One worker thread and the one task that it is working on. */
class Thread {
  private readonly options: LargeBodyOptions;
  private worker: Worker | undefined;
  private underWay: PromiseWithResolvers<TaskAnswer | undefined> | undefined;
  private closed = false;

  constructor(options: LargeBodyOptions) {
    this.options = options;
  }

  /** Returns `undefined` if the thread ended during the task or was already closed. */
  async answer<K extends TaskKind>(
    kind: K,
    input: Tasks[K]['input'],
  ): Promise<Tasks[K]['answer'] | undefined> {
    if (this.closed) return undefined;
    this.worker ??= this.begin();
    this.underWay = Promise.withResolvers();
    this.worker.ref();
    this.worker.postMessage({ kind, input }, []);
    const answer = await this.underWay.promise;
    this.worker?.unref();
    if (answer?.kind === 'defect') throw new Error(answer.message);
    // The thread answers each task with a value of that task's kind.
    return answer?.value;
  }

  /** Terminates the thread, because a working thread keeps its process alive. Queued tasks are not started. */
  async close(): Promise<void> {
    this.closed = true;
    await this.worker?.terminate();
  }

  private begin(): Worker {
    // The thread's file has the same extension as this one: in a package both are JavaScript.
    const file = path.join(import.meta.dirname, `thread${path.extname(import.meta.filename)}`);
    const worker = new Worker(file, {
      resourceLimits: { maxOldGenerationSizeMb: this.options.heapMb ?? heapMb },
    });
    worker.on('message', (answer: TaskAnswer) => this.underWay?.resolve(answer));
    worker.on('error', (error) => this.options.onFault(error));
    worker.on('exit', () => {
      this.worker = undefined;
      this.underWay?.resolve(undefined);
    });
    return worker;
  }
}
