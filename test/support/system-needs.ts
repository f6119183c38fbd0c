/** Test files that need a system as a whole. Elsewhere they are left out, and standard error says so; `testOn` skips single tests. */

interface Need {
  readonly system: 'linux' | 'unix'
  /** Relative to the checkout. */
  readonly file: string
  /** What it uses of that system. */
  readonly uses: string
}

const sh = 'sh, and programs that are scripts of sh'

export const needs: readonly Need[] = [
  { system: 'linux', file: 'test/api-server/start/memory.test.ts', uses: 'memory counts of /proc' },
  {
    system: 'linux',
    file: 'test/cluster/interrupted-start.test.ts',
    uses: 'marks in environments',
  },
  { system: 'linux', file: 'test/cluster/launch.test.ts', uses: 'command lines in /proc' },
  { system: 'linux', file: 'test/cluster/state/lifetime.test.ts', uses: 'marks in environments' },
  { system: 'linux', file: 'test/e2e/audit.test.ts', uses: 'open files in /proc' },
  { system: 'linux', file: 'test/e2e/interrupted.test.ts', uses: 'marks in environments' },
  { system: 'linux', file: 'test/e2e/old-node.test.ts', uses: 'programs of processes in /proc' },
  { system: 'linux', file: 'test/e2e/processes.test.ts', uses: 'sockets of processes in /proc' },
  { system: 'linux', file: 'test/e2e/stuck.test.ts', uses: 'states of processes in /proc' },
  { system: 'unix', file: 'test/certs/authority.test.ts', uses: 'openssl' },
  { system: 'unix', file: 'test/certs/csr.test.ts', uses: 'openssl' },
  { system: 'unix', file: 'test/certs/pki-files.test.ts', uses: 'openssl' },
  { system: 'unix', file: 'test/api-server/authn/request-header.test.ts', uses: 'openssl' },
  { system: 'unix', file: 'test/cluster/plan/find-etcd.test.ts', uses: sh },
  { system: 'unix', file: 'test/cluster/supervisor/second-supervisor.test.ts', uses: 'SIGSTOP' },
  { system: 'unix', file: 'test/console/top/top.test.ts', uses: 'pseudo terminals' },
  { system: 'unix', file: 'test/console/lessons/shipped.test.ts', uses: sh },
  { system: 'unix', file: 'test/docs/console.test.ts', uses: 'bash' },
  { system: 'unix', file: 'test/e2e/agents.test.ts', uses: sh },
  { system: 'unix', file: 'test/e2e/damage.test.ts', uses: 'file modes' },
  { system: 'unix', file: 'test/e2e/envtest.test.ts', uses: `process groups, ${sh}` },
  { system: 'unix', file: 'test/e2e/kubectl-credentials.test.ts', uses: 'openssl' },
  { system: 'unix', file: 'test/envtest/assets.test.ts', uses: sh },
  { system: 'unix', file: 'test/envtest/find-kubectl.test.ts', uses: 'file modes' },
  { system: 'unix', file: 'test/package/action.test.ts', uses: 'bash' },
  { system: 'unix', file: 'test/package/workflows.test.ts', uses: 'bash' },
  { system: 'unix', file: 'test/scenarios/commands.test.ts', uses: sh },
]

/** The files that cannot run on the platform. */
export function filesLeftOut(platform: NodeJS.Platform): readonly Need[] {
  if (platform === 'linux') return []
  return needs.filter(({ system }) => system === 'linux' || platform === 'win32')
}
