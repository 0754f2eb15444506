import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { openLog } from '../../infrastructure/logging.ts';

async function logged(fields: object, message: string): Promise<string> {
  let text = '';
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString();
      done();
    },
  });
  const log = openLog(output);
  log.warn(fields, message);
  await log.flush();
  return text;
}

describe('a log line', () => {
  it('holds no control character, whatever a caller sent, and says what was sent', async () => {
    const control = fc.integer({ min: 0, max: 0x9f }).map((code) => String.fromCharCode(code));
    const text = fc.array(fc.oneof(control, fc.string()), { maxLength: 8 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(text, text, async (id, message) => {
        const line = await logged({ request_id: id }, message);
        // oxlint-disable-next-line no-control-regex -- it is what the rule speaks of
        expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
        expect(JSON.parse(line)).toMatchObject({ level: 'warn', msg: message, request_id: id });
      }),
    );
  });
});
