import { expect, it } from '@jest/globals';
import { withoutView } from '../../../domain/mcp/tool-views.ts';

const uri = 'ui://charts/view.html';

it.each([
  [
    { ui: { resourceUri: uri, visibility: ['model'] }, other: 1 },
    { ui: { visibility: ['model'] }, other: 1 },
  ],
  [{ 'ui/resourceUri': uri, other: 1 }, { other: 1 }],
  [
    { ui: 'none', other: 1 },
    { ui: 'none', other: 1 },
  ],
])('the view of a tool at /mcp is left out, and nothing else of its `_meta`: %j', (meta, left) => {
  expect(withoutView({ name: 'chart', _meta: meta })).toEqual({ name: 'chart', _meta: left });
});

it('a tool at /mcp without a view is listed as it is', () => {
  expect(withoutView({ name: 'chart' })).toEqual({ name: 'chart' });
});
