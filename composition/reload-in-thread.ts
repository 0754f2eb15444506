import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { type ModelsPart, withModels } from '../infrastructure/config/served-config.ts';
import type { ErrorLink } from '../infrastructure/postgres/error-chain.ts';
import type { Reload, ReloadRequest } from './reload-work.ts';

/** The thread's answer, without the models, which are sent in pieces. Of an error it has the chain of causes. */
export type ReloadAnswer = Reload | { readonly kind: 'failed'; readonly chain: readonly ErrorLink[] };

/**
 * Runs a reload in a thread of its own, which is terminated afterwards: a file of 4 MiB takes seconds to read, and its
 * statements are megabytes of text. The event loop only takes the models over, a few in each of its turns.
 */
export async function reloadInThread(request: ReloadRequest): Promise<Reload> {
  const { port1: models, port2: theirs } = new MessageChannel();
  // The thread's file has the extension of this one: in a package both are JavaScript.
  const file = path.join(import.meta.dirname, `reload-thread${path.extname(import.meta.filename)}`);
  const worker = new Worker(file);
  // A process that ends does not wait for the thread: uncommitted work is rolled back.
  worker.unref();
  try {
    // The environment of a process is not a plain object.
    worker.postMessage({ request: { ...request, variables: { ...request.variables } }, models: theirs }, [
      theirs,
    ]);
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

async function piecesOf(port: MessagePort): Promise<readonly ModelsPart[]> {
  const pieces: ModelsPart[] = [];
  for (;;) {
    const received: { readonly message: ModelsPart } | undefined = receiveMessageOnPort(port);
    if (received === undefined) return pieces;
    pieces.push(received.message);
    await turn();
  }
}

/** Rebuilds the thread's error with its causes, in the form that error logging reads. */
const chained = (chain: readonly ErrorLink[]): Error =>
  chain.reduceRight<Error>(
    (cause, { message, ...link }) => Object.assign(new Error(message, { cause }), link),
    new Error('in the thread of a reload'),
  );
