// Jest transformer: Node's own type stripping. Positions are kept, so no source maps are needed.
import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';

const strip = (source) => ({ code: stripTypeScriptTypes(source, { mode: 'strip' }) });

export default {
  canInstrument: false,
  getCacheKey: (source, file) =>
    createHash('sha1').update(process.version).update(file).update('\0').update(source).digest('hex'),
  process: strip,
  processAsync: async (source) => strip(source),
};
