import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { type SomeModels, withModels } from '../infrastructure/config/served-config.ts';
import type { ErrorLink } from '../infrastructure/postgres/error-chain.ts';
import type { Reload, ReloadAsk } from './reload-work.ts';

/** What the thread answers: without the models, which are handed over in pieces. Of an error what is known of it. */
export type ReloadAnswer = Reload | { readonly kind: 'failed'; readonly chain: readonly ErrorLink[] };

/**
 * A reload in a thread of its own, which ends with it: a file of 4 MiB is read for seconds, and its statements are
 * megabytes of text. The event loop has only the models to take over, some at each of its turns.
 */
export async function reloadInThread(ask: ReloadAsk): Promise<Reload> {
  const { port1: models, port2: theirs } = new MessageChannel();
  // The thread's file ends as this one does: in a package both are JavaScript.
  const file = path.join(import.meta.dirname, `reload-thread${path.extname(import.meta.filename)}`);
  const worker = new Worker(file);
  // A process that ends does not wait for it: what is not committed is rolled back.
  worker.unref();
  try {
    // The environment of a process is no plain object.
    worker.postMessage({ ask: { ...ask, variables: { ...ask.variables } }, models: theirs }, [theirs]);
    const answer = await answerOf(worker);
    if (answer.kind === 'failed') throw chained(answer.chain);
    if (answer.kind === 'refused') return answer;
    return { ...answer, served: withModels(answer.served, await piecesOf(models)) };
  } finally {
    models.close();
    await worker.terminate();
  }
}

const answerOf = (worker: Worker): Promise<ReloadAnswer> =>
  new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('The thread of a reload ended without an answer.')));
  });

async function piecesOf(port: MessagePort): Promise<readonly SomeModels[]> {
  const pieces: SomeModels[] = [];
  for (;;) {
    const received: { readonly message: SomeModels } | undefined = receiveMessageOnPort(port);
    if (received === undefined) return pieces;
    pieces.push(received.message);
    await turn();
  }
}

/** The error of the thread, as whoever tells of errors looks at them. */
const chained = (chain: readonly ErrorLink[]): Error =>
  chain.reduceRight<Error>(
    (cause, { message, ...link }) => Object.assign(new Error(message, { cause }), link),
    new Error('in the thread of a reload'),
  );
