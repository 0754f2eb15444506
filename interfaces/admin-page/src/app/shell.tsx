import { Link, Outlet, useMatches } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { Icon } from '../ui/icons.tsx';
import { AccountMenu } from './account-menu.tsx';
import { HelpDialog } from './help.tsx';
import { pages } from './pages.ts';
import { SearchDialog } from './search.tsx';

/** The frame of every page: the navigation rail, the top bar, and the page. */
export function Shell() {
  const [open, setOpen] = useState<'search' | 'help' | undefined>();
  useGlobalKeys(setOpen);
  const close = (): void => setOpen(undefined);
  return (
    <div className="shell">
      <a className="skip" href="#page">
        Skip to the content
      </a>
      <Rail />
      <header className="top">
        <button type="button" className="search-button" onClick={() => setOpen('search')}>
          <Icon name="search" /> <span>Search ids, keys, people, models</span> <kbd>/</kbd>
        </button>
        <span className="spring" />
        <AccountMenu onHelp={() => setOpen('help')} />
      </header>
      <main id="page" tabIndex={-1}>
        <Outlet />
      </main>
      <Announcement />
      {open === 'search' ? <SearchDialog onClose={close} /> : null}
      {open === 'help' ? <HelpDialog onClose={close} /> : null}
    </div>
  );
}

/** The title of the page, which screen readers announce when another one is opened (rule 52.17). */
function Announcement() {
  const opened = useMatches().at(-1)?.fullPath;
  return (
    <p className="unseen" role="status">
      {pages.find(({ path }) => path === opened)?.title}
    </p>
  );
}

function Rail() {
  const menu = useRef<HTMLDetailsElement>(null);
  const leave = (): void => {
    if (menu.current !== null && window.matchMedia('(max-width: 900px)').matches) menu.current.open = false;
  };
  useEffect(() => {
    if (menu.current !== null) menu.current.open = !window.matchMedia('(max-width: 900px)').matches;
  }, []);
  return (
    <nav className="rail" aria-label="Pages">
      <div className="brand">Model Gateway</div>
      <details ref={menu} className="rail-menu">
        <summary className="rail-summary">
          <Icon name="menu" /> Pages
        </summary>
        <Group title="Observe" onFollow={leave} />
        <Group title="Manage" onFollow={leave} />
      </details>
    </nav>
  );
}

const Group = ({
  title,
  onFollow,
}: {
  readonly title: 'Observe' | 'Manage';
  readonly onFollow: () => void;
}) => (
  <div className="rail-group">
    <h2>{title}</h2>
    <ul>
      {pages
        .filter(({ group }) => group === title)
        .map(({ path, title: name }) => (
          <li key={path}>
            <Link to={path} activeOptions={{ exact: path === '/', includeSearch: false }} onClick={onFollow}>
              {name}
            </Link>
          </li>
        ))}
    </ul>
  </div>
);

/**
 * `/` and Ctrl-K open the search, `?` the list of keys. `/` and `?` do nothing while somebody types. Ctrl-K does
 * nothing in a dialog: following a search result would discard what was typed there, or a secret that is shown only
 * once.
 */
function useGlobalKeys(open: (what: 'search' | 'help') => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof Element && event.target.closest('input, textarea, select, dialog') !== null;
      if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
        if (document.querySelector('dialog.dialog[open]') === null) open('search');
      } else if (!isTyping && event.key === '/') open('search');
      else if (!isTyping && event.key === '?') open('help');
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [open]);
}
