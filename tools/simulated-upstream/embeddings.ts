import { createHash } from 'node:crypto';
import * as E from 'fp-ts/lib/Either.js';
import { readRequest } from './read-request.ts';
import type { Call } from './call.ts';
import { deliver, sendError } from './deliver.ts';
import type { Directives } from './directives.ts';
import { type EmbeddingInput, type EmbeddingsRequest, readEmbeddingsRequest } from './embeddings-request.ts';
import { digitsJson, membersJson } from './raw-json.ts';
import { tokensIn } from './text.ts';
import { embeddingsUsageJson } from './usage.ts';

/** The vector of an input: of length 1, the same for equal inputs, and of 32-bit numbers in either encoding. */
function vectorOf(input: EmbeddingInput, dimensions: number): Float32Array {
  const text = typeof input === 'string' ? input : input.join(' ');
  const bytes = createHash('shake256', { outputLength: 4 * dimensions })
    .update(text)
    .digest();
  const numbers = Array.from({ length: dimensions }, (_, index) => bytes.readInt32LE(4 * index) + 0.5);
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => number / length);
}

/** The numbers as the real API encodes them: 32 bits each, little-endian. */
function base64Of(vector: Float32Array): string {
  const bytes = Buffer.alloc(4 * vector.length);
  for (const [index, number] of vector.entries()) bytes.writeFloatLE(number, 4 * index);
  return bytes.toString('base64');
}

const tokensOf = (input: EmbeddingInput): number =>
  typeof input === 'string' ? tokensIn(input.length) : input.length;

function answerJson({ model, inputs, dimensions, base64 }: EmbeddingsRequest, d: Directives): string {
  const data = inputs.map((input, index) => {
    const vector = vectorOf(input, dimensions);
    return { object: 'embedding', index, embedding: base64 ? base64Of(vector) : [...vector] };
  });
  const prompt = inputs.reduce((tokens, input) => tokens + tokensOf(input), 0);
  const usage = d.usage === 'none' ? '' : `,"usage":${embeddingsUsageJson(prompt, d)}`;
  return `{${membersJson({ object: 'list', data, model })}${usage}${digitsJson(d)}}`;
}

/** The embeddings family. */
export async function simulatedEmbeddings(call: Call): Promise<void> {
  const asked = readRequest(call, readEmbeddingsRequest);
  if (E.isLeft(asked)) return sendError(call, asked.left);
  const { request, directives } = asked.right;
  return deliver(call, directives, { kind: 'whole', json: answerJson(request, directives) });
}
