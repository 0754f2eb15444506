import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="request-log">
    <p>Under construction.</p>
  </Frame>
);
