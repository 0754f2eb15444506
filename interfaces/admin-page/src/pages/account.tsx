import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="account">
    <p>Under construction.</p>
  </Frame>
);
