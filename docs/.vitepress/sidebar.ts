/** Sidebar: every page, once, in reading order. `reference/` and `spec/` bring an index of their own. */

export interface SidebarItem {
  readonly text: string
  readonly link: string
}

export interface SidebarGroup {
  readonly text: string
  readonly items: readonly SidebarItem[]
}

export const sidebar: readonly SidebarGroup[] = [
  {
    text: 'Start here',
    items: [
      { text: 'What Skiff is', link: '/' },
      { text: 'Get started', link: '/start' },
      { text: 'Compare', link: '/compare' },
    ],
  },
  {
    text: 'Tutorials',
    items: [
      { text: 'Lessons', link: '/lessons' },
      { text: 'Your first operator', link: '/tutorials/operator' },
      { text: 'Join a node by hand', link: '/join-lab' },
      { text: 'Why was this denied?', link: '/explain' },
      { text: 'Why does it not run?', link: '/diagnose' },
      { text: 'Write a scenario', link: '/tutorials/scenario' },
    ],
  },
  {
    text: 'How to',
    items: [
      { text: 'Install', link: '/how-to/install' },
      { text: 'Test in vitest', link: '/how-to/test-vitest' },
      { text: 'Test in node:test', link: '/how-to/test-node' },
      { text: 'Test in jest', link: '/how-to/test-jest' },
      { text: 'Use it in CI', link: '/how-to/ci' },
      { text: 'Test a Go operator with envtest', link: '/how-to/envtest' },
      { text: 'Test in other languages', link: '/how-to/other-languages' },
      { text: 'Run several clusters', link: '/how-to/several-clusters' },
      { text: 'Simulate thousands of nodes', link: '/how-to/many-nodes' },
      { text: 'Play kwok Stage files', link: '/how-to/kwok-stages' },
      { text: 'See a cluster in the browser', link: '/console' },
      { text: 'Save and import clusters', link: '/how-to/save-and-import' },
      { text: 'Back up and restore a cluster', link: '/how-to/backup' },
      { text: 'Run a webhook on your machine', link: '/how-to/webhook' },
      { text: 'Encrypt data at rest', link: '/how-to/encryption' },
      { text: 'Keep state in etcd', link: '/etcd' },
      { text: 'Break parts of a cluster', link: '/how-to/faults' },
      { text: 'Run several API servers', link: '/how-to/several-machines' },
      { text: 'How several API servers agree', link: '/several-api-servers' },
      { text: 'Keep an audit log', link: '/how-to/audit' },
      { text: 'Protect the API server from overload', link: '/how-to/overload' },
      { text: 'Log in with OpenID Connect', link: '/how-to/oidc' },
      { text: 'Serve an aggregated API', link: '/how-to/aggregated-api' },
      { text: 'Give devices to pods', link: '/how-to/devices' },
      { text: 'Run without a network', link: '/how-to/offline' },
      { text: 'Troubleshoot', link: '/troubleshooting' },
    ],
  },
  {
    text: 'Reference',
    items: [
      { text: 'Command line', link: '/cli' },
      { text: 'Library', link: '/library' },
      { text: 'Scenario files', link: '/scenarios' },
      { text: 'The lab', link: '/lab' },
      { text: 'Monitors, smells, least roles', link: '/monitors' },
      { text: 'Explore a controller', link: '/explore' },
      { text: 'Simulations', link: '/simulate' },
      { text: 'Simulated pods', link: '/simulation' },
      { text: 'Authentication and authorization', link: '/access' },
      { text: 'API, flags and metrics', link: '/reference/' },
      { text: 'Specification', link: '/spec/' },
      { text: 'Glossary', link: '/glossary' },
    ],
  },
  {
    text: 'Explanation',
    items: [
      { text: 'Architecture', link: '/architecture' },
      { text: 'Four stories in pictures', link: '/explanation/sequences' },
      { text: 'How a request travels', link: '/request-flow' },
      { text: 'How storage works', link: '/explanation/storage' },
      { text: 'Security model', link: '/explanation/security-model' },
      { text: 'Known vulnerabilities', link: '/security' },
      { text: 'Performance', link: '/performance' },
    ],
  },
  {
    text: 'Project',
    items: [
      { text: 'Roadmap', link: '/roadmap' },
      { text: 'Decision 1: frame', link: '/decisions/0001-frame' },
      { text: 'Decision 2: embedded store', link: '/decisions/0002-embedded-store' },
      { text: 'Decision 3: certificates', link: '/decisions/0003-certificates' },
      { text: 'Decision 4: own endpoints', link: '/decisions/0004-own-endpoints' },
      { text: 'Decision 5: expressions', link: '/decisions/0005-expressions' },
      { text: 'Decision 6: proxies', link: '/decisions/0006-proxies' },
      { text: 'Decision 7: certificate chains', link: '/decisions/0007-certificate-chains' },
      { text: 'Decision 8: shapes of scenario files', link: '/decisions/0008-scenario-shapes' },
      { text: 'Decision 9: shared expressions', link: '/decisions/0009-shared-expressions' },
      { text: 'Decision 10: embedded clusters', link: '/decisions/0010-embedded-clusters' },
      { text: 'Decision 11: kept code', link: '/decisions/0011-kept-code' },
      { text: "Decision 12: upstream's layout", link: '/decisions/0012-upstreams-layout' },
      { text: 'Decision 13: backups', link: '/decisions/0013-backups' },
      { text: 'Decision 14: base image', link: '/decisions/0014-base-image' },
      { text: 'Decision 15: console', link: '/decisions/0015-console' },
      { text: 'Decision 16: the lab', link: '/decisions/0016-lab' },
      { text: 'Decision 17: advances pass over rests', link: '/decisions/0017-rests' },
      {
        text: 'Decision 18: no code is generated for kinds',
        link: '/decisions/0018-no-code-for-kinds',
      },
    ],
  },
]
