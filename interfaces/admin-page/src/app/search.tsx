import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type Hit, kindPaths, searchThings } from '../api/search.ts';
import { Combobox } from '../ui/combobox.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Failed } from '../ui/states.tsx';
import { useSearch } from '../ui/use-search.ts';

/** The page that shows an object. */
function placeOf({ kind, id, title }: Hit) {
  if (kind === 'provider') return { to: '/models', search: { provider: id } };
  if (kind === 'request_log') return { to: '/observability/request-logs', search: { request_id: title } };
  return { to: kindPaths[kind], search: { open: id } };
}

const searchAll = searchThings();

/** Finds any object by its id or name, and leads to it. */
export function SearchDialog({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const navigate = useNavigate();
  const hits = useSearch('things', text, searchAll);
  const choose = (hit: Hit): void => {
    onClose();
    void navigate(placeOf(hit));
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <div className="search-room">
        <Combobox
          label="Any id, key prefix, person, team, model or MCP server"
          text={text}
          onText={setText}
          groups={hits.groups}
          onChoose={choose}
          autoFocus
        />
        {hits.error === null ? null : <Failed error={hits.error} again={hits.again} />}
        <p className="muted" role="status">
          {statusOf(text, hits)}
        </p>
      </div>
    </Dialog>
  );
}

function statusOf(text: string, { groups, isPending, error }: ReturnType<typeof useSearch<Hit>>): string {
  if (text.trim() === '') return 'Arrow keys select, Enter opens, Esc closes.';
  if (error !== null) return '';
  if (isPending) return 'Searching…';
  const found = groups.reduce((sum, { choices }) => sum + choices.length, 0);
  return found === 0
    ? 'Nothing has this id or name. Request ids are found only when complete.'
    : `${found} found`;
}
