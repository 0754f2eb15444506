import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="request-logs">
    <p>Under construction.</p>
  </Frame>
);
