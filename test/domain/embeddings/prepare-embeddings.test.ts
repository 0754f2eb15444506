import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { embeddingsWatched, readEmbeddingsRequest } from '../../../domain/embeddings/embeddings-request.ts';
import { prepareEmbeddings } from '../../../domain/embeddings/prepare-embeddings.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import { outboundText } from '../../../domain/shared/outbound-text.ts';
import type { Route } from '../../../domain/routing/model.ts';
import { aRoute } from '../../support/arbitraries/routing.ts';

const outbound = (text: string, over: Partial<Route>) => {
  const document = parseDocument(text, embeddingsWatched);
  if (E.isLeft(document)) throw new Error(document.left.message);
  const request = readEmbeddingsRequest(document.right);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return E.map(outboundText)(prepareEmbeddings(request.right, aRoute({ upstreamModel: 'fast', ...over })));
};

describe('the outbound embeddings body: no transforms', () => {
  const text =
    '{ "input" : ["Hi \\u00fc", 9007199254740993, [0.10]],\t"model":"fast", "encoding_format":"base64", "x":{"y":1,"y":2}, "tools":[] }';
  const compatibility = {
    compat: { empty_tools: 'omit', supports_store: false },
    router: { provider: { zdr: true } },
  };

  it('is the caller’s own text when the model has the same name upstream', () => {
    expect(outbound(text, { compatibility })).toEqual(E.right(text));
  });

  it('has the upstream’s model name, and is otherwise the caller’s text', () => {
    expect(outbound(text, { upstreamModel: 'up', compatibility })).toEqual(
      E.right(text.replace('"fast"', '"up"')),
    );
  });

  it('extra_body is the final raw override', () => {
    const extraBody = { encoding_format: 'float', x: { z: 3 }, model: 'raw' };
    expect(
      outbound('{"model":"fast","input":"Hi","x":{"n":1.0}}', { upstreamModel: 'up', extraBody }),
    ).toEqual(E.right('{"model":"raw","input":"Hi","x":{"n":1.0,"z":3},"encoding_format":"float"}'));
    expect(outbound('{"model":"fast","input":"Hi","x":{"y":1,"y":2}}', { extraBody })).toEqual(
      E.left(expect.objectContaining({ code: 'invalid_request', param: 'x.y' })),
    );
  });
});
