import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/**
 * Asks questions on a terminal without echo. Returns `undefined` when the person gives up (Ctrl-C, or end of input).
 */
export async function askHidden(
  input: NodeJS.ReadableStream,
  say: (line: string) => void,
  questions: readonly string[],
): Promise<readonly string[] | undefined> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  const lines = reader[Symbol.asyncIterator]();
  const answers: string[] = [];
  try {
    for (const question of questions) {
      say(question);
      const line = await lines.next();
      if (line.done === true) return undefined;
      answers.push(line.value);
    }
    return answers;
  } finally {
    reader.close();
  }
}
