import { type MessagePort, parentPort } from 'node:worker_threads';
import { configParts } from '../infrastructure/config/served-config.ts';
import { errorChain } from '../infrastructure/postgres/error-chain.ts';
import type { ReloadAnswer } from './reload-in-thread.ts';
import { type ReloadRequest, reloadWork } from './reload-work.ts';

/** The thread of one reload: one request, one answer. */
parentPort?.once(
  'message',
  ({ request, models }: { readonly request: ReloadRequest; readonly models: MessagePort }) => {
    void answerTo(request, models).then((answer) => parentPort?.postMessage(answer, []));
  },
);

/** The models are queued on the port before the answer is sent. */
async function answerTo(request: ReloadRequest, port: MessagePort): Promise<ReloadAnswer> {
  try {
    const done = await reloadWork(request);
    if (done.kind === 'refused') return done;
    const { rest, models } = configParts(done.served);
    for (const piece of models) port.postMessage(piece);
    return { kind: 'ready', served: rest, kept: done.kept };
  } catch (error) {
    return { kind: 'failed', chain: errorChain(error) };
  }
}
