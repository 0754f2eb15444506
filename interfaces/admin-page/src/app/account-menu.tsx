import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Menu } from '../ui/menu.tsx';
import { useLogout } from './logout.ts';
import { useSession } from './session.tsx';
import { chooseTheme, storedTheme, themes } from './theme.ts';

/** The admin who is logged in, the theme, and the logout. */
export function AccountMenu({ onHelp }: { readonly onHelp: () => void }) {
  const { email } = useSession();
  const [theme, setTheme] = useState(storedTheme);
  const logout = useLogout();
  return (
    <Menu button={email}>
      <label className="menu-item">
        Theme{' '}
        <select
          value={theme}
          onChange={({ target }) => {
            const chosen = themes.find((each) => each === target.value) ?? 'system';
            chooseTheme(chosen);
            setTheme(chosen);
          }}
        >
          {themes.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </label>
      <Link className="menu-item" to="/account">
        Your account
      </Link>
      <button type="button" className="menu-item" onClick={onHelp}>
        Keyboard shortcuts
      </button>
      <button type="button" className="menu-item" onClick={() => logout.mutate()} disabled={logout.isPending}>
        Log out
      </button>
    </Menu>
  );
}
