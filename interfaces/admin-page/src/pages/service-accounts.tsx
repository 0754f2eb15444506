import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="service-accounts">
    <p>Under construction.</p>
  </Frame>
);
