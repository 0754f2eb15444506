import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { grouped } from '../../ui/amounts.ts';
import { api, read } from '../../api/client.ts';
import { type OwnerChoice, type Person, searchOwners, type Team } from '../../api/owners.ts';
import { AuditLink } from '../../ui/audit-link.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { faultOf, SelectField } from '../../ui/fields.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { notify } from '../../ui/notices.tsx';
import { Pick } from '../../ui/pick.tsx';
import { ErrorLine } from '../../ui/states.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ActiveBadge } from '../owners/parts.tsx';

const roles = ['owner', 'admin', 'member'] as const;
type Role = (typeof roles)[number];
const roleOptions = roles.map((value) => ({ value, label: value }));

/** How many members a team shows. The people page shows all of them. */
const shownMembers = 200;

const putMember = (teamId: string, userId: string, role: Role) =>
  read(
    api.PUT('/api/v1/admin/teams/{team_id}/members/{user_id}', {
      params: { path: { team_id: teamId, user_id: userId } },
      body: { role },
    }),
  );

/** Announces a change of a membership, and reloads what shows it. */
function useMemberships(teamId: string) {
  const client = useQueryClient();
  return async (text: string): Promise<void> => {
    notify(
      <>
        {text} <AuditLink of={teamId} />
      </>,
    );
    await Promise.all([
      client.invalidateQueries({ queryKey: ['people'] }),
      client.invalidateQueries({ queryKey: ['teams'] }),
    ]);
  };
}

/** The members of a team, with their roles. */
export function Members({ of: team }: { readonly of: Team }) {
  const [isAdding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState<Person>();
  const members = useQuery({
    queryKey: ['people', 'members', team.team_id],
    queryFn: ({ signal }) =>
      read(
        api.GET('/api/v1/admin/users', {
          params: { query: { team_id: team.team_id, page_size: shownMembers } },
          signal,
        }),
      ),
  });
  return (
    <section className="stack" aria-label="Members">
      <div className="row">
        <h3>Members</h3>
        <span className="spring" />
        <button type="button" className="button" onClick={() => setAdding(true)}>
          Add a member…
        </button>
      </div>
      <Loaded query={members} what="the members">
        {(found) =>
          found.items.length === 0 ? (
            <p className="muted">Nobody is a member yet.</p>
          ) : (
            <MemberTable team={team} members={found.items} onRemove={setLeaving} />
          )
        }
      </Loaded>
      {members.data !== undefined && members.data.total > shownMembers ? (
        <Link to="/people" search={{ team_id: team.team_id }}>
          All {grouped(members.data.total)} members
        </Link>
      ) : null}
      {isAdding ? <AddMember team={team} onClose={() => setAdding(false)} /> : null}
      {leaving === undefined ? null : (
        <RemoveMember team={team} person={leaving} onClose={() => setLeaving(undefined)} />
      )}
    </section>
  );
}

const roleIn = (person: Person, { team_id: teamId }: Team): Role =>
  person.teams.find((each) => each.team_id === teamId)?.role ?? 'member';

const MemberTable = ({
  team,
  members,
  onRemove,
}: {
  readonly team: Team;
  readonly members: readonly Person[];
  readonly onRemove: (person: Person) => void;
}) => (
  <div className="table-scroll" tabIndex={0} role="region" aria-label="Members, scrolls">
    <table>
      <caption className="unseen">Members of {team.name}</caption>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">E-mail</th>
          <th scope="col">State</th>
          <th scope="col">Role</th>
          <th scope="col">
            <span className="unseen">Remove</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {members.map((person) => (
          <tr key={person.user_id}>
            <td>
              <Link to="/people" search={{ open: person.user_id }}>
                {person.name}
              </Link>
            </td>
            <td>{person.email}</td>
            <td>
              <ActiveBadge is={person.active} />
            </td>
            <td>
              <RoleSelect team={team} person={person} />
            </td>
            <td className="end">
              <button
                type="button"
                className="button quiet"
                aria-label={`Remove ${person.name} from the team`}
                onClick={() => onRemove(person)}
              >
                Remove…
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/** A role takes effect when it is chosen. The previous one can be chosen again. */
function RoleSelect({ team, person }: { readonly team: Team; readonly person: Person }) {
  const say = useMemberships(team.team_id);
  const set = useMutation({
    // One after the other: the arrow keys choose each role that they pass.
    scope: { id: `role of ${person.user_id} in ${team.team_id}` },
    mutationFn: (role: Role) => putMember(team.team_id, person.user_id, role),
    onSuccess: ({ role }) => say(`${person.name} is ${role} of ${team.name} now.`),
  });
  const role = roleIn(person, team);
  return (
    <>
      <select
        aria-label={`Role of ${person.name}`}
        value={set.isPending ? set.variables : role}
        onChange={({ target }) => {
          const chosen = roles.find((each) => each === target.value);
          if (chosen !== undefined) set.mutate(chosen);
        }}
      >
        {roles.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
      <ErrorLine error={set.error} />
    </>
  );
}

const searchPeople = searchOwners('user');

function AddMember({ team, onClose }: { readonly team: Team; readonly onClose: () => void }) {
  const say = useMemberships(team.team_id);
  const [chosen, setChosen] = useState<OwnerChoice>();
  const [role, setRole] = useState<Role>('member');
  const add = useMutation({
    mutationFn: (person: OwnerChoice) => putMember(team.team_id, person.id, role),
    onSuccess: (_added, person) => {
      void say(`${person.title} is ${role} of ${team.name} now.`);
      onClose();
    },
  });
  const submit = (): void => {
    if (chosen !== undefined) add.mutate(chosen);
  };
  return (
    <FormDialog
      title={`Add a member to ${team.name}`}
      act="Add member"
      isPending={add.isPending}
      isReady={chosen !== undefined}
      error={add.error}
      onSubmit={submit}
      onClose={onClose}
    >
      <Pick
        label="Person"
        of="active user"
        search={searchPeople}
        chosen={chosen}
        onChoose={setChosen}
        fault={faultOf(add.error, 'user_id')}
      />
      <SelectField
        label="Role"
        hint="Owners and admins get the mails of the team’s budget."
        value={role}
        onChange={setRole}
        options={roleOptions}
        fault={faultOf(add.error, 'role')}
      />
    </FormDialog>
  );
}

function RemoveMember({
  team,
  person,
  onClose,
}: {
  readonly team: Team;
  readonly person: Person;
  readonly onClose: () => void;
}) {
  const say = useMemberships(team.team_id);
  const remove = useMutation({
    mutationFn: () =>
      read(
        api.DELETE('/api/v1/admin/teams/{team_id}/members/{user_id}', {
          params: { path: { team_id: team.team_id, user_id: person.user_id } },
        }),
      ),
    onSuccess: () => {
      void say(`${person.name} is no longer a member of ${team.name}.`);
      onClose();
    },
  });
  return (
    <Confirm
      title={`Remove ${person.name} from ${team.name}?`}
      act="Remove member"
      onAct={() => remove.mutate()}
      onClose={onClose}
      isPending={remove.isPending}
      error={remove.error}
    >
      <p>
        {person.name} stops being a member at once. Keys of the team and of the person keep working; what was
        spent stays where it is.
      </p>
    </Confirm>
  );
}
