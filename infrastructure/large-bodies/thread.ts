import { parentPort } from 'node:worker_threads';
import * as E from 'fp-ts/lib/Either.js';
import type { TaskAnswer, Task, Tasks } from './messages.ts';
import { largeWork, type Work } from './work.ts';

/** The thread: one task at a time, one answer for each. */
const work = largeWork();
parentPort?.on('message', (task: Task) => {
  const { answer, handedOver } = answerTo(task);
  parentPort?.postMessage(answer, handedOver);
});

/** Buffers that the task wrote are transferred instead of copied. */
interface Answered {
  readonly answer: TaskAnswer;
  readonly handedOver: ArrayBuffer[];
}

function answerTo(task: Task): Answered {
  try {
    return done(work, task);
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { answer: { kind: 'defect', message }, handedOver: [] };
  }
}

function done(work: Work, task: Task): Answered {
  switch (task.kind) {
    case 'read':
      return { answer: { kind: 'done', value: work.read(task.input) }, handedOver: [] };
    case 'write': {
      const value = work.write(task.input);
      return { answer: { kind: 'done', value }, handedOver: E.isLeft(value) ? [] : buffersOf(value.right) };
    }
    case 'redact':
      return { answer: { kind: 'done', value: work.redact(task.input) }, handedOver: [] };
    case 'readAnswer': {
      const value = work.readAnswer(task.input);
      return { answer: { kind: 'done', value }, handedOver: answerBuffers(value) };
    }
    case 'redactAnswer':
      return { answer: { kind: 'done', value: work.redactAnswer(task.input) }, handedOver: [] };
  }
}

const answerBuffers = (value: Tasks['readAnswer']['answer']): ArrayBuffer[] =>
  E.isRight(value) && E.isRight(value.right.text) ? buffersOf([{ body: value.right.text.right }]) : [];

/** Small texts share a buffer with others and are therefore copied. */
const buffersOf = (texts: readonly { readonly body: string | Uint8Array }[]): ArrayBuffer[] =>
  texts.flatMap(({ body }) =>
    typeof body !== 'string' && body.buffer instanceof ArrayBuffer && body.length === body.buffer.byteLength
      ? [body.buffer]
      : [],
  );
