import { expect, it } from '@jest/globals';
import { base64DataUrl } from '../../../domain/chat/data-url.ts';

it.each([
  ['data:image/png;base64,AA==', { mediaType: 'image/png', data: 'AA==' }],
  ['DATA:image/PNG;charset=utf-8;BASE64,AA==', { mediaType: 'image/png', data: 'AA==' }],
  ['data:image/jpg;base64,AA==', { mediaType: 'image/jpeg', data: 'AA==' }],
  ['data:image/png; base64, AAAA\r\nAA==\n', { mediaType: 'image/png', data: 'AAAAAA==' }],
  ['data:;base64,AA==', { mediaType: '', data: 'AA==' }],
  ['data:text/plain;base64,', { mediaType: 'text/plain', data: '' }],
  ['data:image/png,a;base64,AA==', undefined],
  ['data:image/png;base64', undefined],
  ['data:base64,AA==', undefined],
  ['https://a.example/b;base64,AA==', undefined],
])('the data URL %s is parsed to %j', (url, expected) => {
  expect(base64DataUrl(url)).toEqual(expected);
});

it.each([
  ['image/png', 'iVBORw0KGgoAAAANSUhEUgAA'],
  ['image/jpeg', '/9j/4AAQSkZJRgABAQEASABI'],
  ['image/gif', 'R0lGODlhAQABAIAAAAAAAP//'],
  ['image/webp', 'UklGRiQAAABXRUJQVlA4IBgA'],
])('an image has the media type of its bytes, %s, whatever the URL says', (mediaType, data) => {
  for (const written of ['image/png', 'image/jpeg', 'image/webp', 'image/x-unknown'])
    expect(base64DataUrl(`data:${written};base64,${data}`)).toEqual({ mediaType, data });
  expect(base64DataUrl(`data:text/plain;base64,${data}`)?.mediaType).toBe('text/plain');
});
