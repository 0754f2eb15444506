import { expect, it } from '@jest/globals';
import { requestRedaction } from '../../application/request-redaction.ts';
import { redactionRules } from '../../domain/payload/redact.ts';
import { invalidRequest } from '../../domain/shared/gateway-error.ts';

const secret = 'hunter2-configured-0123456789';
const redaction = redactionRules([], [secret]);
const { fit } = requestRedaction({ callerKey: [] }, () => ({ redaction }));

it.each([
  ['whole', secret, ''],
  ['cut off', secret.slice(0, -4), '…'],
])('a secret is removed from the message and the parameter of an error: %s', (_, told, end) => {
  expect(fit(invalidRequest(`In ${told}${end}`, `tools.${told}${end}`))).toEqual(
    invalidRequest(`In [REDACTED]${end}`, `tools.[REDACTED]${end}`),
  );
});

it('an error without a parameter has none', () => {
  const error = invalidRequest('The body is not JSON.');
  expect(fit(error)).toEqual(error);
});

it('an upstream’s label that contains a secret is left out', () => {
  const upstream = { status: 400, labels: { code: secret, param: 'tools' } };
  expect(fit({ code: 'upstream_error', message: 'No.', upstream })).toEqual({
    code: 'upstream_error',
    message: 'No.',
    upstream: { status: 400, labels: { param: 'tools' } },
  });
});
