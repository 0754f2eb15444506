import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { FirstRequest } from '../../ui/first-request.tsx';
import { Badge, Copyable } from '../../ui/values.tsx';
import type { Overview } from './overview-data.ts';
import { TestMail } from './test-mail.tsx';

type Steps = Overview['setup'];

const mail = `mail:
  from: alerts@example.com
  smtp: { host: smtp.example.com, port: 587, starttls: true, username: gateway, password: "\${SMTP_PASSWORD}" }`;

const collector = `server:
  otel_endpoint: http://127.0.0.1:4318`;

const database = 'DATABASE_URL=postgresql://USER:PASSWORD@HOST/DATABASE npx gateway serve';

const steps: readonly {
  readonly key: keyof Steps;
  readonly title: string;
  readonly how: () => ReactNode;
  /** Shown when the step is done: what can be done next. */
  readonly whenDone?: () => ReactNode;
}[] = [
  {
    key: 'key_exists',
    title: 'A key exists',
    how: () => (
      <p>
        Callers need a key. <Link to="/keys">Create one</Link>: its secret is shown once.
      </p>
    ),
  },
  {
    key: 'model_answered',
    title: 'A model answers',
    how: () => (
      <>
        <p>
          Open a model under <Link to="/models">Models</Link> and try it, or send a request with a key:
        </p>
        <FirstRequest />
      </>
    ),
  },
  {
    key: 'budget_set',
    title: 'A budget is set',
    how: () => (
      <p>
        Without one, spending is unlimited. <Link to="/budgets">Set a budget</Link> for a person or a team.
      </p>
    ),
  },
  {
    key: 'mail_configured',
    title: 'Mail can be sent',
    how: () => (
      <>
        <p>Budget alerts are sent by mail. Add this to the configuration file, and restart the gateway:</p>
        <Copyable text={mail} label="Mail section" block />
      </>
    ),
    whenDone: () => <TestMail />,
  },
  {
    key: 'telemetry_configured',
    title: 'A collector is connected',
    how: () => (
      <>
        <p>
          Traces and metrics go to an OpenTelemetry collector. Add this to the configuration file, and restart
          the gateway:
        </p>
        <Copyable text={collector} label="Collector endpoint" block />
      </>
    ),
  },
  {
    key: 'own_database',
    title: 'The database is your own',
    how: () => (
      <>
        <p>
          The embedded database is for trying things out. Start the gateway with your own PostgreSQL database:
        </p>
        <Copyable text={database} label="Start with a database" block />
      </>
    ),
  },
];

export const isDone = (setup: Steps): boolean => steps.every(({ key }) => setup[key]);

/** The steps that make a gateway ready. Each is ticked off automatically. */
export function Setup({ setup, isOpen }: { readonly setup: Steps; readonly isOpen: boolean }) {
  const done = steps.filter(({ key }) => setup[key]).length;
  const list = (
    <ol className="steps">
      {steps.map(({ key, title, how, whenDone }) => (
        <li key={key} className="stack">
          <h3>
            {title} {setup[key] ? <Badge tone="good">done</Badge> : <Badge tone="plain">to do</Badge>}
          </h3>
          {setup[key] ? whenDone?.() : how()}
        </li>
      ))}
    </ol>
  );
  const heading = `Setup: ${done} of ${steps.length} done`;
  return isOpen ? (
    <section className="stack" aria-label="Setup">
      <h2>{heading}</h2>
      {list}
    </section>
  ) : (
    <details className="same">
      <summary>{heading}</summary>
      {list}
    </details>
  );
}
