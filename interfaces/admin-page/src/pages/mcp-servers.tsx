import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, read } from '../api/client.ts';
import { useAddress } from '../app/address.ts';
import { ListTable, useList } from '../ui/list.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Empty } from '../ui/states.tsx';
import { Copyable } from '../ui/values.tsx';
import { serverColumns } from './mcp-servers/columns.tsx';
import { ServerDrawer } from './mcp-servers/drawer.tsx';
import { askedServer, type McpServer } from './mcp-servers/server.ts';
import { Total } from './owners/list-parts.tsx';

/** The MCP servers behind the gateway; they are changed in the configuration file. */
export function Page() {
  const { filters, set } = useAddress();
  const list = useList<McpServer>(['mcp-servers', 'list'], (page, signal) =>
    read(api.GET('/api/v1/admin/mcp-servers', { params: { query: { page } }, signal })),
  );
  const open = filters['open'];
  const servers = list.data?.items ?? [];
  return (
    <Frame
      title="MCP servers"
      facts={
        list.data === undefined ? null : (
          <>
            <Total of={list.data} one="server" many="servers" />, changed in the configuration file
          </>
        )
      }
      actions={servers.length === 0 ? null : <CheckAll servers={servers} />}
    >
      <ListTable
        caption="MCP servers"
        columns={serverColumns}
        list={list}
        rowKey={({ server_id: id }) => id}
        onOpen={({ server_id: id }) => set({ open: id })}
        openKey={open}
        empty={<NoServers />}
      />
      {open === undefined ? null : (
        <ServerDrawer
          key={open}
          id={open}
          listed={servers.find(({ server_id: id }) => id === open)}
          onClose={() => set({ open: undefined })}
        />
      )}
    </Frame>
  );
}

/** A browser has six connections to the gateway; a server that hangs may hold one for a minute. */
const askedAtOnce = 3;

/** Asks each server of the page; a list that did so by itself would call them all whenever somebody looks at it. */
function CheckAll({ servers }: { readonly servers: readonly McpServer[] }) {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const ask = async (): Promise<void> => {
    if (isAsking) return;
    setAsking(true);
    const left = servers.values();
    const one = async (): Promise<void> => {
      for (const { server_id: id } of left) await client.prefetchQuery({ ...askedServer(id), staleTime: 0 });
    };
    await Promise.all(Array.from({ length: askedAtOnce }, one));
    setAsking(false);
  };
  return (
    <button type="button" className="button" onClick={() => void ask()}>
      {isAsking ? 'Asking the servers…' : 'Check health'}
    </button>
  );
}

const firstServer = `mcp_servers:
  - id: files
    url: https://files.example.com/mcp
    auth: { mode: bearer, token: "\${FILES_TOKEN}" }
    allowed_owners: ["team:platform"]`;

const NoServers = () => (
  <Empty title="There are no MCP servers yet">
    <p>
      Agents reach them through the gateway, with the key that they have for models. Add the first one to the
      configuration file:
    </p>
    <Copyable block label="What adds an MCP server" text={firstServer} />
    <p className="muted">
      A reload of the gateway (SIGHUP) takes it up; the lines after id and url may be left out.
    </p>
  </Empty>
);
