import { expect, it } from '@jest/globals';
import { base64DataUrl } from '../../../domain/chat/data-url.ts';

it.each([
  ['data:image/png;base64,AA==', { mediaType: 'image/png', data: 'AA==' }],
  ['DATA:image/PNG;charset=utf-8;BASE64,AA==', { mediaType: 'image/png', data: 'AA==' }],
  ['data:image/jpg;base64,AA==', { mediaType: 'image/jpeg', data: 'AA==' }],
  ['data:;base64,AA==', { mediaType: '', data: 'AA==' }],
  ['data:text/plain;base64,', { mediaType: 'text/plain', data: '' }],
  ['data:image/png,a;base64,AA==', undefined],
  ['data:image/png;base64', undefined],
  ['data:base64,AA==', undefined],
  ['https://a.example/b;base64,AA==', undefined],
])('the data URL %s is parsed to %j', (url, expected) => {
  expect(base64DataUrl(url)).toEqual(expected);
});
