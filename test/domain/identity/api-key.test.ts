import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { formatKey, parseKey, presentedCredential } from '../../../domain/identity/api-key.ts';
import { textOf } from '../../support/arbitraries/text.ts';

const publicId = 'a1'.repeat(16);
const secret = 'b2'.repeat(32);

const letters = 'abcdefghijklmnopqrstuvwxyz';
const alphanumeric = `${letters}${letters.toUpperCase()}0123456789`;
const visible = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index)).join('');

const aPresentedKey = fc.record({
  publicId: textOf(`${alphanumeric}_-`, 1, 64),
  secret: textOf(visible, 32, 512),
});

describe('an API key is `gwk_<public id>.<secret>`', () => {
  it.each([
    ['a generated one, 32 hex and 64 hex', publicId, secret],
    ['the shortest public id', 'a', secret],
    ['the longest public id', 'a'.repeat(64), secret],
    ['the shortest secret', publicId, 's'.repeat(32)],
    ['the longest secret', publicId, 's'.repeat(512)],
    ['capitals and digits', 'Dev00001', secret],
    ['underscore and hyphen in the public id', 'ci_runner-1', secret],
    ['a secret with dots and other punctuation', publicId, '!~.'.repeat(11)],
  ])('%s', (_, id, rest) => {
    expect(parseKey(`gwk_${id}.${rest}`)).toEqual({ publicId: id, secret: rest });
  });

  it.each([
    ['nothing', ''],
    ['another prefix', `sk-${publicId}.${secret}`],
    ['a prefix in capitals', `GWK_${publicId}.${secret}`],
    ['no prefix', `${publicId}.${secret}`],
    ['no public id', `gwk_.${secret}`],
    ['no secret', `gwk_${publicId}.`],
    ['no dot', `gwk_${publicId}${secret}`],
    ['a public id that is too long', `gwk_${'a'.repeat(65)}.${secret}`],
    ['an invalid character in the public id', `gwk_${'a'.repeat(8)}:1.${secret}`],
    ['a secret that is too short', `gwk_${publicId}.${'s'.repeat(31)}`],
    ['a secret that is too long', `gwk_${publicId}.${'s'.repeat(513)}`],
    ['a blank in the secret', `gwk_${publicId}.${'s'.repeat(31)} s`],
    ['a letter in the secret that is not ASCII', `gwk_${publicId}.${'s'.repeat(31)}é`],
    ['a blank in front', ` gwk_${publicId}.${secret}`],
    ['a line break at the end', `gwk_${publicId}.${secret}\n`],
    ['a null byte in the secret', `gwk_${publicId}.${'s'.repeat(31)}\0`],
  ])('%s is not a key', (_, key) => {
    expect(parseKey(key)).toBeUndefined();
  });

  it('is parsed back from its formatted text', () => {
    fc.assert(fc.property(aPresentedKey, (key) => expect(parseKey(formatKey(key))).toEqual(key)));
  });

  it('is accepted only in exactly the format in which it is written', () => {
    const almost = fc.tuple(aPresentedKey, fc.nat(), fc.string({ maxLength: 2 })).map(([key, at, put]) => {
      const written = formatKey(key);
      const place = at % (written.length + 1);
      return written.slice(0, place) + put + written.slice(place);
    });
    fc.assert(
      fc.property(fc.oneof(almost, fc.string()), (given) => {
        const key = parseKey(given);
        return key === undefined || formatKey(key) === given;
      }),
    );
  });
});

describe('a key is sent as `Authorization: Bearer …` or `x-api-key: …`', () => {
  it.each<[string, string | undefined, string | undefined, string | undefined]>([
    ['Bearer', 'Bearer k', undefined, 'k'],
    ['bearer', 'bearer k', undefined, 'k'],
    ['BEARER', 'BEARER k', undefined, 'k'],
    ['bEaReR, with several blanks and tabs', 'bEaReR \t  k \t', undefined, 'k'],
    ['x-api-key', undefined, 'k', 'k'],
    ['both: a Bearer Authorization wins', 'Bearer a', 'b', 'a'],
    ['both: a lower-case bearer wins too', 'bearer a', 'b', 'a'],
    ['Basic beside x-api-key is ignored', 'Basic dTpw', 'b', 'b'],
    ['an unknown scheme beside x-api-key is ignored', 'Token a', 'b', 'b'],
    ['a scheme that ends with bearer is ignored', 'Forbearer a', 'b', 'b'],
    ['a bare key in Authorization is ignored', 'gwk_a.b', 'b', 'b'],
    ['a Bearer without a key is ignored', 'Bearer', 'b', 'b'],
    ['a Bearer of blanks is ignored', 'Bearer   ', 'b', 'b'],
    ['a Bearer of two words is ignored', 'Bearer a b', 'b', 'b'],
    ['an empty Authorization is ignored', '', 'b', 'b'],
    ['nothing', undefined, undefined, undefined],
    ['Basic alone', 'Basic dTpw', undefined, undefined],
    ['a Bearer without a blank', 'Bearerk', undefined, undefined],
    ['an empty x-api-key', undefined, '', undefined],
    ['an empty x-api-key beside a Bearer', 'Bearer a', '', 'a'],
    ['an empty x-api-key beside Basic', 'Basic dTpw', '', undefined],
  ])('%s', (_, authorization, xApiKey, credential) => {
    expect(presentedCredential(authorization, xApiKey)).toBe(credential);
  });

  it('any key, with the scheme in any case', () => {
    const scheme = fc.mixedCase(fc.constant('bearer'));
    fc.assert(
      fc.property(scheme, aPresentedKey, fc.option(fc.string(), { nil: undefined }), (word, key, xApiKey) => {
        expect(presentedCredential(`${word} ${formatKey(key)}`, xApiKey)).toBe(formatKey(key));
      }),
    );
  });
});
