import { useState } from 'react';
import { SelectField } from '../../ui/fields.tsx';
import { Snippets } from '../../ui/snippets.tsx';
import { Copyable } from '../../ui/values.tsx';
import { snippetsOf } from './snippets.ts';

/** How clients reach a server: at its own path, or with all others at one path. */
export function Connect({ id }: { readonly id: string }) {
  const [path, setPath] = useState(`/mcp/${id}`);
  const url = `${window.location.origin}${path}`;
  return (
    <>
      <SelectField
        label="Path"
        value={path}
        onChange={setPath}
        options={[
          { value: `/mcp/${id}`, label: `/mcp/${id}: this server` },
          { value: '/mcp', label: '/mcp: the tools of all servers that a key may use' },
        ]}
      />
      <Copyable text={url} label="Address" />
      <p className="muted">
        An API key of the gateway goes into <code>Authorization: Bearer</code>; the server’s own credentials
        are the gateway’s.
      </p>
      <Snippets label="How to connect" of={snippetsOf({ name: path === '/mcp' ? 'gateway' : id, url })} />
    </>
  );
}
