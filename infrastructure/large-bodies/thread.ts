import { parentPort } from 'node:worker_threads';
import * as E from 'fp-ts/lib/Either.js';
import type { Answer, Answers, Task } from './messages.ts';
import { bodyWork } from './work.ts';

/** The thread: one task at a time, one answer for each. */
const work = bodyWork();
parentPort?.on('message', (task: Task) => {
  const answer = answerTo(task);
  parentPort?.postMessage(answer, answer.kind === 'done' ? buffersOf(task, answer.value) : []);
});

function answerTo(task: Task): Answer {
  try {
    return { kind: 'done', value: work(task) };
  } catch (error) {
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    return { kind: 'defect', message, stack };
  }
}

/** What was written is handed over instead of copied. */
function buffersOf(task: Task, value: Answers[Task['kind']]): ArrayBuffer[] {
  if (task.kind !== 'write') return [];
  const requests = value as Answers['write'];
  if (E.isLeft(requests)) return [];
  return requests.right.flatMap(({ body }) =>
    typeof body !== 'string' && body.buffer instanceof ArrayBuffer ? [body.buffer] : [],
  );
}
