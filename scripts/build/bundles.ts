/** Bundles: what the build makes of the sources. Bundles find each other (workers, children) by their names in `dist`. */
/** Bundle -> source. Bundles of one group share chunks: a class is the same one, whichever of them a program imports. */
export type BundleGroup = Readonly<Record<string, string>>

/** What users import, by the entry of `exports` in package.json. */
export const libraryBundles: BundleGroup = {
  library: 'library/index.ts',
  vitest: 'library/fixtures/vitest.ts',
  'node-test': 'library/fixtures/node-test.ts',
  jest: 'library/fixtures/jest.ts',
  explore: 'explore/index.ts',
}

/** The screen of `skiff top`: a module, because Ink and what it needs have top-level await. */
export const screenBundle: BundleGroup = { 'top-screen': 'console/top/top-screen.ts' }

const processBundles: BundleGroup = {
  skiff: 'scripts/skiff.ts',
  supervisor: 'cluster/supervisor/supervisor-main.ts',
  'controller-manager': 'components/controller-manager/main.ts',
  scheduler: 'components/scheduler/main.ts',
  'node-agent': 'components/node-agent/main.ts',
  'load-balancer': 'components/load-balancer/main.ts',
  'stage-runner': 'components/stage-runner/main.ts',
  console: 'console/main.ts',
  keeper: 'scenarios/engine/keeper-main.ts',
  'sqlite-writer': 'components/store/sqlite-writer.ts',
  'embedded-host': 'embedded/embedded-host.ts',
  'yaml-worker': 'components/api-server/encoding/yaml-worker.ts',
  'envtest-etcd': 'envtest/etcd-main.ts',
  'envtest-kubectl': 'envtest/kubectl-main.ts',
}

/** The API server, and the one that envtest starts. */
const apiServerBundles: BundleGroup = {
  'api-server': 'components/api-server/main.ts',
  'envtest-kube-apiserver': 'envtest/kube-apiserver-main.ts',
}

/** A process is a group of its own, because it loads only what it runs. */
export const programGroups: readonly BundleGroup[] = [
  ...Object.entries(processBundles).map(([name, source]) => ({ [name]: source })),
  apiServerBundles,
]

/** What the entries of programs import. */
export const runnerBundle: BundleGroup = {
  'run-program': 'components/component-base/run-program.ts',
}
