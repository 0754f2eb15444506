import { Link } from '@tanstack/react-router';
import { grouped } from '../../ui/amounts.ts';
import { BoundedTable } from '../../ui/bounded-table.tsx';
import { Empty } from '../../ui/states.tsx';
import type { Column } from '../../ui/table.tsx';
import { Badge, Dash } from '../../ui/values.tsx';
import { type ServerDetail, type McpTool, reasonOf } from './server.ts';

/** The tools that a server lists, open or closed, and why. */
export const Tools = ({ of: server }: { readonly of: ServerDetail }) => (
  <BoundedTable
    caption="Tools"
    columns={columnsFor(server)}
    rows={server.tools}
    rowKey={({ name }) => name}
    empty={<Empty title="The server lists no tools" />}
  />
);

/** “3 tools, 2 open”. */
export const toolsCount = (tools: readonly McpTool[]): string =>
  `${grouped(tools.length)} ${tools.length === 1 ? 'tool' : 'tools'}, ${grouped(tools.filter(({ open }) => open).length)} open`;

const columnsFor = (server: ServerDetail): readonly Column<McpTool>[] => [
  {
    key: 'name',
    title: 'Tool',
    cell: ({ name }) => <code>{name}</code>,
    text: ({ name }) => name,
  },
  {
    key: 'open',
    title: 'State',
    cell: ({ open }) => <Badge tone={open ? 'good' : 'plain'}>{open ? 'open' : 'closed'}</Badge>,
    text: ({ open }) => (open ? 'open' : 'closed'),
  },
  {
    key: 'why',
    title: 'Why',
    cell: (tool) => reasonOf(tool, server),
    text: (tool) => reasonOf(tool, server),
  },
  {
    key: 'calls',
    title: 'Calls',
    cell: ({ name }) => (
      <Link
        to="/observability/mcp-invocations"
        search={{ tool_id: `${server.server_id}/${name}` }}
        aria-label={`Calls of ${name}`}
      >
        Calls
      </Link>
    ),
  },
  {
    key: 'title',
    title: 'Title',
    cell: ({ title }) => title ?? <Dash />,
    text: ({ title }) => title,
  },
  {
    key: 'union',
    title: 'Name at /mcp',
    cell: ({ union_name: name }) => <code>{name}</code>,
    text: ({ union_name: name }) => name,
  },
];
