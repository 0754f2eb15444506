import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { JsonObject } from '../../domain/shared/json.ts';
import { asked, call, file, image, png, rejected, text, turns, user } from './unified-sending.ts';

const pdf = 'data:application/pdf;base64,JVBERi0=';

describe('images', () => {
  it.each([
    ['png', 'data:image/png;base64,YQ==', 'png'],
    ['jpeg', 'data:image/jpeg;base64,YQ==', 'jpeg'],
    ['jpg, another name of jpeg', 'data:image/jpg;base64,YQ==', 'jpeg'],
    ['gif', 'data:image/gif;base64,YQ==', 'gif'],
    ['webp', 'DATA:image/WEBP;charset=utf-8;BASE64,YQ==', 'webp'],
  ])('are accepted as base64 data URLs: %s', (_, url, format) => {
    expect(turns([user(image(url))])).toEqual([
      { role: 'user', content: [{ image: { format, source: { bytes: 'YQ==' } } }] },
    ]);
  });

  it.each([
    ['remote', 'https://example.com/a.png'],
    ['in a bucket', 's3://bucket/a.png'],
    ['of another format', 'data:image/tiff;base64,YQ=='],
    ['not an image', 'data:text/plain;base64,YQ=='],
    ['not in base64', 'data:image/png,abc'],
    ['without data', 'data:image/png;base64,'],
    ['bad base64', 'data:image/png;base64,Y%Q='],
    ['not a URL', 'abc'],
  ])('are rejected in any other form, with the field named: %s', (_, url) => {
    expect(rejected({ messages: [user(text('a'), image(url))] })).toBe(
      'messages[0].content[1].image_url.url',
    );
  });

  it('may be given as the URL itself', () => {
    expect(turns([user({ type: 'image_url', image_url: png })])).toEqual(turns([user(image(png))]));
  });

  it('are rejected without a URL, with the field named', () => {
    expect(rejected({ messages: [user({ type: 'image_url' })] })).toBe('messages[0].content[0].image_url');
  });
});

describe('documents', () => {
  const documentOf = (part: JsonObject): unknown =>
    (turns([user(part, text('Read it.'))]) as unknown as [{ content: [{ document: unknown }] }])[0].content[0]
      .document;

  it.each([
    ['pdf', 'a.pdf', 'application/pdf'],
    ['csv', 'a.csv', 'text/csv'],
    ['doc', 'a.doc', 'application/msword'],
    ['docx', 'a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['xls', 'a.xls', 'application/vnd.ms-excel'],
    ['xlsx', 'a.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
    ['html', 'a.html', 'text/html'],
    ['md', 'a.md', 'text/markdown'],
    ['txt', 'a.txt', 'text/plain'],
  ])('of the format %s are accepted, by media type or by file name', (format, filename, mediaType) => {
    const document = { format, name: 'a', source: { bytes: 'YQ==' } };
    expect(documentOf(file(filename, `data:${mediaType};base64,YQ==`))).toEqual(document);
    expect(documentOf(file(filename, 'data:application/octet-stream;base64,YQ=='))).toEqual(document);
    expect(documentOf(file(filename.toUpperCase(), 'YQ=='))).toEqual({ ...document, name: 'A' });
    expect(documentOf(file(undefined, `data:${mediaType};base64,YQ==`))).toEqual({
      ...document,
      name: 'document',
    });
  });

  it.each([
    ['notes.md', 'data:text/plain;base64,YQ==', 'md'],
    ['main.py', 'data:text/plain;base64,YQ==', 'txt'],
    ['report.txt', 'data:application/pdf;base64,YQ==', 'pdf'],
  ])('have the format of their media type, unless it is a general one: %s', (filename, data, format) => {
    expect(documentOf(file(filename, data))).toMatchObject({ format });
  });

  it.each([
    ['a remote URL', file('a.pdf', 'https://example.com/a.pdf'), 'file_data'],
    ['a bucket', file('a.pdf', 's3://bucket/a.pdf'), 'file_data'],
    ['another format', file('a.zip', 'data:application/zip;base64,YQ=='), 'file_data'],
    ['no format at all', file('a', 'YQ=='), 'file_data'],
    ['bad base64', file('a.pdf', 'data:application/pdf;base64,%%'), 'file_data'],
    ['no data', file('a.pdf', 'data:application/pdf;base64,'), 'file_data'],
    ['no data member', { type: 'file', file: { filename: 'a.pdf' } }, 'file_data'],
    ['an uploaded file', { type: 'file', file: { file_id: 'file-1' } }, 'file_id'],
  ])('are rejected with the field named: %s', (_, part, field) => {
    expect(rejected({ messages: [user(part)] })).toBe(`messages[0].content[0].file.${field}`);
  });

  it('are rejected with a message that remote files are not read', () => {
    const request = asked({ messages: [user(file('a.pdf', 'https://example.com/a.pdf'))] });
    expect(E.isLeft(request) ? request.left.message : '').toContain('reads no remote files');
  });

  it('without a text get one that lists them, because the platform requires a text', () => {
    const said = (...content: readonly JsonObject[]): unknown =>
      turns([
        { role: 'assistant', tool_calls: [call('1')] },
        { role: 'tool', tool_call_id: '1', content: 'Done.' },
        user(...content),
      ]);
    const result = expect.objectContaining({ toolResult: expect.anything() });
    const document = (name: string) => ({ document: expect.objectContaining({ name }) });
    expect(said(image(png), file('a.pdf', pdf), file('b.csv', 'YQ=='))).toMatchObject([
      { role: 'assistant' },
      { content: [result, { image: {} }, { text: 'Attached: a, b' }, document('a'), document('b')] },
    ]);
    expect(said(file('a.pdf', pdf), text('Read it.'))).toMatchObject([
      { role: 'assistant' },
      { content: [result, document('a'), { text: 'Read it.' }] },
    ]);
  });

  it('in a tool result get no such text', () => {
    const said = turns([
      { role: 'assistant', tool_calls: [call('1')] },
      { role: 'tool', tool_call_id: '1', content: [file('a.pdf', pdf)] },
    ]);
    expect(said).toMatchObject([
      { role: 'assistant' },
      { content: [{ toolResult: { content: [{ document: {} }] } }] },
    ]);
  });

  it('have unique names in the whole request, also in tool results', () => {
    const request = turns([
      user(file('a/report.pdf', pdf), file('b\\report.csv', 'YQ==')),
      { role: 'assistant', tool_calls: [call('1')] },
      { role: 'tool', tool_call_id: '1', content: [file('report.md', 'YQ==')] },
    ]);
    expect(JSON.stringify(request).match(/"name":"(?!f")[^"]*"/g)).toEqual([
      '"name":"report"',
      '"name":"report (2)"',
      '"name":"report (3)"',
    ]);
  });
});
