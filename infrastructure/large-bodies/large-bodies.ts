import { Worker } from 'node:worker_threads';
import * as E from 'fp-ts/lib/Either.js';
import type { LargeBodies } from '../../application/ports/large-bodies.ts';
import { overloaded } from '../../domain/shared/gateway-error.ts';
import type { Executor } from '../providers/executor.ts';
import type { Answer, Answers, Task } from './messages.ts';
import { turns } from './turns.ts';

/**
 * Heap of the thread, in MiB. The largest body that is admitted by default, parsed and rewritten, stays below a third
 * of it; a body that needs more ends the thread and not the process.
 */
const heapMb = 1536;

export interface LargeBodyOptions {
  /** Told when the thread ended by itself. */
  readonly onFault: (error: unknown) => void;
  readonly heapMb?: number;
}

/** Large bodies are worked on in one thread, begun with the first of them; ownership scopes take turns. */
export interface LargeBodyThread extends LargeBodies {
  /** Tasks that wait or are under way. */
  readonly waiting: () => number;
  readonly close: () => Promise<void>;
}

export function largeBodies(executor: Executor, options: LargeBodyOptions): LargeBodyThread {
  const thread = new Thread(options);
  const tasks = turns();
  const ask = <K extends Task['kind']>(task: Extract<Task, { kind: K }>): Promise<Answers[K] | undefined> =>
    tasks.take(task.body.scope, () => thread.answer(task));

  return {
    read: async (body) => (await ask({ kind: 'read', body })) ?? E.left(overloaded),
    prepare: (body, terms) =>
      executor.prepareWritten(
        terms,
        async (config) => (await ask({ kind: 'write', body, terms, config })) ?? E.left(overloaded),
      ),
    redacted: async (body, redaction) => {
      const payload = await ask({ kind: 'redact', body, redaction });
      if (payload === undefined) throw new Error('The memory for redacting a large body ran out.');
      return payload;
    },
    waiting: () => tasks.waiting(),
    close: () => thread.close(),
  };
}

/** One thread, and the one task that it is at. */
class Thread {
  private readonly options: LargeBodyOptions;
  private worker: Worker | undefined;
  private underWay: PromiseWithResolvers<Answer | undefined> | undefined;

  constructor(options: LargeBodyOptions) {
    this.options = options;
  }

  /** Undefined: the thread ended over it. */
  async answer<K extends Task['kind']>(task: Extract<Task, { kind: K }>): Promise<Answers[K] | undefined> {
    this.worker ??= this.begin();
    this.underWay = Promise.withResolvers();
    this.worker.ref();
    this.worker.postMessage(task, []);
    const answer = await this.underWay.promise;
    this.worker?.unref();
    if (answer?.kind === 'defect') throw new Error(answer.message);
    // The thread answers each task in its own kind.
    return answer?.value as Answers[K] | undefined;
  }

  async close(): Promise<void> {
    await this.worker?.terminate();
  }

  private begin(): Worker {
    const worker = new Worker(new URL('./thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: this.options.heapMb ?? heapMb },
    });
    worker.on('message', (answer: Answer) => this.underWay?.resolve(answer));
    worker.on('error', (error) => this.options.onFault(error));
    worker.on('exit', () => {
      this.worker = undefined;
      this.underWay?.resolve(undefined);
    });
    return worker;
  }
}
