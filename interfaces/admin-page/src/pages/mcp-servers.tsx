import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
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

/** The MCP servers behind the gateway. They are changed in the configuration file. */
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
            <Total of={list} one="server" many="servers" />, changed in the configuration file
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

/** A browser has six connections to the gateway, and a server that hangs may hold one for a minute. */
const askedAtOnce = 3;

/** How long an answer of a server is fresh. Opening the list does not ask again within this time. */
const knownForMs = 60_000;

/** Checks the servers on the page when it opens, and again on demand. */
function CheckAll({ servers }: { readonly servers: readonly McpServer[] }) {
  const client = useQueryClient();
  const [asking, setAsking] = useState(0);
  const inspectAll = async (staleTime: number, shouldContinue: () => boolean): Promise<void> => {
    setAsking((before) => before + 1);
    const left = servers.values();
    const one = async (): Promise<void> => {
      for (const { server_id: id } of left)
        if (shouldContinue()) await client.prefetchQuery({ ...askedServer(id), staleTime });
    };
    await Promise.all(Array.from({ length: askedAtOnce }, one));
    setAsking((before) => before - 1);
  };
  const page = servers.map(({ server_id: id }) => id).join();
  useEffect(() => {
    let isOpen = true;
    void inspectAll(knownForMs, () => isOpen);
    return () => {
      isOpen = false;
    };
    // Only the ids, because the list is reloaded now and then.
  }, [page]);
  const isAsking = asking > 0;
  return (
    <button type="button" className="button" onClick={() => void (isAsking || inspectAll(0, () => true))}>
      {isAsking ? 'Checking the servers…' : 'Check again'}
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
      Agents reach them through the gateway, with the same key that they use for models. Add the first one to
      the configuration file:
    </p>
    <Copyable block label="Configuration that adds an MCP server" text={firstServer} />
    <p className="muted">Reload the gateway (SIGHUP) to apply it; the lines after id and url are optional.</p>
  </Empty>
);
