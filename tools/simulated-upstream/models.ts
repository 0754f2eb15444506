import type { Family } from './call.ts';
import { jsonType } from './deliver.ts';

const names = [
  'simulated',
  'simulated-fast',
  'simulated-slow',
  'simulated-reasoning',
  'simulated-tools',
  'simulated-parallel-tools',
  'simulated-embedding',
];

/** The list of model names with a meaning. Every other name is answered too. */
export const simulatedModels = (): Family => {
  const data = names.map((id) => ({ id, object: 'model', created: 0, owned_by: 'simulated' }));
  const text = JSON.stringify({ object: 'list', data });
  return ({ response }) => {
    response.writeHead(200, { 'content-type': jsonType, 'content-length': Buffer.byteLength(text) });
    response.end(text);
  };
};
