import { Link } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import type { Filters } from '../../app/address.ts';
import { TextField } from '../../ui/fields.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import { notify } from '../../ui/notices.tsx';
import {
  changeViews,
  maxViewNameChars,
  readViews,
  type SavedView,
  withoutView,
  withView,
} from './saved-views.ts';

/** Named sets of filters, stored in this browser. */
export function SavedViews({ filters }: { readonly filters: Filters }) {
  const [views, setViews] = useState(() => readViews(localStorage));
  const [name, setName] = useState('');
  useEffect(() => {
    // Another tab changed them.
    const follow = (): void => setViews(readViews(localStorage));
    window.addEventListener('storage', follow);
    return () => window.removeEventListener('storage', follow);
  }, []);
  const change = (by: (present: readonly SavedView[]) => readonly SavedView[]): void =>
    setViews(changeViews(localStorage, by));
  const save = (event: FormEvent): void => {
    event.preventDefault();
    const called = name.trim().slice(0, maxViewNameChars);
    change((present) => withView(present, { name: called, filters }));
    setName('');
    notify(`The view “${called}” is saved in this browser.`);
  };
  const nothingToSave = Object.keys(filters).length === 0;
  return (
    <Menu button={`Saved views${views.length === 0 ? '' : ` (${views.length})`}`} look="button">
      <div className="views">
        {views.length === 0 ? <p className="muted">None yet. They are kept in this browser.</p> : null}
        <ul>
          {views.map((view) => (
            <li key={view.name} className="row">
              <Link className="menu-item" to="/observability/request-logs" search={view.filters}>
                {view.name}
              </Link>
              <button
                type="button"
                className="button quiet"
                aria-label={`Remove the view ${view.name}`}
                onClick={() => change((present) => withoutView(present, view.name))}
              >
                <Icon name="close" />
              </button>
            </li>
          ))}
        </ul>
        <form className="stack" onSubmit={save}>
          <TextField
            label="Name for these filters"
            value={name}
            onChange={setName}
            hint={nothingToSave ? 'No filter is set: set one first.' : undefined}
          />
          <button type="submit" className="button" disabled={name.trim() === '' || nothingToSave}>
            Save view
          </button>
        </form>
      </div>
    </Menu>
  );
}
