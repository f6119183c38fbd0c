/** The order of test files: those that take long begin first, so that no worker is left with one at the end. */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Longest first, as measured; names of files below `test`. */
const longest = [
  'simulation/simulate.test.ts',
  'simulation/nodes.test.ts',
  'simulation/workloads.test.ts',
  'clients/go.test.ts',
  'clients/upstream-storage.test.ts',
  'examples/java.test.ts',
  'e2e/high-availability.test.ts',
  'e2e/processes.test.ts',
  'e2e/cluster-time.test.ts',
  'e2e/kubectl-stateful-and-daemon-sets.test.ts',
  'e2e/kubectl-controllers.test.ts',
  'docs/console.test.ts',
  'library/fixtures/runners.test.ts',
  'console/lessons/shipped.test.ts',
  'partitions/drill.test.ts',
  'e2e/scenarios.test.ts',
  'e2e/invariants.test.ts',
  'e2e/backup.test.ts',
  'e2e/damage.test.ts',
  'e2e/deletion.test.ts',
  'e2e/kubectl-nodes.test.ts',
  'e2e/cluster.test.ts',
  'package/installed.test.ts',
  'fuzz/processor-time.test.ts',
  'e2e/kubectl-versions.test.ts',
  'library/forks.test.ts',
  'library/clock.test.ts',
  'api-server/start/memory.test.ts',
  'e2e/kubectl-workloads.test.ts',
  'package/node-lines.test.ts',
  'library/cluster.test.ts',
  'e2e/interrupted.test.ts',
  'e2e/kubectl-jobs.test.ts',
  'e2e/envtest.test.ts',
  'e2e/helm.test.ts',
  'api-server/start/reloads.test.ts',
  'api-server/encryption/kms/kms-server.test.ts',
  'node-agent/join/join.test.ts',
  'e2e/stuck.test.ts',
  'package/reproducible.test.ts',
  'package/action.test.ts',
  'e2e/join-again.test.ts',
  'store/saved-cluster.test.ts',
  'e2e/saved-cluster.test.ts',
  'store/sqlite-store.test.ts',
  'scenarios/commands.test.ts',
  'e2e/api-server-killed.test.ts',
  'cluster/launch.test.ts',
  'models/workloads.test.ts',
  'models/api-server.test.ts',
  'clients/kubectl-custom-kinds.test.ts',
  'clients/service-discovery.test.ts',
  'store/sqlite-failures.test.ts',
  'fuzz/api-server.test.ts',
  'api-server/encryption/encryption.test.ts',
  'e2e/kubectl-get.test.ts',
  'cluster/interrupted-start.test.ts',
  'e2e/kubectl-streams.test.ts',
  'e2e/systemd.test.ts',
  'e2e/kubectl-auth.test.ts',
  'e2e/join-failures.test.ts',
  'api-server/authn/openid-provider.test.ts',
  'e2e/client-node.test.ts',
  'e2e/audit.test.ts',
  'models/node-secrets.test.ts',
  'api-server/registry/corrupt-objects.test.ts',
  'e2e/kubectl-delete.test.ts',
  'models/escalation.test.ts',
  'e2e/kubectl-writes.test.ts',
  'api-server/codec/round-trips.test.ts',
  'e2e/kubectl.test.ts',
  'e2e/kubectl-logs.test.ts',
  'cluster/supervisor/second-supervisor.test.ts',
  'e2e/kubectl-protobuf.test.ts',
  'cluster/rewrite-storage.test.ts',
  'fuzz/explosions.test.ts',
  'e2e/custom-resources.test.ts',
  'e2e/why.test.ts',
  'e2e/why-objects.test.ts',
  'clients/python.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification): number => {
      const at = longest.indexOf(relative(`${project.config.root}/test`, moduleId))
      return at < 0 ? longest.length : at
    }
    const rest = await super.sort(files.filter((file) => rank(file) === longest.length))
    const first = files.filter((file) => rank(file) < longest.length)
    // Files that share a worker come last, side by side.
    return [...first.toSorted((a, b) => rank(a) - rank(b)), ...rest]
  }
}
